import type { World } from '#common/ports/ports.ts'
import { longestAskMs } from '#agents/instance/asks.ts'
import type { Patience } from '../built-in/built-in-action.ts'

/** Asks again and again until that is done, or the time of the call is over; the last answer. Rejects as `ask` does. */
export async function askUntil<Answer extends { readonly done: boolean }>(
  { clock, timers }: Pick<World, 'clock' | 'timers'>,
  { deadlineMs, signal }: Patience,
  everyMs: number,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const untilMs = clock.monotonicMs() + (deadlineMs ?? longestAskMs)
  const hasTime = (): boolean => clock.monotonicMs() + everyMs < untilMs && !signal.aborted
  let answer = await ask()
  while (!answer.done && hasTime()) {
    await timers.sleep(everyMs)
    answer = await ask()
  }
  return answer
}
