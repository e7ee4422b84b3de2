import type { InstanceName } from '../../../topology/snapshot/member.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { DataFolder, Transaction } from './data-folder.ts'
import type { Receiver } from './receiver.ts'

/**
 * What a session hears of its commit. `lost`: the connection ended, and nobody knows. `unproven`: OK as well, by a stop
 * that nobody ordered, with no acknowledgement.
 */
export type CommitAnswer = 'ok' | 'lost' | 'unproven'

interface Waiting {
  readonly transaction: Transaction
  /** In the binlog: acknowledgements are by position. */
  readonly position: number
  /** Sessions of one group commit wait as one. */
  readonly group: number
  /** The agent's own session, which nobody else ends. */
  readonly isOwn: boolean
  readonly answer: (answer: CommitAnswer) => void
}

/** A replica that reads the binlog. */
export interface Dump {
  readonly threadId: number
  readonly instance: InstanceName
  readonly host: string
  readonly serverUuid: string
  readonly semiSync: boolean
  /** Ends the connection, as the replica sees. */
  readonly end: () => void
  /** There is something new in the binlog. */
  readonly notify: () => void
}

const lostGroup = 0.3

/**
 * One mysqld from its start to its end, as far as safety rests on how MySQL behaves: measured on 9.7, told in
 * docs/why/safety.md. It starts closed: super read-only, offline, replication stopped, semi-sync off.
 */
export class Mysqld {
  readonly pid: number
  readonly folder: DataFolder
  readonly receiver: Receiver
  readonly #time: VirtualTime
  readonly #random: SeededRandom
  readonly #slowestApplyMs: () => number
  state: 'starting' | 'running' | 'frozen' | 'dead' = 'starting'
  /** Its error log says that somebody else told the server to stop. */
  isStopping = false
  readOnly = true
  superReadOnly = true
  /** `SET GLOBAL super_read_only` waits for commits, and lets no other begin. */
  isClosing = false
  offline = true
  semiSyncReplica = false
  semiSyncSource = { enabled: false, acks: 1 }
  /** Acknowledged to a client without the replicas, since the server started. */
  unacknowledged = 0
  /** What a stop by a stranger told clients OK. */
  unproven: readonly Transaction[] = []
  applierRuns = false
  /** Something holds the applier up: a lock, or a large transaction. */
  appliesNothing = false
  /** Somebody let clients in who is not the agent. */
  isOpenByHand = false
  /** Somebody switched acknowledgements off who is not the agent. */
  isLooseByHand = false
  /** Somebody holds a global read lock: `FLUSH TABLES WITH READ LOCK`, from this moment on. */
  lockedSinceMs: number | null = null
  dumps: readonly Dump[] = []
  #waiting: readonly Waiting[] = []
  /** By server, the newest position that was acknowledged. */
  readonly #acknowledged = new Map<string, number>()
  #group = 0
  #lastThread = 10
  #applies = false
  readonly #onChange = new Set<() => void>()

  constructor(
    pid: number,
    folder: DataFolder,
    ports: {
      readonly time: VirtualTime
      readonly random: SeededRandom
      /** What the applier takes for a transaction, at most. */
      readonly slowestApplyMs: () => number
      readonly receiver: (mysqld: Mysqld) => Receiver
    },
  ) {
    this.pid = pid
    this.folder = folder
    this.#time = ports.time
    this.#random = ports.random
    this.#slowestApplyMs = ports.slowestApplyMs
    this.receiver = ports.receiver(this)
  }

  get isUp(): boolean {
    return this.state === 'running' && !this.isStopping
  }

  /** Calls back after each change of `state`. */
  onChange(changed: () => void): void {
    this.#onChange.add(changed)
  }

  begin(): void {
    if (this.state !== 'starting') return
    this.folder.recover()
    this.#is('running')
  }

  /** SIGKILL, or the power is gone: no farewell. */
  die(): void {
    if (this.state === 'dead') return
    const waiting = this.#waiting
    this.#waiting = []
    this.#is('dead')
    this.receiver.stop()
    for (const { end } of this.dumps) end()
    this.dumps = []
    for (const { answer } of waiting) answer('lost')
  }

  /** SIGTERM of a stranger: what waits is committed and told OK, with no acknowledgement. */
  stopInOrder(takesMs = this.#random.between(50, 800)): void {
    if (!this.isUp) return
    this.isStopping = true
    this.#giveUpWaiting('unproven')
    this.#time.after(takesMs, () => this.die())
  }

  freeze(): void {
    if (this.state === 'running') this.#is('frozen')
  }

  thaw(): void {
    if (this.state !== 'frozen') return
    this.#is('running')
    this.#release()
    for (const dump of this.dumps) dump.notify()
    this.apply()
  }

  get isLocked(): boolean {
    return this.lockedSinceMs !== null
  }

  lock(): void {
    this.lockedSinceMs ??= this.#time.nowMs
  }

  unlock(): void {
    this.lockedSinceMs = null
    this.apply()
  }

  get mayWrite(): boolean {
    return this.isUp && !this.readOnly && !this.superReadOnly && !this.offline && !this.isClosing && !this.isLocked
  }

