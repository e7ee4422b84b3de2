import type { Parts } from './parts.ts'

/**
 * The first start on data that were copied or restored does what is left of that: recovery applies what was written
 * meanwhile, and many tables are opened. A caller that gives up begins anew, and ends in the same start.
 */
export const firstStartSeconds = 900

/** Looks again and again at a mysqld that was started; false where it ended, or gave no answer in so many seconds. */
export async function answersWithin(
  { process, observer, world }: Pick<Parts, 'process' | 'observer' | 'world'>,
  seconds: number,
): Promise<boolean> {
  for (let tries = 0; tries < seconds * 10 && process.state !== 'dead'; tries += 1) {
    const answered = await observer.refresh().then(
      () => true,
      () => false,
    )
    if (answered) return true
    await world.timers.sleep(100)
  }
  return false
}
