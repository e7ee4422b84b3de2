import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { DataFolder, Transaction } from './data-folder.ts'
import { Locks } from './locks.ts'
import type { Receiver } from './receiver.ts'
import { SemiSyncSource, type Commit } from './semi-sync-source.ts'

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

/** A plugin that has others agree on what sessions of this server commit. */
export interface GroupCommits {
  /** This server is a member: a commit is the group's matter. */
  readonly takesCommits: boolean
  /** It is being left: whoever looks at that waits. */
  readonly isStopping: boolean
  readonly waiting: number
  readonly hasForeignSessions: boolean
  commit(commits: readonly Commit[]): void
  kill(which: (commit: Commit) => boolean): void
  /** The server is told to stop in order. */
  serverStops(): void
}

/** Of a session that ended before its transaction was in the binlog. */
const unwritten: Transaction = { uuid: '', gtid: GtidSet.empty, serverId: 0 }

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
  /** In whole seconds, as it says itself. */
  readonly startedAt: number
  state: 'starting' | 'running' | 'frozen' | 'dead' = 'starting'
  /** Its error log says that somebody else told the server to stop. */
  isStopping = false
  readOnly = true
  superReadOnly = true
  offline = true
  semiSyncReplica = false
  readonly semiSyncSource: SemiSyncSource
  readonly locks = new Locks(
    () => this.#time.nowMs,
    () => this.#goOn(),
  )
  /** What somebody's stop, or somebody's switch, told clients OK. */
  unproven: readonly Transaction[] = []
  applierRuns = false
  /** Something holds the applier up: a lock, or a large transaction. */
  appliesNothing = false
  /** It hears no acknowledgement of any replica. */
  isDeaf = false
  /** A hand has set a replication filter: what is applied meanwhile leaves no rows. */
  isFiltered = false
  /** `persisted_globals_load`. */
  loadsPersisted = false
  /** Somebody let clients in who is not the agent. */
  isOpenByHand = false
  /** Somebody switched acknowledgements off who is not the agent. */
  isLooseByHand = false
  /** An error, or a hand, has switched its binary log off until the next start. */
  isWithoutBinlog = false
  dumps: readonly Dump[] = []
  /** In mode `group` alone. */
  group: GroupCommits | null = null
  #isClosing = false
  /** Behind a lock: nothing of these is in the binlog yet. */
  #heldBack: readonly (readonly Commit[])[] = []
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
    this.startedAt = Math.floor(ports.time.nowMs / 1_000)
    this.#random = ports.random
    this.#slowestApplyMs = ports.slowestApplyMs
    this.receiver = ports.receiver(this)
    this.semiSyncSource = new SemiSyncSource((transaction) => folder.commit(transaction))
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
    if (this.loadsPersisted && this.folder.persistsOpen) this.readOnly = this.superReadOnly = this.offline = false
    this.#is('running')
  }

  /** SIGKILL, or the power is gone: no farewell. */
  die(): void {
    if (this.state === 'dead') return
    this.#is('dead')
    this.receiver.stop()
    for (const { end } of this.dumps) end()
    this.dumps = []
    this.semiSyncSource.lose()
    const heldBack = this.#heldBack
    this.#heldBack = []
    for (const { answer } of heldBack.flat()) answer('lost', unwritten)
  }

  /** SIGTERM of a stranger: what waits is committed and told OK, with no acknowledgement. */
  stopInOrder(takesMs = this.#random.between(50, 800)): void {
    if (!this.isUp) return
    this.isStopping = true
    this.group?.serverStops()
    this.#giveUpUnproven()
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

  /** Takes writes. Behind a lock a write may have to wait all the same. */
  get mayWrite(): boolean {
    return this.isUp && !this.readOnly && !this.superReadOnly && !this.offline
  }

  /** Of the sessions that wait for an acknowledgement the server counts the one that leads its group. */
  get waiting(): number {
    return (this.semiSyncSource.waits ? 1 : 0) + (this.group?.waiting ?? 0)
  }

  /** Clients that wait and could still be told OK. */
  get hasWaitingClients(): boolean {
    return this.semiSyncSource.hasClients
  }

  /** Also those that were killed: they stay until they need not wait any more. */
  get hasForeignSessions(): boolean {
    if (this.group?.hasForeignSessions === true) return true
    return this.semiSyncSource.hasForeignSessions || this.#heldBack.flat().some(({ isOwn }) => !isOwn)
  }

  /** `SET GLOBAL super_read_only` has begun: it waits for commits, and lets no other begin. */
  beginClosing(): void {
    this.#isClosing = true
  }

  /** It is done, or was given up. */
  endClosing(isDone: boolean): void {
    if (isDone) {
      this.readOnly = this.superReadOnly = true
      this.isOpenByHand = false
    }
    this.#isClosing = false
    this.#goOn()
  }

  /** Account changes wait. */
  get holdsUpAccounts(): boolean {
    return this.#isClosing || this.locks.holdUpAccounts
  }

  get #holdsUpCommits(): boolean {
    return this.#isClosing || this.locks.holdUpCommits
  }

  /**
   * A write of a client, or the agent's marker. Rejects nothing: the caller has looked whether it may write.
   * @returns what is in the binlog; undefined while a lock is in the way
   */
  commitNew(isOwn: boolean, answer: Commit['answer'], named?: GtidSet): Transaction | undefined {
    return this.commitTogether([{ isOwn, answer, named }])[0]
  }

  /** `FLUSH` by somebody: in the binlog, with a GTID of this server, and nothing is changed. */
  flush(): Transaction {
    const transaction: Transaction = { ...this.folder.write(), changesNothing: true }
    this.folder.binlog[this.folder.binlog.length - 1] = transaction
    this.folder.byHand.add(transaction)
    this.#commit([transaction], [{ isOwn: true, answer: () => undefined }])
    return transaction
  }

  /** As one group. */
  commitTogether(commits: readonly Commit[]): readonly Transaction[] {
    if (this.#holdsUpCommits) {
      this.#heldBack = [...this.#heldBack, commits]
      return []
    }
    if (this.group?.takesCommits === true) {
      this.group.commit(commits)
      return []
    }
    // No replica is sent these, and nobody waits for any.
    if (this.isWithoutBinlog)
      return commits.map(({ isOwn, answer }) => (answer(isOwn ? 'ok' : 'unproven', unwritten), unwritten))
    const written = commits.map((commit) => this.#write(commit))
    this.#commit(written, commits)
    return written
  }

  #write({ isOwn, named, serverId }: Commit): Transaction {
    const transaction = this.folder.write(named, serverId)
    if (!isOwn && (!this.mayWrite || this.isOpenByHand)) this.folder.byHand.add(transaction)
    return transaction
  }

  #commit(transactions: readonly Transaction[], commits: readonly Commit[]): void {
    const { semiSyncSource, folder } = this
    for (const dump of this.dumps) dump.notify()
    if (semiSyncSource.enabled) {
      semiSyncSource.add(transactions, commits, folder.binlog.length - transactions.length)
      return this.#release()
    }
    for (const transaction of transactions) folder.commit(transaction)
    for (const [at, { isOwn, answer }] of commits.entries())
      answer(this.isLooseByHand && !isOwn ? 'unproven' : 'ok', transactions[at] ?? unwritten)
  }

  /** Nothing is in the way any more, or less than before. */
  #goOn(): void {
    if (this.#holdsUpCommits || this.state === 'dead') return
    const heldBack = this.#heldBack
    this.#heldBack = []
    for (const commits of heldBack) {
      const mayCommit = ({ isOwn }: Commit): boolean => (isOwn ? !this.superReadOnly : this.mayWrite)
      for (const commit of commits) if (!mayCommit(commit)) commit.answer('refused', unwritten)
      this.commitTogether(commits.filter(mayCommit))
    }
    this.apply()
  }

  /** A replica says that it has everything up to here. */
  acknowledged(instance: InstanceName, position: number): void {
    if (this.state === 'dead' || this.isDeaf) return
    this.semiSyncSource.acknowledged(instance, position)
    this.#release()
  }

  #release(): void {
    if (this.state === 'running') this.semiSyncSource.release()
  }

  /** `KILL`: what is in the binlog waits on, and what is not yet there never will be. */
  killSession(commit: Commit): void {
    this.#kill((other) => other === commit)
  }

  #kill(which: (commit: Commit) => boolean): void {
    this.semiSyncSource.kill(which)
    this.group?.kill(which)
    const doomed = this.#heldBack.flat().filter(which)
    this.#heldBack = this.#heldBack.map((commits) => commits.filter((commit) => !which(commit)))
    for (const { answer } of doomed) answer('lost', unwritten)
  }

  killForeignSessions(): void {
    this.#kill(({ isOwn }) => !isOwn)
    this.locks.endAll()
  }

  #giveUpUnproven(): void {
    this.unproven = [...this.unproven, ...this.semiSyncSource.giveUp('unproven')]
  }

  /** `SET GLOBAL rpl_semi_sync_source_enabled = OFF`, by somebody: what waits is told OK, with no acknowledgement. */
  loosen(): void {
    if (!this.semiSyncSource.enabled) return
    this.isLooseByHand = true
    this.semiSyncSource.enabled = false
    this.semiSyncSource.forgetAcknowledgements()
    this.#giveUpUnproven()
  }

  setSemiSyncSource(acks: number): void {
    this.isLooseByHand = false
    const { semiSyncSource } = this
    semiSyncSource.enabled = acks > 0
    if (acks > 0) {
      semiSyncSource.acks = acks
      return this.#release()
    }
    semiSyncSource.forgetAcknowledgements()
    semiSyncSource.giveUp('ok')
  }

  connect(dump: Omit<Dump, 'threadId'>): Dump {
    this.#lastThread += 1
    for (const zombie of this.dumps.filter(({ serverUuid }) => serverUuid === dump.serverUuid)) zombie.end()
    const connected = { ...dump, threadId: this.#lastThread }
    if (dump.semiSync) this.semiSyncSource.connected(dump.instance)
    this.dumps = [...this.dumps, connected]
    return connected
  }

  disconnect(dump: Dump): void {
    this.dumps = this.dumps.filter((other) => other !== dump)
  }

  /** The channel of a group has no source: what the group sent is applied. */
  startGroupApplier(): void {
    this.applierRuns = true
    this.apply()
  }

  /** A group made it primary. */
  openByGroup(): void {
    this.readOnly = this.superReadOnly = false
  }

  /** It is no primary of its group; or out of its group by an error, and answers nobody. */
  closeByGroup(toEverybody: boolean): void {
    this.readOnly = this.superReadOnly = true
    this.isOpenByHand = false
    if (!toEverybody) return
    this.offline = true
    this.killForeignSessions()
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
      if (this.isFiltered) this.folder.hollow = this.folder.hollow.union(next.gtid)
      this.#applies = true
      const answer = (): void => {
        this.#applies = false
        this.apply()
      }
      this.#commit([next], [{ isOwn: true, answer }])
    })
  }

  /** The next of a tail, by an applier of its own. False while that cannot be. */
  applyOfTail(next: Transaction): boolean {
    if (this.folder.executed.contains(next.gtid)) return true
    if (this.#holdsUpCommits || this.state !== 'running') return false
    this.folder.binlog.push(next)
    this.#commit([next], [{ isOwn: true, answer: () => undefined }])
    return true
  }

  #mayApply(): boolean {
    const isHeldUp = this.appliesNothing || this.#holdsUpCommits
    return this.applierRuns && !isHeldUp && this.state === 'running' && this.folder.backlog > 0
  }

  #is(state: Mysqld['state']): void {
    this.state = state
    for (const changed of this.#onChange) changed()
  }
}
