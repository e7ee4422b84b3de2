import { say } from '#common/sentence/sentence.ts'
import type { Disk, Machine, Timer, Transport, World } from '#common/ports/ports.ts'
import { regentVersion } from '#common/version.ts'
import type { Watch } from '#common/watch/watch.ts'
import { Watches } from '#common/watch/watches.ts'
import type { Follower } from '#failover/protocol/message.ts'
import type { OrderAnswer } from '#failover/protocol/order.ts'
import type { FactView } from '#failover/protocol/word.ts'
import type { Timings } from '#failover/protocol/timings.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { BinlogKeeper, binlogLookMs } from './guard/binlog-keeper.ts'
import { ClientCertificate, type CertificateFolders } from './guard/client-certificate.ts'
import { ObservationBuilder } from './observe/observation.ts'
import { answersAloneIn } from './converge/mode-of.ts'
import { Converger } from './converge/converger.ts'
import { judgeEndingFirst, SilenceWatch } from './doubts/ending.ts'
import { GivenGtidsWatch } from './observe/given-gtids.ts'
import { GtidResetWatch } from './observe/gtid-reset.ts'
import { ImpossibleCountWatch } from './observe/impossible-count.ts'
import type { AgentHandlers, StreamListener } from './http.ts'
import { EventKeeper } from './guard/event-keeper.ts'
import { HungServerWatch } from './guard/hung-server.ts'
import { Lease } from './guard/lease.ts'
import { LockedOutWatch } from './guard/locked-out.ts'
import { NeedsKeeper } from './guard/needs-keeper.ts'
import { whyCacheIsLost, type MediumPort } from './instance/medium.ts'
import { agentMetrics } from './observe/agent-metrics.ts'
import { Asks } from './instance/asks.ts'
import { Notices } from './instance/notices.ts'
import { Observer } from './observe/observer.ts'
import { OrderDesk } from './orders/desk.ts'
import { FactLog } from './instance/fact-log.ts'
import { RunLog } from './instance/run-log.ts'
import { learn } from './instance/learn.ts'
import { nothingKnown } from './instance/known.ts'
import type { Parts } from './instance/parts.ts'
import { PurgedNote } from './binlog/purged-note.ts'
import type { ExpulsionPort } from './ports/expulsion.ts'
import { isDown, type ProcessPort } from './ports/process.ts'
import { nearTail } from './salvage/near-tail.ts'
import { Seeding } from './orders/reseeding.ts'
import type { ServerPort } from './ports/server.ts'
import { guardSpace } from './guard/space-guard.ts'
import { Termination, type TerminationPort } from './orders/termination.ts'
import { BackUp } from './backup/back-up.ts'
import { BinlogArchiver } from './backup/archive/binlog-archiver.ts'
import { Heartbeat } from './backup/heartbeat.ts'
import { HoleCloser } from './backup/archive/hole-closer.ts'
import { Rehearsing } from './backup/rehearsal/rehearsing.ts'
import { StoreReader } from './backup/store-reader.ts'
import { Restoring } from './backup/rebuild/restoring.ts'
import { RetentionWatch } from './backup/retention-watch.ts'
import { StoreAcquaintance } from './backup/store-acquaintance.ts'
import { StoreWatch } from './backup/store-watch.ts'
import type { BackupPort } from './ports/backup-port.ts'
import { builtInActions } from './lifecycle/mysql/built-in-actions.ts'
import { LeftoverCopy } from './lifecycle/mysql/data-dump.ts'
import type { BuiltInAction } from './lifecycle/built-in/built-in-action.ts'
import { freshState, newIncarnation, StoredStateFile } from './instance/stored-state.ts'
import type { VolumePort } from './ports/volume.ts'

/** How often the agent looks after what no event brings. */
const tendMs = 1_000
/** Longer than following another primary takes. */
const readyGraceMs = 5_000

export interface AgentPorts extends Pick<Parts, 'config' | 'timings' | 'world' | 'transport' | 'replicationPassword'> {
  readonly disk: Disk
  readonly machine: Machine
  readonly medium: MediumPort
  readonly stateFile: string
  readonly process: ProcessPort
  readonly server: ServerPort
  readonly volume: VolumePort
  readonly expulsion?: ExpulsionPort
  readonly timings: Timings
  readonly world: World
  readonly transport: Transport
  readonly log: (sentence: string) => void
  /** Null where mysqld's own certificate will do. */
  readonly certificateFolders?: CertificateFolders | null
  /** Null where nobody but this agent ends the instance. */
  readonly termination?: TerminationPort | null
  /** Null where no backups are made and none is restored. */
  readonly backups?: BackupPort | null
}

