import type { Clock } from '../ports/ports.ts'
import type { Sentence } from '../sentence/sentence.ts'
import { counted } from '../text/words.ts'

/** Said again after this long, with how often it was left out. */
const windowMs = 60_000
/** Different things that are remembered; the oldest is forgotten first. */
const mostKeys = 200

/**
 * What is tried again and again fails again and again: the log is told of each kind once, then once a minute with a
 * count.
 */
export class Repeats {
  readonly #clock: Clock
  readonly #told = new Map<string, { readonly atMs: number; leftOut: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * How often this was left out since it was told last, if it is to be told now; null if it is to be left out.
   * @param key the same for what is the same but for its figures: the `news` of a sentence, the code of an error
   */
  toTell(key: string): number | null {
    const nowMs = this.#clock.monotonicMs()
    const last = this.#told.get(key)
    if (last !== undefined && nowMs - last.atMs < windowMs) {
      last.leftOut += 1
      return null
    }
    this.#told.delete(key)
    this.#told.set(key, { atMs: nowMs, leftOut: 0 })
    const [oldest] = this.#told.keys()
    if (this.#told.size > mostKeys && oldest !== undefined) this.#told.delete(oldest)
    return last?.leftOut ?? 0
  }
}

/** Behind what is told again. */
export function timesLeftOut(leftOut: number): string {
  return leftOut === 0 ? '' : ` (${counted(leftOut, 'time')} more since this was last said)`
}

/** Tells each kind of sentence once, then once a minute with how often it was left out. */
export function seldom(clock: Clock, tell: (line: string) => void): (sentence: Sentence) => void {
  const repeats = new Repeats(clock)
  return (sentence) => {
    const leftOut = repeats.toTell(sentence.news)
    if (leftOut !== null) tell(`${String(sentence)}${timesLeftOut(leftOut)}`)
  }
}
