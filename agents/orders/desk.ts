import type {
  AskAnswer,
  Assignment,
  DemoteOrder,
  EmptyOrder,
  ExpelOrder,
  FetchOrder,
  LeaderWord,
  LeaseConfirmation,
  LeaseVote,
  LeaseVoteRequest,
  LeavingAnswer,
  LeavingRequest,
  PasswordsOrder,
  PrimaryAssignment,
  PromiseOrder,
  RenounceOrder,
  ReplicaAssignment,
  ReseedOrder,
  Step,
} from '../../failover/protocol/order.ts'
import { leaveStage, lifeOf } from '../instance/life.ts'
import type { OrderName } from '../../failover/protocol/order.ts'
import { holdsText } from '../observe/observation.ts'
import type { Converger } from '../converge/converger.ts'
import { fetchMissing } from './fetching.ts'
import { keptOfElected, rememberElected } from '../doubts/elected-set.ts'
import type { Lease } from '../guard/lease.ts'
import { checkOrder, requireAddressee, type AnyOrder } from './checks.ts'
import { hearQuestion } from '../doubts/compared.ts'
import { judgeErrant } from '../doubts/judged-errant.ts'
import { forgetfulAs, hearOfForgetful } from '../doubts/forgetful.ts'
import type { Parts } from '../instance/parts.ts'
import { beginEmptying } from './emptying.ts'
import { beginPasswords } from './passwords.ts'
import { renounce } from './renouncing.ts'
import type { Seeding } from './reseeding.ts'
import { hearLeaving } from '../instance/leaving.ts'
import { notedNow, type StoredState } from '../instance/stored-state.ts'
import { RegentError } from '../../src/common/errors/errors.ts'
import { memberId } from '../../topology/snapshot/member.ts'

/** Carries out orders, one at a time: checked, written to disk, then done. */
export class Orders {
  readonly #parts: Parts
  readonly #converger: Converger
  readonly #seeding: Seeding
  readonly #lease: Lease

  constructor(parts: Parts, converger: Converger, seeding: Seeding, lease: Lease) {
    this.#parts = parts
    this.#converger = converger
    this.#seeding = seeding
    this.#lease = lease
  }

  /** Stores an assignment and makes a first pass at it. Peers, gates and source are exactly what it says. */
  assign(order: Assignment): Promise<readonly Step[]> {
    return this.#obey('assign', order, async () => {
      const { file, told, course, observer } = this.#parts
      const now = file.current.assignment
      const isNew = now?.epoch !== order.epoch || now.role !== order.role
      await this.#hear(order, now)
      await file.update({
        promise: Math.max(file.current.promise, order.epoch),
        revision: order.revision,
        assignment: withoutVolatile(order),
        ...this.#notedBy(order),
        ...(order.role === 'primary' ? this.#converger.mode.marksOfPrimary() : {}),
      })
      told.trustsAssignment = true
      if (isNew) course.converged = { revision: 0, done: false, sentence: 'newly assigned' }
      void judgeErrant(this.#parts, () => this.#errantIsJudged())
      await this.#converger.pass()
      if (observer.server !== null) void observer.refresh().catch(() => undefined)
    })
  }

