import { described } from '#common/errors/errors.ts'
import type { Timers } from '#common/ports/ports.ts'
import { aborted } from '#common/process/signals.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { LeaseElector } from '#controller-runtime/leader/lease-elector.ts'
import type { Leadership } from '#controller-runtime/leader/leadership.ts'

export interface Election {
  readonly elector: Pick<LeaseElector, 'run'>
  readonly timers: Timers
  /** Must not throw. */
  readonly changed: (leads: boolean) => void
  readonly failed: (sentence: Sentence) => void
}

const againMs = 1_000

/**
 * The claim of this process to lead, term after term. A manager that loses its claim does not end: it goes on seeing
 * every cluster, says what it sees, and takes over again without a start. What the manager writes asks `holds` right
 * before it is sent; safety rests on the record in any case.
 */
export class KubeLeader implements Leadership {
  #term: Leadership | undefined

  holds(): boolean {
    return this.#term?.holds() ?? false
  }

  /** Ends with the present term; aborted where there is none. */
  get lost(): AbortSignal {
    return this.#term?.lost ?? AbortSignal.abort()
  }

  /**
   * The election comes here and not to the constructor: objects that ask `holds` are made before it, and its listeners
   * are made of them.
   */
  async run({ elector, timers, changed, failed }: Election, signal: AbortSignal): Promise<void> {
    const lead = async (term: Leadership): Promise<void> => {
      this.#term = term
      changed(true)
      await aborted(AbortSignal.any([term.lost, signal]))
      this.#term = undefined
      changed(false)
    }
    while (!signal.aborted) {
      try {
        await elector.run(signal, lead)
      } catch (error) {
        failed(say`leader election: ${described(error)}`)
        await timers.sleep(againMs, signal).catch(() => undefined)
      }
    }
  }
}
