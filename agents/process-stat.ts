/** What the kernel says of a process: some of proc_pid_stat(5). */
export interface ProcessStat {
  /** One letter: R, S, D running or waiting · T, t stopped · Z, X ended. */
  readonly state: string
  /** The kernel is tearing it down (PF_EXITING). */
  readonly exiting: boolean
  readonly threads: number
  /** Clock ticks between boot and its start: a pid is used again, a pid with its start is not. */
  readonly startTicks: number
}

const flagExiting = 0x4

/** Parses a line of `/proc/<pid>/stat`; undefined when it is not one. */
export function parseProcessStat(line: string): ProcessStat | undefined {
  // The second field is the program's name in brackets and may hold spaces and brackets itself.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const [state, flags, threads, startTicks] = [fields[0], fields[6], fields[17], fields[19]]
  if (!state || flags === undefined || threads === undefined || startTicks === undefined) return undefined
  return { state, exiting: (Number(flags) & flagExiting) !== 0, threads: Number(threads), startTicks: Number(startTicks) }
}

/** `exiting` is dead for every purpose but one: its files and locks may not be released yet. */
export type ProcessPhase = 'running' | 'stopped' | 'exiting' | 'dead'

/**
 * The phase of the process that started at `startTicks`. A zombie whose other threads still run is `exiting`; a zombie alone has released everything and waits for its
 * parent only.
 */
export function phaseOf(stat: ProcessStat | undefined, startTicks: number): ProcessPhase {
  if (stat === undefined || stat.startTicks !== startTicks) return 'dead'
  if (stat.state === 'X') return 'dead'
  if (stat.state === 'Z') return stat.threads > 1 ? 'exiting' : 'dead'
  if (stat.exiting) return 'exiting'
  return stat.state === 'T' || stat.state === 't' ? 'stopped' : 'running'
}