  #errantIsJudged(): void {
    this.#parts.changed()
    this.#converger.wake()
  }

  /** What the order says and the disk does not keep. Another role ends what belongs to the one before. */
  async #hear(order: Assignment, now: Assignment | null): Promise<void> {
    const newEpoch = now?.epoch !== order.epoch
    if (newEpoch && now?.role === 'primary' && order.role === 'replica') await this.#converger.mode.stepDown()
    this.#dropPromiseReport()
    if (order.role === 'primary') this.#leads(order, now)
    else hearOfSource(this.#parts, order, newEpoch)
    rememberElected(this.#parts, order, newEpoch)
  }

  #leads(order: PrimaryAssignment, now: Assignment | null): void {
    const { told, doubts, file } = this.#parts
    // A server that its own agent killed to start it again needs nobody's word.
    told.errant = ''
    told.mayRestart = order.mayRestart || lifeOf(this.#parts).isRestarted
    // Who is promoted says what is what from now on; of a primary that goes on nobody can tell.
    doubts.gtidsReset = now?.role === 'primary' && (doubts.gtidsReset || file.current.gtidsReset)
  }

  async promise(order: PromiseOrder): Promise<readonly Step[]> {
    const steps = await this.#obey('promise', order, async () => {
      await this.#converger.mode.promise(order)
      await this.#converger.keepPromise()
    })
    if (order.prepare === true) void this.#converger.alone(() => this.#converger.mode.prepareToLead())
    return steps
  }

  demote(order: DemoteOrder): Promise<readonly Step[]> {
    return this.#obey('demote', order, () => this.#converger.mode.demote(order))
  }

  fetch(order: FetchOrder): Promise<readonly Step[]> {
    return this.#obey('fetch', order, async () => {
      await fetchMissing(this.#parts, order)
      await this.#converger.keepPromise()
    })
  }

  /** Archives and begins the seeding; the copy itself goes on in the background and shows in the observation. */
  reseed(order: ReseedOrder): Promise<readonly Step[]> {
    return this.#obey('reseed', order, () => this.#seeding.begin(order))
  }

  /**
   * A new member from now on. Whatever here accepts or acknowledges writes is stopped first: were it to die in between,
   * it would be told again.
   */
  renounce(order: RenounceOrder): Promise<readonly Step[]> {
    return this.#obey('renounce', order, () => renounce(this.#parts, order).then(() => this.#converger.pass()))
  }

  /**
   * Begins; the change itself goes on in the background, since it waits for acknowledgements, and shows in the
   * observation.
   */
  passwords(order: PasswordsOrder): Promise<readonly Step[]> {
    return this.#obey('passwords', order, async () => beginPasswords(this.#parts, order))
  }

  /** Begins; each waits for an acknowledgement in the background, and shows in the observation. */
  empty(order: EmptyOrder): Promise<readonly Step[]> {
    return this.#obey('empty', order, async () => beginEmptying(this.#parts, order))
  }

  /** Begins; the removal goes on in the background, since the group takes its time, and shows in a notice. */
  expel(order: ExpelOrder): Promise<readonly Step[]> {
    return this.#obey('expel', order, async () => this.#converger.mode.expel(order))
  }

  confirmLease(order: LeaseConfirmation): void {
    this.#hearLeader('lease', order)
    this.#lease.confirmedByManager(order)
  }

  /** A manager that leads is there. */
  takeWord(word: LeaderWord): void {
    this.#hearLeader('word', word)
    if (word.compare !== undefined) hearQuestion(this.#parts, word.compare)
  }

  /** What a manager says of what this agent asked for. */
  hearAnswer(answer: AskAnswer): void {
    this.#requireForHere('answer', answer)
    this.#parts.asks.answer(answer.id, answer)
  }

  #requireForHere(name: 'lease' | 'word' | 'answer', said: Pick<AnyOrder, 'cluster' | 'member'>): void {
    const { config, file } = this.#parts
    requireAddressee(name, said, {
      cluster: config.cluster,
      member: memberId(config.instance, file.current.volume),
    })
  }

  #hearLeader(name: 'lease' | 'word', said: LeaderWord): void {
    const { contact, world } = this.#parts
    this.#requireForHere(name, said)
    contact.managerHeardAtMs = world.clock.monotonicMs()
    if (said.forgetful !== undefined) hearOfForgetful(this.#parts, said.forgetful)
  }

  /** A peer has a caller who wants this instance to leave, or to come back. */
  hearLeaving({ cluster, instance, leaves }: LeavingRequest): LeavingAnswer {
    const { config } = this.#parts
    if (cluster !== config.cluster || instance !== config.instance)
      throw new RegentError(
        'REGENT_WRONG_MEMBER',
        `meant for ${instance} of cluster ${cluster}; this is ${config.instance} of cluster ${config.cluster}`,
      )
    return hearLeaving(this.#parts, leaves)
  }

  /** A peer asks whether its epoch may go on. */
  vote(request: LeaseVoteRequest): LeaseVote {
    const { config, file, contact, world, observer } = this.#parts
    if (request.cluster !== config.cluster)
      throw new RegentError(
        'REGENT_WRONG_MEMBER',
        `${request.asking} of cluster ${request.cluster} asks for a vote; this is ${config.instance} of cluster ${config.cluster}`,
      )
    contact.peersHeard.set(request.asking, world.clock.monotonicMs())
    return {
      granted: file.current.promise <= request.epoch,
      promise: file.current.promise,
      executed: file.current.seeding || file.current.unproven ? null : (observer.server?.executed ?? null),
    }
  }

  /** An assignment for this start is made by a manager that has noted it. */
  #notedBy({ run }: Assignment): Partial<StoredState> {
    const { file, firstIncarnation } = this.#parts
    return run === undefined || file.current.notedIncarnations.includes(file.current.incarnation)
      ? {}
      : notedNow(file.current, firstIncarnation)
  }

  #dropPromiseReport(): void {
    const { course, observer } = this.#parts
    if (course.promiseReport) observer.knownToHold(course.promiseReport.holds)
    course.promiseReport = null
    course.receiverKept = false
  }

  async #obey(name: OrderName, order: AnyOrder, act: () => Promise<void>): Promise<readonly Step[]> {
    const { clock } = this.#parts.world
    const arrived = clock.monotonicMs()
    return this.#converger.alone(async () => {
      const began = clock.monotonicMs()
      this.#check(name, order)
      this.#parts.contact.managerHeardAtMs = began
      // Whatever else it is told may leave its receiver otherwise than it was made ready.
      if (name !== 'assign') leaveStage(this.#parts, 'following')
      await act()
      return [
        { name: `${name}: waited`, ms: began - arrived },
        { name, ms: clock.monotonicMs() - began },
      ]
    })
  }

  #check(name: OrderName, order: AnyOrder): void {
    const { config, file, process, course, run, jobs, observer } = this.#parts
    const state = process.state === 'running' ? (observer.server?.group?.state ?? 'OFFLINE') : 'OFFLINE'
    checkOrder(name, order, {
      cluster: config.cluster,
      instance: config.instance,
      run,
      stored: file.current,
      process: process.state,
      promiseReport: course.promiseReport,
      holds: holdsText(this.#parts),
      inGroup: jobs.startingGroup !== null || state !== 'OFFLINE',
    })
  }
}

