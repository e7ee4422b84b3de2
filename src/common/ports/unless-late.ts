import type { Timers } from './ports.ts'

/** What the work comes to; undefined where the work takes longer than `ms`, and goes on with nobody waiting. */
export function unlessLate<Result>(
  timers: Pick<Timers, 'after'>,
  ms: number,
  work: Promise<Result>,
): Promise<Result | undefined> {
  const late = Promise.withResolvers<undefined>()
  const timer = timers.after(ms, () => late.resolve(undefined))
  return Promise.race([work, late.promise]).finally(() => timer.cancel())
}
