import { readdirSync, readFileSync } from 'node:fs'

/** A process that is told from any other: a pid is used again, a pid with its start time is not. */
export interface ProcessIdentity {
  readonly pid: number
  /** Field 22 of /proc/<pid>/stat: clock ticks between boot and its start. */
  readonly startTicks: number
}

/** What the kernel says of a process: some of proc_pid_stat(5). */
export interface ProcessStat extends ProcessIdentity {
  /** A letter: R, S, D running or waiting · T, t stopped · Z, X ended. */
  readonly state: string
  /** The kernel is tearing it down (PF_EXITING). */
  readonly exiting: boolean
  readonly threads: number
}

const flagExiting = 0x4

/** Parses a line of `/proc/<pid>/stat`; undefined when it is not one. */
export function parseProcessStat(line: string): ProcessStat | undefined {
  // The second field is the program's name in brackets and may hold spaces and brackets itself.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const [state, flags, threads, startTicks] = [fields[0], fields[6], fields[17], fields[19]]
  if (!state || flags === undefined || threads === undefined || startTicks === undefined) return undefined
  return {
    pid: Number.parseInt(line, 10),
    state,
    exiting: (Number(flags) & flagExiting) !== 0,
    threads: Number(threads),
    startTicks: Number(startTicks),
  }
}

/**
 * What the kernel says of a pid now; undefined when there is no such process. Read at once: the kernel answers from
 * memory.
 */
export function readProcessStat(pid: number): ProcessStat | undefined {
  return unlessGone(() => parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'latin1')))
}

/** The identity of a process that is there now. Where there is none the start is 0, which is no start of a process. */
export function identityNow(pid: number): ProcessIdentity {
  return { pid, startTicks: readProcessStat(pid)?.startTicks ?? 0 }
}

/** True while that very process lives. A zombie has ended. */
export function isAlive(identity: ProcessIdentity): boolean {
  const stat = readProcessStat(identity.pid)
  return stat !== undefined && stat.startTicks === identity.startTicks && stat.state !== 'Z' && stat.state !== 'X'
}

/**
 * No thread of the process makes a system call any more, as on its way out of the kernel each one says for good
 * (PF_EXITING). A process that is gone makes none either.
 */
export function hasOnlyExitingThreads(pid: number): boolean {
  const threads = unlessGone(() => readdirSync(`/proc/${pid}/task`)) ?? []
  return threads.every((thread) => {
    const stat = unlessGone(() => parseProcessStat(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1')))
    return stat === undefined || stat.exiting
  })
}

/** Undefined where `read` finds that the process is gone. */
export function unlessGone<Result>(read: () => Result): Result | undefined {
  try {
    return read()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return undefined
    throw error
  }
}
