import type { Decision } from '#failover/protocol/decision.ts'
import { codeOf, describeError } from '#common/errors/errors.ts'

/**
 * What can be in the way of a commit, each taken back only by what disproves it: the whole store (told by who renews
 * leadership in it), this cluster's record, which cannot be read, or the last commit, which was refused.
 */
type Kind = 'store' | 'reading' | 'committing'

/**
 * Why nothing can be committed now, in the words of who refused it. It belongs into every sentence until it is over.
 */
export class StoreTrouble {
  readonly #turned: () => void
  /** The store answered, and what it keeps cannot be used. */
  #damaged = false
  #why: Readonly<Record<Kind, string>> = { store: '', reading: '', committing: '' }

  /**
   * @param turned called when a first trouble comes or the last one goes. Another reason alone calls nobody: it may be
   * what a commit of this very turn was told.
   */
  constructor(turned: () => void) {
    this.#turned = turned
  }

  /** '' where that kind stands in the way no more. */
  tell(told: Partial<Readonly<Record<Kind, string>>>): void {
    const before = this.#reason
    this.#why = { ...this.#why, ...told }
    if ((before === '') !== (this.#reason === '')) this.#turned()
  }

  async read<Read>(reading: Promise<Read>): Promise<Read> {
    try {
      const read = await reading
      this.tell({ reading: '' })
      return read
    } catch (error) {
      this.#damaged = ['REGENT_STORE_DAMAGED', 'REGENT_NEWER_VERSION'].includes(codeOf(error))
      this.tell({ reading: describeError(error) })
      throw error
    }
  }

  of(kind: Kind): string {
    return this.#why[kind]
  }

  over(): void {
    this.tell({ store: '', reading: '', committing: '' })
  }

  get isOver(): boolean {
    return this.#reason === ''
  }

  /** A decision as it can be carried out; by one that does not lead, not at all. */
  limit(decision: Decision, leads: boolean): Decision {
    const reason = this.#reason
    if (reason === '') return decision
    const until =
      this.#damaged && this.#why.reading === reason ? 'until the record can be used again' : 'until the store is back'
    const cannot = `nothing can be committed ${until}`
    return {
      ...decision,
      condition: 'storeAway',
      sentence: `${decision.sentence}; ${cannot}: ${reason}`,
      news: `${decision.news}; ${cannot}`,
      blocked: true,
      actions: leads ? decision.actions : [],
    }
  }

  get #reason(): string {
    return this.#why.store || this.#why.reading || this.#why.committing
  }
}
