import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { Transaction } from './data-folder.ts'

/**
 * What a session hears of its commit. `lost`: the connection ended, and nobody knows. `unproven`: OK as well, by a stop
 * that nobody ordered, with no acknowledgement. `refused`: the server took no writes any more.
 */
export type CommitAnswer = 'ok' | 'lost' | 'unproven' | 'refused'

/** A session that commits. */
export interface Commit {
  /** The agent's own session, or the applier's, which nobody else ends. */
  readonly isOwn: boolean
  /** Of a session that began while a hand had given its server this `server_id`. */
  readonly serverId?: number
  readonly answer: (answer: CommitAnswer, transaction: Transaction) => void
  /** What the session called its transaction; absent where the server is to name it. */
  readonly named?: GtidSet | undefined
}

interface Waiting {
  readonly commit: Commit
  readonly transaction: Transaction
  /** In the binlog: acknowledgements are by position. */
  readonly position: number
  /** Transactions of one group commit wait as one. */
  readonly group: number
  /** Somebody killed the session: its client has heard all that the client will ever hear. */
  isKilled: boolean
}

/**
 * The source's side of semi-synchronous replication. One group waits, for the acknowledgement of its last transaction.
 * Whatever comes meanwhile is the next group, since the one that waits holds the lock under which groups commit. A
 * session that is killed waits on (seen on 9.7: the wait looks at nothing but acknowledgements).
 */
export class SemiSyncSource {
  readonly #committed: (transaction: Transaction) => void
  enabled = false
  acks = 1
  /** Acknowledged to clients without the replicas, since the server started. A group counts once. */
  unacknowledged = 0
  #waiting: Waiting[] = []
  /** `server_id` by server, here the instance: the newest position that was acknowledged. */
  readonly #acknowledged = new Map<InstanceName, number>()
  #group = 0

  /** @param committed is called for each transaction that need not wait any more, before its session hears of that */
  constructor(committed: (transaction: Transaction) => void) {
    this.#committed = committed
  }

  get waits(): boolean {
    return this.#waiting.length > 0
  }

  /** A client could still be told OK. */
  get hasClients(): boolean {
    return this.#waiting.some(({ commit, isKilled }) => !commit.isOwn && !isKilled)
  }

  get hasForeignSessions(): boolean {
    return this.#waiting.some(({ commit }) => !commit.isOwn)
  }

  /** Transactions that are in the binlog from `position` on, and were synced as one. */
  add(transactions: readonly Transaction[], commits: readonly Commit[], position: number): void {
    const [leading] = this.#waiting
    const last = this.#waiting.at(-1)
    if (last === undefined || last.group === leading?.group) this.#group += 1
    for (const [at, transaction] of transactions.entries()) {
      const commit = commits[at]
      if (commit === undefined) throw new Error('each transaction has a session')
      this.#waiting.push({ commit, transaction, position: position + at, group: this.#group, isKilled: false })
    }
  }

  /** A replica begins to read. What that replica acknowledged on an earlier connection is forgotten. */
  connected(instance: InstanceName): void {
    this.#acknowledged.set(instance, -1)
  }

  acknowledged(instance: InstanceName, position: number): void {
    this.#acknowledged.set(instance, Math.max(position, this.#acknowledged.get(instance) ?? -1))
  }

  /** Lets every group go that enough replicas have acknowledged to its end. */
  release(): void {
    for (;;) {
      const last = this.#waiting.findLast(({ group }) => group === this.#waiting[0]?.group)
      if (last === undefined || this.#countAcks(last.position) < this.acks) return
      this.#finish(this.#waiting.splice(0, this.#waiting.indexOf(last) + 1), 'ok')
    }
  }

  #countAcks(position: number): number {
    return [...this.#acknowledged.values()].filter((acknowledged) => acknowledged >= position).length
  }

  /** Gives what clients are told of. */
  giveUp(answer: CommitAnswer): readonly Transaction[] {
    if (this.#waiting.length > 0) this.unacknowledged += 1
    const waiting = this.#waiting.splice(0)
    this.#finish(waiting, answer)
    return waiting.filter(({ isKilled }) => !isKilled).map(({ transaction }) => transaction)
  }

  forgetAcknowledgements(): void {
    this.#acknowledged.clear()
  }

  /** Ends the sessions of these, which wait on. */
  kill(which: (commit: Commit) => boolean): void {
    for (const one of this.#waiting) {
      if (one.isKilled || !which(one.commit)) continue
      one.isKilled = true
      one.commit.answer('lost', one.transaction)
    }
  }

  /** The server is gone. */
  lose(): void {
    for (const { commit, transaction, isKilled } of this.#waiting.splice(0))
      if (!isKilled) commit.answer('lost', transaction)
  }

  #finish(finished: readonly Waiting[], answer: CommitAnswer): void {
    for (const { commit, transaction, isKilled } of finished) {
      this.#committed(transaction)
      if (!isKilled) commit.answer(answer, transaction)
    }
  }
}
