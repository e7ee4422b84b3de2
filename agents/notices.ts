import type { Clock } from '../src/common/ports.ts'
import type { Notice } from '../topology/observation.ts'

const kept = 20

/** Things put right or noticed, for the topology and the log. The same sentence twice in a row is one notice. */
export class Notices {
  readonly #clock: Clock
  readonly #log: (sentence: string) => void
  #list: readonly Notice[] = []
  #next = 1

  constructor(clock: Clock, log: (sentence: string) => void) {
    this.#clock = clock
    this.#log = log
  }

  get list(): readonly Notice[] {
    return this.#list
  }

  add(code: string, sentence: string): void {
    if (this.#list.at(-1)?.sentence === sentence) return
    this.#log(sentence)
    this.#list = [...this.#list, { id: this.#next++, wallMs: this.#clock.wallMs(), code, sentence }].slice(-kept)
  }
}
