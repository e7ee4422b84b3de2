import type { Transport, World } from '#common/ports/ports.ts'
import type { WordAction } from '#failover/protocol/decision.ts'
import { sayWord } from '#failover/protocol/word.ts'

/** An agent that hears a word begins at once, and answers before it does anything. */
const deadlineMs = 5_000
/** What a word leads to shows first: until then the same word is not said again. */
const repeatPauseMs = 5_000

export interface WordDeskPorts {
  readonly world: Pick<World, 'clock'>
  readonly transport: Transport
  readonly failed: (what: string, error: unknown) => void
}

/** Says the words that are decided, and each to an instance once at a time. Everything else is decided anew. */
export class WordDesk {
  readonly #ports: WordDeskPorts
  readonly #addressOf: (instance: string) => string | undefined
  readonly #last = new Map<string, { readonly text: string; readonly atMs: number; readonly isUnderWay: boolean }>()

  constructor(ports: WordDeskPorts, addressOf: (instance: string) => string | undefined) {
    this.#ports = ports
    this.#addressOf = addressOf
  }

  /** False where the word is held back: the same is under way, or was said a moment ago. */
  say(action: WordAction): boolean {
    const { to, word, said } = action
    const address = this.#addressOf(to)
    if (address === undefined || address === '') return false
    const [key, text, nowMs] = [`${to}/${word}/${address}`, JSON.stringify(said), this.#ports.world.clock.monotonicMs()]
    const last = this.#last.get(key)
    if (last?.isUnderWay || (last?.text === text && nowMs - last.atMs < repeatPauseMs)) return false
    this.#last.set(key, { text, atMs: nowMs, isUnderWay: true })
    void this.#deliver(action, address, () => this.#last.set(key, { text, atMs: nowMs, isUnderWay: false }))
    return true
  }

  async #deliver({ to, word, said }: WordAction, address: string, ended: () => void): Promise<void> {
    const { transport, failed } = this.#ports
    try {
      await sayWord({ transport, deadlineMs }, address, word, said)
    } catch (error) {
      failed(`saying ${word} to ${to}`, error)
    } finally {
      ended()
    }
  }
}