/**
 * Unknown ('') is not "nothing": a tail compared with nothing would be cut as a whole. Within an epoch what was known
 * before still holds.
 */
function hearOfSource(
  parts: Parts,
  { sourceHolds, catchUpFor, errant = '' }: ReplicaAssignment,
  newEpoch: boolean,
): void {
  const { told, doubts } = parts
  told.errant = errant
  // What another primary acknowledged the new one has, and more of it may be nowhere any more.
  if (newEpoch) {
    told.catchUpTo = null
    doubts.thrownAway = ''
  }
  if (sourceHolds === '' && !newEpoch) return
  told.sourceHolds = sourceHolds === '' ? null : sourceHolds
  if (catchUpFor === forgetfulAs(parts)) told.catchUpTo = told.sourceHolds
}

/**
 * Sets that grow with the data are not kept on disk, a permission to restart is for once, and the next start of the
 * agent is another.
 */
function withoutVolatile({ run: _, ...order }: Assignment): Assignment {
  if (order.role === 'replica') {
    const { errant: __, ...kept } = order
    return { ...kept, sourceHolds: '', sourcePurged: '' }
  }
  return {
    ...order,
    mayRestart: false,
    ...(order.elected === undefined ? {} : { elected: keptOfElected(order.elected) }),
  }
}
