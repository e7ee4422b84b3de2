import type { ProcessStat } from '#common/process/process-stat.ts'

/** `exiting` is dead for every purpose but one: its files and locks may not be released yet. */
export type ProcessPhase = 'running' | 'stopped' | 'exiting' | 'dead'

/**
 * The phase of the process that started at `startTicks`. A zombie whose other threads still run is `exiting`; a zombie
 * alone has released everything and waits for its parent only.
 */
export function phaseOf(stat: ProcessStat | undefined, startTicks: number): ProcessPhase {
  if (stat === undefined || stat.startTicks !== startTicks) return 'dead'
  if (stat.state === 'X') return 'dead'
  if (stat.state === 'Z') return stat.threads > 1 ? 'exiting' : 'dead'
  if (stat.exiting) return 'exiting'
  return stat.state === 'T' || stat.state === 't' ? 'stopped' : 'running'
}
