/** A line of the log of MHA's manager tells of each. */
const steps = {
  'ping failed': /Got error on MySQL select ping/,
  'master called dead': /Master is down!/,
  'new master chosen': /New master is /,
  'route written': /Executing master IP activate script/,
  'slaves follow': /All new slave servers recovered successfully/,
} as const

export type MhaStep = keyof typeof steps
export const mhaSteps = Object.keys(steps) as readonly MhaStep[]

/** Whether the manager has looked at all servers and pings the master. */
export function isWatching(log: string): boolean {
  return /Ping\(\w+\) succeeded, waiting until MySQL doesn't respond/.test(log)
}

/** Steps that the log tells of. */
export function stepsIn(log: string): readonly MhaStep[] {
  return mhaSteps.filter((step) => steps[step].test(log))
}

/** What the manager complained of last, in a line. */
export function complaintIn(log: string): string {
  const errors = log.split('\n').flatMap((line) => /\[error\](?:\[[^\]]*\])? (.+)/.exec(line)?.[1] ?? [])
  return errors.slice(-2).join(' ') || 'its log names no error'
}
