import type { Clock } from '../src/common/ports.ts'
import type { Notice } from '../topology/observation.ts'

const kept = 20
/** So long the same sentence is not said again. */
const quietMs = 60_000

/** Things put right or noticed, for the topology and the log. The same sentence twice in a row, within a minute, is one notice. */
export class Notices {
  readonly #clock: Clock
  readonly #log: (sentence: string) => void
  #list: readonly Notice[] = []
  #next = 1
  #saidAtMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, log: (sentence: string) => void) {
    this.#clock = clock
    this.#log = log
  }

  get list(): readonly Notice[] {
    return this.#list
  }

  add(code: string, sentence: string): void {
    const nowMs = this.#clock.monotonicMs()
    if (this.#list.at(-1)?.sentence === sentence && nowMs - this.#saidAtMs < quietMs) return
    this.#saidAtMs = nowMs
    this.#log(sentence)
    this.#list = [...this.#list, { id: this.#next++, wallMs: this.#clock.wallMs(), code, sentence }].slice(-kept)
  }
}
