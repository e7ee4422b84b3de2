import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'

/** A transaction as binlogs and relay logs carry it. */
export interface Transaction {
  readonly uuid: string
  readonly gtid: GtidSet
  /** `server_id` of the session that wrote it. */
  readonly serverId: number
  /** A hand had given its server the `server_id` of another one. */
  readonly isBorrowed?: true
  /** A FLUSH, or an empty transaction. */
  readonly changesNothing?: true
}

/** Of a channel, as `mysql.slave_master_info` keeps it. */
export interface Source {
  readonly host: string
  readonly user: string
}

const emptyFileBytes = 200
const transactionBytes = 280

/** What one data folder holds, and what a power cut leaves of it. */
export class DataFolder {
  /** `auto.cnf`: made by the first start. */
  uuid: string
  /** Of the server that runs on it. */
  serverId = 0
  /** In the order of the binlog, each synced before anybody is sent it (`sync_binlog=1`). */
  readonly binlog: Transaction[] = []
  /** Where its newest file begins: each start of mysqld makes one. */
  newestFile = 0
  /** Committed in InnoDB and in the binlog. What the binlog has beyond that is prepared only. */
  readonly committed = new Set<Transaction>()
  /** Written by somebody who needs no open server: nobody was promised that these stay. */
  readonly byHand = new Set<Transaction>()
  /** `gtid_executed`. */
  executed = GtidSet.empty
  /** The same, one by one. */
  readonly #executed = new Set<Transaction>()
  readonly #received = new Set<Transaction>()
  /** In the relay log, all before is applied. */
  #applied = 0
  /** Executed and in no binlog: copied by CLONE. */
  copied = GtidSet.empty
  notedPurged = ''
  /** `SET PERSIST super_read_only = OFF`, and its like, by a hand: for a start that loads `mysqld-auto.cnf`. */
  persistsOpen = false
  /** Applied under a replication filter: its rows are not there. */
  hollow = GtidSet.empty
  /** Accounts of replicas that are not locked. */
  gates: ReadonlySet<InstanceName>
  source: Source | null = null
  relayLog: Transaction[] = []
  /** `Retrieved_Gtid_Set`. */
  received = GtidSet.empty
  /** Of the relay log, what is surely on the disk. */
  syncedRelayLog = 0
  /** What it told a source that it has. */
  readonly acknowledged: Transaction[] = []
  #lastNumber = 0

  constructor(uuid: string, gates: ReadonlySet<InstanceName>) {
    this.uuid = uuid
    this.gates = gates
  }

