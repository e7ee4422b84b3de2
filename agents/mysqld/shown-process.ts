import type { Clock } from '#common/ports/ports.ts'
import type { Said } from '#common/sentence/sentence.ts'
import type { ProcessState } from '#topology/snapshot/observation.ts'

/** What an agent shows of its mysqld, and who hears of each change. */
export class ShownProcess {
  readonly #clock: Clock
  #state: ProcessState = 'absent'
  #note: Said
  #changedAtMs: number
  #listeners: readonly (() => void)[] = []

  constructor(clock: Clock, note: Said) {
    this.#clock = clock
    this.#note = note
    this.#changedAtMs = clock.monotonicMs()
  }

  get state(): ProcessState {
    return this.#state
  }

  get note(): Said {
    return this.#note
  }

  get changedAtMs(): number {
    return this.#changedAtMs
  }

  onChange(changed: () => void): void {
    this.#listeners = [...this.#listeners, changed]
  }

  protected become(state: ProcessState, note: Said): void {
    if (state === this.#state && String(note) === String(this.#note)) return
    if (state !== this.#state) this.#changedAtMs = this.#clock.monotonicMs()
    this.#state = state
    this.#note = note
    this.tell()
  }

  protected tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
