import { readFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'

/** A process that is told from any other: a pid is used again, a pid with its start time is not. */
export interface ProcessIdentity {
  readonly pid: number
  /** Field 22 of /proc/<pid>/stat: clock ticks between boot and its start. */
  readonly startTicks: number
}

/** What the kernel says of a pid now; undefined when there is none. `state` is the letter of proc(5): R, S, D, T, Z … */
export interface ProcessStat extends ProcessIdentity {
  readonly state: string
}

export async function statOf(pid: number): Promise<ProcessStat | undefined> {
  try {
    return parseStat(pid, await readFile(`/proc/${pid}/stat`, 'utf8'))
  } catch (error) {
    return goneOrThrow(error)
  }
}

/** As `statOf`, at once: for the moment right after a child was spawned. */
export function statOfNow(pid: number): ProcessStat | undefined {
  try {
    return parseStat(pid, readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch (error) {
    return goneOrThrow(error)
  }
}

/** True while that very process lives. A zombie has ended. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  const stat = await statOf(identity.pid)
  return stat !== undefined && stat.startTicks === identity.startTicks && stat.state !== 'Z' && stat.state !== 'X'
}

/** Sends a signal to that very process. False when it is gone. */
export async function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): Promise<boolean> {
  if (!(await isAlive(identity))) return false
  try {
    process.kill(identity.pid, signal)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false
    throw error
  }
}

/** Resolves to true once the process is gone, to false when it still lives after `deadlineMs`. */
export async function waitUntilGone(identity: ProcessIdentity, deadlineMs: number): Promise<boolean> {
  const until = performance.now() + deadlineMs
  while (await isAlive(identity)) {
    if (performance.now() > until) return false
    // The kernel tells only a parent of a process's end; everybody else has to look.
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return true
}

/** SIGTERM (and SIGCONT, so that a frozen one hears it), then SIGKILL after `graceMs`. Resolves when it is gone. */
export async function endProcess(identity: ProcessIdentity, graceMs: number): Promise<void> {
  if (!(await signalProcess(identity, 'SIGTERM'))) return
  await signalProcess(identity, 'SIGCONT')
  if (await waitUntilGone(identity, graceMs)) return
  await killProcess(identity)
}

/** SIGKILL; resolves when it is gone, or after five seconds that a process may hang in the kernel. */
export async function killProcess(identity: ProcessIdentity): Promise<boolean> {
  if (!(await signalProcess(identity, 'SIGKILL'))) return false
  return waitUntilGone(identity, 5_000)
}

function parseStat(pid: number, line: string): ProcessStat | undefined {
  // The second field is the program's name in brackets and may hold spaces and brackets itself.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const [state, startTicks] = [fields[0], fields[19]]
  return state === undefined || startTicks === undefined ? undefined : { pid, state, startTicks: Number(startTicks) }
}

function goneOrThrow(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return undefined
  throw error
}
