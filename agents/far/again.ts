import { codeOf } from '#common/errors/errors.ts'
import type { World } from '#common/ports/ports.ts'

export type Again = Pick<World, 'clock' | 'timers'>

/** A connection that was cut is made again within a moment, or its host is away for longer. */
const mostMs = 6_000
const restMs = 250

/** Does again what did not arrive whole, or whose connection was cut. */
export async function again<T>({ clock, timers }: Again, attempt: () => Promise<T>): Promise<T> {
  const until = clock.monotonicMs() + mostMs
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      // A host whose key is another one refuses again.
      if (clock.monotonicMs() > until || codeOf(error) === 'REGENT_HOST_KEY') throw error
      await timers.sleep(restMs)
    }
  }
}