/**
 * The agent of one instance: it observes its instance, keeps what it promised, and makes its server what it is assigned
 * to be.
 */
export class Agent implements AgentHandlers {
  readonly orders: AgentHandlers['orders']
  readonly #parts: Parts
  readonly #converger: Converger
  readonly #lease: Lease
  readonly #watches: Watches
  readonly #binlogs: BinlogKeeper
  readonly #observations: ObservationBuilder
  readonly #silence: SilenceWatch
  readonly #hung: HungServerWatch
  readonly #lockedOut: LockedOutWatch
  readonly #events: EventKeeper
  readonly #needs: NeedsKeeper
  /** What each answer of the server is looked at for. */
  readonly #answerWatches: readonly { readonly look: () => void }[]
  readonly #leftover: LeftoverCopy
  readonly #termination: Termination
  readonly #backUp: BackUp
  readonly #stored: readonly Watch[]
  readonly #rehearsing: Rehearsing
  readonly #storeReader: StoreReader
  readonly #restoring: Restoring
  readonly #seeding: Seeding
  readonly #holeCloser: HoleCloser
  readonly #binlogArchiver: BinlogArchiver
  readonly #listeners = new Map<StreamListener, Follower>()
  #heartbeat: Timer | null = null
  #publishing = false
  #readyUntilMs = -Infinity

