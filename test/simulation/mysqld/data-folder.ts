import { GtidSet } from '../../../topology/gtid-set.ts'
import type { InstanceName } from '../../../topology/member.ts'

/** A transaction as binlogs and relay logs carry it. */
export interface Transaction {
  readonly uuid: string
  readonly gtid: GtidSet
}

/** Of a channel, as `mysql.slave_master_info` keeps it. */
export interface Source {
  readonly host: string
  readonly user: string
}

/** What one data folder holds, and what a power cut leaves of it. */
export class DataFolder {
  /** `auto.cnf`: made by the first start. */
  uuid: string
  /** In the order of the binlog, each synced before anybody is sent it (`sync_binlog=1`). */
  readonly binlog: Transaction[] = []
  /** Committed in InnoDB and in the binlog. What the binlog has beyond that is prepared only. */
  readonly committed = new Set<Transaction>()
  /** `gtid_executed`. */
  executed = GtidSet.empty
  /** Executed and in no binlog: copied by CLONE. */
  copied = GtidSet.empty
  notedPurged = ''
  /** Accounts of replicas that are not locked. */
  gates: ReadonlySet<InstanceName>
  source: Source | null = null
  relayLog: Transaction[] = []
  /** `Retrieved_Gtid_Set`. */
  received = GtidSet.empty
  /** Of the relay log, what is surely on the disk. */
  syncedRelayLog = 0
  #lastNumber = 0

  constructor(uuid: string, gates: ReadonlySet<InstanceName>) {
    this.uuid = uuid
    this.gates = gates
  }

  /** A new transaction of this server, in its binlog and prepared in InnoDB. */
  write(): Transaction {
    this.#lastNumber += 1
    const transaction = { uuid: this.uuid, gtid: GtidSet.single(this.uuid, this.#lastNumber) }
    this.binlog.push(transaction)
    return transaction
  }

  commit(transaction: Transaction): void {
    this.committed.add(transaction)
    this.executed = this.executed.union(transaction.gtid)
  }

  receive(transaction: Transaction): void {
    this.relayLog.push(transaction)
    this.received = this.received.union(transaction.gtid)
  }

  /** What was received and not applied yet, oldest first. */
  get backlog(): readonly Transaction[] {
    if (this.executed.contains(this.received)) return []
    return this.relayLog.filter(({ gtid }) => !this.executed.contains(gtid))
  }

  /** Everything in the binlog, committed or prepared, and what was copied. */
  get inBinlog(): GtidSet {
    return this.binlog.reduce((all, { gtid }) => all.union(gtid), this.copied)
  }

  /** Prepared and in the binlog: `gtid_owned` while a session waits. */
  get prepared(): readonly Transaction[] {
    return this.binlog.length === this.committed.size
      ? []
      : this.binlog.filter((transaction) => !this.committed.has(transaction))
  }

  /** InnoDB's recovery commits what is prepared and in the binlog. */
  recover(): void {
    for (const transaction of this.prepared) this.commit(transaction)
  }

  forgetSource(): void {
    this.source = null
    this.forgetReceived()
  }

  forgetReceived(): void {
    this.relayLog = []
    this.received = GtidSet.empty
    this.syncedRelayLog = 0
  }

  /** Of what was not synced a part may be there all the same. */
  losePageCache(kept: (unsynced: number) => number): void {
    const unsynced = this.relayLog.length - this.syncedRelayLog
    this.relayLog.length = this.syncedRelayLog + kept(unsynced)
    this.received = this.relayLog.reduce((all, { gtid }) => all.union(gtid), GtidSet.empty)
  }

  /** A copy by CLONE: what is committed, and no log. */
  clone(uuid: string): DataFolder {
    const copy = new DataFolder(uuid, this.gates)
    copy.executed = this.executed
    copy.copied = this.executed
    copy.source = this.source
    return copy
  }

  /** Cuts everything from the first transaction on that is not in `held`; null where that was committed in InnoDB. */
  cutTail(held: GtidSet): readonly Transaction[] | null {
    const first = this.binlog.findIndex(({ gtid }) => !held.contains(gtid))
    const tail = first < 0 ? [] : this.binlog.splice(first)
    return tail.some((transaction) => this.committed.has(transaction)) ? null : tail
  }
}