  get waiting(): number {
    return new Set(this.#waiting.map(({ group }) => group)).size
  }

  get hasWaitingClients(): boolean {
    return this.#waiting.some(({ isOwn }) => !isOwn)
  }

  /** A write of a client, or the agent's marker. Rejects nothing: the caller has looked whether it may write. */
  commitNew(isOwn: boolean, heard: (answer: CommitAnswer, transaction: Transaction) => void): void {
    const transaction = this.folder.write()
    this.#commit(transaction, isOwn, (answer) => heard(answer, transaction))
  }

  #commit(transaction: Transaction, isOwn: boolean, answer: (answer: CommitAnswer) => void): void {
    const { enabled, acks } = this.semiSyncSource
    for (const dump of this.dumps) dump.notify()
    if (!enabled || acks === 0) {
      this.folder.commit(transaction)
      return answer(this.isLooseByHand && !isOwn ? 'unproven' : 'ok')
    }
    if (this.#waiting.length === 0 || this.#random.chance(1 - lostGroup)) this.#group += 1
    const waiting = { transaction, position: this.folder.binlog.length - 1, group: this.#group, isOwn, answer }
    this.#waiting = [...this.#waiting, waiting]
    this.#release()
  }

  /** A replica says that it has everything up to here. */
  acknowledged(serverUuid: string, position: number): void {
    if (this.state === 'dead') return
    this.#acknowledged.set(serverUuid, Math.max(position, this.#acknowledged.get(serverUuid) ?? -1))
    this.#release()
  }

  #release(): void {
    if (this.state !== 'running') return
    while (this.#waiting[0] !== undefined && this.#countAcks(this.#waiting[0].position) >= this.semiSyncSource.acks)
      this.#finish(this.#waiting[0], 'ok')
  }

  #countAcks(position: number): number {
    return [...this.#acknowledged.values()].filter((acknowledged) => acknowledged >= position).length
  }

  #finish(one: Waiting, answer: CommitAnswer): void {
    this.#waiting = this.#waiting.filter((other) => other !== one)
    this.folder.commit(one.transaction)
    one.answer(answer)
  }

  #giveUpWaiting(answer: CommitAnswer): void {
    for (const one of this.#waiting) {
      this.unacknowledged += 1
      if (answer === 'unproven') this.unproven = [...this.unproven, one.transaction]
      this.#finish(one, answer)
    }
  }

  /**
   * A killed session commits what it waits with, without an acknowledgement, and those of the same group commit are
   * told OK.
   */
  killForeignSessions(): void {
    for (const one of this.#waiting) {
      if (one.isOwn) continue
      const others = this.#waiting.filter(({ group, isOwn }) => group === one.group && isOwn === one.isOwn)
      this.unacknowledged += 1
      for (const other of others) this.#finish(other, other === one ? 'lost' : 'ok')
    }
  }

  /** `SET GLOBAL rpl_semi_sync_source_enabled = OFF`, by somebody: what waits is told OK, with no acknowledgement. */
  loosen(): void {
    if (!this.semiSyncSource.enabled) return
    this.isLooseByHand = true
    this.semiSyncSource = { ...this.semiSyncSource, enabled: false }
    this.#acknowledged.clear()
    this.#giveUpWaiting('unproven')
  }

  setSemiSyncSource(acks: number): void {
    this.isLooseByHand = false
    this.semiSyncSource = { enabled: acks > 0, acks: acks > 0 ? acks : this.semiSyncSource.acks }
    if (acks === 0) {
      this.#acknowledged.clear()
      this.#giveUpWaiting('ok')
    } else this.#release()
  }

  connect(dump: Omit<Dump, 'threadId'>): Dump {
    this.#lastThread += 1
    for (const zombie of this.dumps.filter(({ serverUuid }) => serverUuid === dump.serverUuid)) zombie.end()
    const connected = { ...dump, threadId: this.#lastThread }
    this.dumps = [...this.dumps, connected]
    return connected
  }

  disconnect(dump: Dump): void {
    this.dumps = this.dumps.filter((other) => other !== dump)
  }

  startApplier(): void {
    if (this.folder.source === null) return
    this.applierRuns = true
    this.apply()
  }

  /** Applies what is received, one after the other, while the applier runs. */
  apply(): void {
    if (this.#applies || !this.#mayApply()) return
    this.#applies = true
    this.#time.after(this.#random.between(0.2, this.#slowestApplyMs()), () => {
      this.#applies = false
      const next = this.folder.nextToApply
      if (!this.#mayApply() || next === undefined) return
      this.folder.binlog.push(next)
      this.#applies = true
      this.#commit(next, true, () => {
        this.#applies = false
        this.apply()
      })
    })
  }

  #mayApply(): boolean {
    return (
      this.applierRuns && !this.appliesNothing && !this.isLocked && this.state === 'running' && this.folder.backlog > 0
    )
  }

  #is(state: Mysqld['state']): void {
    this.state = state
    for (const changed of this.#onChange) changed()
  }
}