  private constructor(ports: AgentPorts, file: StoredStateFile, volumeStayed: boolean) {
    const { world, process, server, volume, timings, backups = null } = ports
    const changed = () => this.#publish()
    const notices = new Notices(world.clock, ports.log)
    this.#parts = {
      tail: nearTail({
        transport: ports.transport,
        cluster: ports.config.cluster,
        deadlineMs: timings.orderDeadlineMs,
      }),
      ...ports,
      run: world.random.hex(16),
      firstIncarnation: file.current.incarnation,
      file,
      observer: new Observer({ process, server, volume, timings, clock: world.clock, timers: world.timers }, () =>
        this.#observed(),
      ),
      notices,
      asks: new Asks(world, changed),
      answersAlone: answersAloneIn(ports.config.mode),
      clientCertificate: ports.certificateFolders
        ? new ClientCertificate(ports.certificateFolders, { process, server, notices, world }, () => this.#observed())
        : null,
      routers: () => [...this.#listeners.values()].filter((follower) => follower === 'router').length,
      changed,
      wake: () => this.#converger.wake(),
      facts: new FactLog(world.clock),
      runs: new RunLog(world.clock),
      ...nothingKnown(world.clock.monotonicMs()),
    }
    learn(this.#parts, {
      fact: 'agentStarted',
      asPrimary: file.current.assignment?.role === 'primary',
      trustsAssignment: volumeStayed || !isDown(process),
    })
    this.#watches = new Watches(world, (code, sentence) => notices.add(code, sentence))
    this.#converger = new Converger(this.#parts, changed)
    this.#lease = new Lease(this.#parts, () => this.#leaseChanged())
    this.#binlogs = new BinlogKeeper(this.#parts)
    this.#observations = new ObservationBuilder(this.#parts, this.#lease, regentVersion, backups !== null)
    this.#silence = new SilenceWatch(this.#parts)
    this.#hung = new HungServerWatch(this.#parts)
    this.#lockedOut = new LockedOutWatch(this.#parts)
    this.#events = new EventKeeper(this.#parts)
    this.#needs = new NeedsKeeper(this.#parts, {
      alone: (task) => this.#converger.alone(task),
      schemaIsNew: () => this.#events.forget(),
    })
    this.#answerWatches = [PurgedNote, GtidResetWatch, ImpossibleCountWatch].map((Watch) => new Watch(this.#parts))
    this.#leftover = new LeftoverCopy(this.#parts)
    this.#termination = new Termination(this.#parts, this.#converger, ports.termination ?? null)
    this.#backUp = new BackUp(this.#parts, backups)
    this.#rehearsing = new Rehearsing(this.#parts, backups)
    this.#restoring = new Restoring(this.#parts, this.#converger, backups)
    this.#holeCloser = new HoleCloser(this.#parts, backups)
    this.#storeReader = new StoreReader(this.#parts, backups)
    this.#stored = [
      new StoreWatch(this.#parts, backups),
      new StoreAcquaintance(this.#parts, backups),
      new RetentionWatch(this.#parts, backups),
    ]
    this.#binlogArchiver = new BinlogArchiver(this.#parts, backups)
    this.#seeding = new Seeding(this.#parts, this.#converger, backups)
    const desk = new OrderDesk(
      {
        parts: this.#parts,
        converger: this.#converger,
        seeding: this.#seeding,
        restoring: this.#restoring,
      },
      {
        parts: this.#parts,
        lease: this.#lease,
        watches: this.#watches,
        backUp: this.#backUp,
        rehearsing: this.#rehearsing,
        holeCloser: this.#holeCloser,
        storeReader: this.#storeReader,
        heardOfLeaving: () => this.#termination.watch(this.#watches),
      },
    )
    this.orders = desk.routes((steps): OrderAnswer => {
      this.#publish()
      return { observation: this.observation(), steps }
    })
  }

  /**
   * Reads what earlier agents of this volume stored, finds their mysqld, and notes whether what was written and not
   * synced is still there: the machine may have crashed in between, or the volume been cut off (docs/why/safety.md, "A
   * machine that crashed" and "A volume that went back in time").
   */
  static async create(ports: AgentPorts): Promise<Agent> {
    const { random } = ports.world
    const bootId = await ports.machine.bootId()
    const file = await StoredStateFile.open(ports.disk, ports.stateFile, () => freshState(random.hex(12), bootId))
    const medium = await ports.medium.read()
    const before = file.current
    const lost = before.bootId === bootId ? whyCacheIsLost(before.medium, medium) : say`the machine crashed`
    const forgets = lost !== null && !before.stoppedInOrder && before.assignment?.role === 'replica'
    await file.update({
      bootId,
      medium,
      forgetful: before.forgetful || forgets,
      ...newIncarnation(before, random.hex(16)),
      ...(before.bootId === bootId ? {} : { leaseUntilMs: undefined }),
    })
    await ports.process.adopt()
    const agent = new Agent(ports, file, before.medium !== null && lost === null)
    if (forgets)
      agent.#parts.notices.add(
        'ForgetfulReplica',
        say`${lost} and it did not stop in order before: it counts for nothing until it has caught up`,
      )
    return agent
  }

  async start(): Promise<void> {
    const { process, observer, timings, world, clientCertificate, file, volume } = this.#parts
    await this.#restoring.takeUp()
    await this.#rehearsing.removeLeftovers()
    await volume.setUnusedAside({ needsBeside: file.current.unproven })
    void this.#dropUnused()
    if (process.state === 'dead') await this.#judgeEnding()
    await clientCertificate?.start()
    process.onChange(() => this.#processChanged())
    observer.start(this.#watches)
    this.#lease.start()
    this.#watches.every(binlogLookMs, [this.#binlogs])
    this.#termination.start(this.#watches)
    this.#heartbeat = world.timers.every(timings.heartbeatMs, () => this.#beat())
    this.#watches.every(tendMs, [
      { name: 'space on the disk', look: () => guardSpace(this.#parts) },
      this.#events,
      this.#leftover,
      this.#binlogArchiver,
      new Heartbeat(this.#parts),
      this.#needs,
      new GivenGtidsWatch(this.#parts),
      this.#hung,
      this.#lockedOut,
      ...this.#stored,
      { name: 'a goal that is not reached', while: () => this.#hasGoal(), look: () => this.#converger.wake() },
    ])
    this.#converger.mode.start(this.#watches)
    this.#converger.wake()
  }

  /** As long as that takes: hundreds of gigabytes may be there. */
  async #dropUnused(): Promise<void> {
    const { volume, notices } = this.#parts
    try {
      if (await volume.dropUnused())
        notices.add(
          'CopyRemoved',
          say`what an earlier agent left of a copy, or of data that a copy replaced, is removed`,
        )
    } catch (error) {
      notices.failed('CopyRemoved', say`what an earlier agent left of a copy could not be removed`, error)
    }
  }

  stop(): void {
    this.#watches.stop()
    this.#backUp.stop()
    this.#rehearsing.stop()
    this.#holeCloser.stop()
    this.#storeReader.stop()
    this.#restoring.stop()
    this.#seeding.stop()
    this.#binlogArchiver.stop()
    this.#parts.expulsion?.rest()
    this.#converger.stop()
    this.#lease.stop()
    this.#parts.clientCertificate?.stop()
    this.#parts.observer.stop()
    this.#heartbeat?.cancel()
    this.#parts.server.disconnect()
  }

  observation(): Observation {
    return this.#observations.build()
  }

  /** What it got to know last: the oldest first. */
  get facts(): readonly FactView[] {
    return this.#parts.facts.list
  }

  subscribe(listener: StreamListener, follower: Follower = 'manager'): () => void {
    this.#listeners.set(listener, follower)
    return () => this.#listeners.delete(listener)
  }

  isLive(): boolean {
    return true
  }

  /**
   * The server does what it is assigned to do, or did so a moment ago. A replica whose primary died serves reads while
   * it is told whom to follow; and a pod that is not ready for an instant is a change of Services, which may hold up by
   * a second the one that moves writes to the new primary (kube-proxy's minimum between two changes).
   */
  isReady(): boolean {
    const { course, process, world } = this.#parts
    const nowMs = world.clock.monotonicMs()
    if (course.converged.done) this.#readyUntilMs = nowMs + readyGraceMs
    return process.state === 'running' && nowMs < this.#readyUntilMs
  }

  /** What can be asked of this agent by the names of KubeBlocks' lifecycle actions. */
  builtInActions(): readonly BuiltInAction[] {
    this.#termination.watch(this.#watches)
    return builtInActions(this.#parts)
  }

  metrics(): string {
    return agentMetrics(this.observation())
  }

  #processChanged(): void {
    const { process, observer, server, file } = this.#parts
    if (process.state === 'dead' || process.state === 'exiting') {
      this.#readyUntilMs = -Infinity
      learn(this.#parts, { fact: 'mysqldDied', asPrimary: file.current.assignment?.role === 'primary' })
      observer.forget()
      server.disconnect()
      void this.#judgeEnding()
      return
    }
    learn(this.#parts, { fact: 'mysqldLives' })
    if (process.state === 'stopped') this.#silence.look()
    this.#publish()
    this.#converger.wake()
  }

  /** Until it is judged the death is not shown: see `ending.ts`. */
  async #judgeEnding(): Promise<void> {
    if (!this.#parts.doubts.endingJudged) await judgeEndingFirst(this.#parts)
    learn(this.#parts, { fact: 'endingJudged' })
    this.#publish()
    this.#converger.wake()
  }

  #observed(): void {
    const { observer, process } = this.#parts
    for (const watch of this.#answerWatches) watch.look()
    // What its files said, or a promise, is older than what the server says of itself.
    if (observer.isFresh && process.state === 'running') learn(this.#parts, { fact: 'mysqldAnswered' })
    const isSilent = observer.silentMs > 0
    if (isSilent) this.#silence.look()
    this.#publish()
    // A pass asks the server, and one that failed is tried again after a moment.
    if (!isSilent && observer.server !== null) this.#converger.wake()
  }

  /** Nothing is new; the agent is there. */
  #beat(): void {
    for (const listener of this.#listeners.keys()) listener(null)
  }

  #hasGoal(): boolean {
    const { process, course, file, clientCertificate } = this.#parts
    const { forgetful, unsettled } = file.current
    const isReached = process.state === 'running' && course.converged.done && !forgetful && !unsettled
    return !isReached || clientCertificate?.isDue === true
  }

  #leaseChanged(): void {
    this.#publish()
    this.#converger.wake()
  }

  /** To everybody who listens, once for all changes of this moment. */
  #publish(): void {
    if (this.#publishing) return
    this.#publishing = true
    void Promise.resolve().then(() => {
      this.#publishing = false
      if (this.#listeners.size === 0) return
      const observation = this.observation()
      for (const listener of this.#listeners.keys()) listener(observation)
    })
  }
}