  /**
   * A new transaction of this server, in its binlog and prepared in InnoDB.
   * @param named by its session, with `SET gtid_next`; else the server names the transaction
   * @param borrowed another `server_id` than the server's own
   */
  write(named?: GtidSet, borrowed?: number): Transaction {
    if (named === undefined) this.#lastNumber += 1
    const transaction: Transaction = {
      uuid: this.uuid,
      gtid: named ?? GtidSet.single(this.uuid, this.#lastNumber),
      serverId: borrowed ?? this.serverId,
      ...(borrowed === undefined ? {} : { isBorrowed: true }),
    }
    this.binlog.push(transaction)
    return transaction
  }

  commit(transaction: Transaction): void {
    this.committed.add(transaction)
    this.#executed.add(transaction)
    this.executed = this.executed.union(transaction.gtid)
  }

  receive(transaction: Transaction): void {
    this.relayLog.push(transaction)
    this.#received.add(transaction)
    this.received = this.received.union(transaction.gtid)
  }

  has(transaction: Transaction): boolean {
    return this.#executed.has(transaction) || this.#received.has(transaction)
  }

  /** The oldest that was received and is not applied. */
  get nextToApply(): Transaction | undefined {
    for (; this.#applied < this.relayLog.length; this.#applied += 1) {
      const next = this.relayLog[this.#applied]
      if (next !== undefined && !this.#executed.has(next)) return next
    }
    return undefined
  }

  get backlog(): number {
    return this.nextToApply === undefined ? 0 : this.relayLog.length - this.#applied
  }

  /** Everything in the binlog, committed or prepared. What was copied is in no binlog. */
  get inBinlog(): GtidSet {
    return this.binlog.reduce((all, { gtid }) => all.union(gtid), GtidSet.empty)
  }

  /** `CHANGE REPLICATION SOURCE`: the relay log is kept only where its applier runs. */
  changeSource(source: Source | null, applierRuns: boolean): void {
    if (!applierRuns) this.forgetReceived()
    this.source = source
  }

  /** What follows goes into another file. */
  beginFile(): true {
    this.newestFile = this.binlog.length
    return true
  }

  /** Of the newest binlog file, as far as anybody compares that. */
  get newestBytes(): number {
    return emptyFileBytes + (this.binlog.length - this.newestFile) * transactionBytes
  }

  /** Prepared and in the binlog: `gtid_owned` while a session waits. */
  get prepared(): readonly Transaction[] {
    return this.binlog.length === this.committed.size
      ? []
      : this.binlog.filter((transaction) => !this.committed.has(transaction))
  }

  /** InnoDB's recovery commits what is prepared and in the binlog; what follows goes into another file. */
  recover(): void {
    this.beginFile()
    for (const transaction of this.prepared) this.commit(transaction)
  }

  forgetSource(): void {
    this.source = null
    this.forgetReceived()
  }

  forgetReceived(): void {
    this.syncedRelayLog = 0
    this.losePageCache(() => 0)
  }

  /** Of what was not synced a part may be there all the same. */
  losePageCache(kept: (unsynced: number) => number): void {
    const unsynced = this.relayLog.length - this.syncedRelayLog
    for (const lost of this.relayLog.splice(this.syncedRelayLog + kept(unsynced))) this.#received.delete(lost)
    this.#applied = 0
    this.received = this.relayLog.reduce((all, { gtid }) => all.union(gtid), GtidSet.empty)
  }

  /** A copy by CLONE: what is committed, and no log. */
  clone(uuid: string): DataFolder {
    const copy = new DataFolder(uuid, this.gates)
    copy.executed = this.executed
    for (const transaction of this.#executed) copy.#executed.add(transaction)
    copy.copied = this.executed
    copy.hollow = this.hollow
    copy.source = this.source
    return copy
  }

  /** The same files, as a snapshot of the volume has them. */
  copy(): DataFolder {
    const copy = new DataFolder(this.uuid, this.gates)
    copy.binlog.push(...this.binlog)
    for (const transaction of this.committed) copy.committed.add(transaction)
    for (const transaction of this.byHand) copy.byHand.add(transaction)
    for (const transaction of this.#executed) copy.#executed.add(transaction)
    for (const transaction of this.#received) copy.#received.add(transaction)
    copy.newestFile = this.newestFile
    copy.executed = this.executed
    copy.#applied = this.#applied
    copy.copied = this.copied
    copy.notedPurged = this.notedPurged
    copy.hollow = this.hollow
    copy.persistsOpen = this.persistsOpen
    copy.source = this.source
    copy.relayLog = [...this.relayLog]
    copy.received = this.received
    copy.syncedRelayLog = this.syncedRelayLog
    copy.#lastNumber = this.#lastNumber
    return copy
  }

  /** `RESET BINARY LOGS AND GTIDS`: the data stays, and nobody can tell any more what the data is. */
  forgetGtids(): void {
    this.binlog.length = 0
    this.newestFile = 0
    this.committed.clear()
    this.#executed.clear()
    this.executed = this.copied = GtidSet.empty
  }

  /**
   * Cuts everything from the first transaction on that is not in `held`. What InnoDB had committed stays executed:
   * committed by a hand, that shows as errant, and is archived.
   */
  cutTail(held: GtidSet): { readonly tail: readonly Transaction[]; readonly hadCommitted: boolean } {
    const first = this.binlog.findIndex(({ gtid }) => !held.contains(gtid))
    const tail = first < 0 ? [] : this.binlog.splice(first)
    const committed = tail.filter((transaction) => this.committed.delete(transaction))
    // Executed, and in no binlog.
    this.copied = committed.reduce((all, { gtid }) => all.union(gtid), this.copied)
    return { tail, hadCommitted: committed.some((transaction) => !this.byHand.has(transaction)) }
  }
}
