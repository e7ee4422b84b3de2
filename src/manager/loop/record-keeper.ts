import { isSameRecord, type ClusterRecord } from '#failover/protocol/record.ts'
import type { CommitAction } from '#failover/protocol/decision.ts'
import type { Store } from '#store/store.ts'
import { NewestFirst } from './newest-first.ts'

/** A commit that was done, and the record before. */
export interface Done {
  readonly before: ClusterRecord | undefined
  readonly action: CommitAction
}

/** The record as the store was seen to hold it. The only place from which a record is written. */
export class RecordKeeper {
  readonly #store: Store
  readonly #cluster: string
  #record: ClusterRecord | undefined
  readonly #looks = new NewestFirst()
  /** A commit of which the store did not say whether it was done. */
  #unanswered: Done | null = null

  constructor(store: Store, cluster: string) {
    this.#store = store
    this.#cluster = cluster
  }

  get record(): ClusterRecord | undefined {
    return this.#record
  }

  /**
   * To be called before the store is read. The result says, once that is done, whether what was read may be learned: no
   * look that began later is known by then, and no commit has ended meanwhile, done or not.
   */
  look(): () => boolean {
    return this.#looks.begin()
  }

  read(): Promise<ClusterRecord | undefined> {
    return this.#store.readRecord(this.#cluster)
  }

  /** The store was read. @returns the unanswered commit, where the store shows that this commit was done */
  learn(record: ClusterRecord | undefined): Done | null {
    const unanswered = this.#unanswered
    this.#record = record
    this.#unanswered = null
    return unanswered && record && isSameRecord(record, unanswered.action.next) ? unanswered : null
  }

  /**
   * @returns null where somebody else changed the record meanwhile.
   * Rejects with the store's error; whether the commit was done is known after the next `learn`.
   */
  async commit(action: CommitAction): Promise<Done | null> {
    const attempt = { before: this.#record, action }
    try {
      if (!(await this.#store.compareAndSwap(this.#cluster, attempt.before?.revision ?? 0, action.next))) return null
      this.#record = action.next
      return attempt
    } catch (error) {
      this.#unanswered = attempt
      throw error
    } finally {
      this.#looks.begin()()
    }
  }
}
