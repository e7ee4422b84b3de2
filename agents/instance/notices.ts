import type { Clock } from '#common/ports/ports.ts'
import { timesLeftOut } from '#common/log/repeats.ts'
import { described } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { Notice } from '#topology/snapshot/observation.ts'

const kept = 20
/** So long the same sentence is not said again. */
const quietMs = 60_000
/**
 * So many notices of one code are said in that time: what somebody does by hand again and again, or what fails by
 * turns, fills no log.
 */
const mostOfACode = 30

/** What was said of one code in the present minute. */
interface Said {
  readonly sinceMs: number
  readonly times: number
  /** Since the last one that was said. */
  readonly leftOut: number
}

/**
 * Things put right or noticed, for the topology and the log. The same sentence twice in a row, within a minute, is one
 * notice; and of one code there are thirty a minute at most.
 */
export class Notices {
  readonly #clock: Clock
  readonly #log: (sentence: string) => void
  readonly #said = new Map<string, Said>()
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

  /** What was tried has failed, and why. */
  failed(code: string, what: Sentence, error: unknown): void {
    this.add(code, say`${what}: ${described(error)}`)
  }

  add(code: string, sentence: Sentence): void {
    const nowMs = this.#clock.monotonicMs()
    const isSame = String(this.#list.at(-1)?.sentence) === String(sentence)
    const said = this.#said.get(code) ?? { sinceMs: nowMs, times: 0, leftOut: 0 }
    const times = nowMs - said.sinceMs < quietMs ? said.times : 0
    if ((isSame && nowMs - this.#saidAtMs < quietMs) || times >= mostOfACode)
      return void this.#said.set(code, { ...said, leftOut: said.leftOut + 1 })
    this.#said.set(code, { sinceMs: times === 0 ? nowMs : said.sinceMs, times: times + 1, leftOut: 0 })
    this.#saidAtMs = nowMs
    const others = said.leftOut === 0 ? '' : ` (${said.leftOut} more of ${code} left out)`
    this.#log(`${String(sentence)}${isSame ? timesLeftOut(said.leftOut) : others}`)
    this.#list = [...this.#list, { id: this.#next++, wallMs: this.#clock.wallMs(), code, sentence }].slice(-kept)
  }
}
