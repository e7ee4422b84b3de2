import type { Clock } from '#common/ports/ports.ts'
import { keyText, type ObjectKey } from '#controller-runtime/objects/objects.ts'

/** A trouble that passes most often is told once nothing else was seen for so long. */
const lastsMs = 60_000

/**
 * Since when an object meets troubles that pass most often: a full queue, a conflict, an API server that starts.
 */
export class LastingTroubles {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #sinceMs = new Map<string, number>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** Notes one more. @returns whether people are to hear of the trouble. */
  lasts(key: ObjectKey): boolean {
    const nowMs = this.#clock.monotonicMs()
    const sinceMs = this.#sinceMs.get(keyText(key)) ?? nowMs
    this.#sinceMs.set(keyText(key), sinceMs)
    return nowMs - sinceMs >= lastsMs
  }

  ended(key: ObjectKey): void {
    this.#sinceMs.delete(keyText(key))
  }
}
