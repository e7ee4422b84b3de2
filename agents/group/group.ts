import { say, type Sentence } from '#common/sentence/sentence.ts'
import { groupAddress } from '#failover/protocol/group-address.ts'
import type { Assignment } from '#failover/protocol/assignment.ts'
import type { DemoteOrder, ExpelOrder, PromiseOrder } from '#failover/protocol/order.ts'
import type { Mode } from '../instance/agent-mode.ts'
import { learn } from '../instance/learn.ts'
import type { AnswersAlone, Parts } from '../instance/parts.ts'
import type { StoredState } from '../instance/stored-state.ts'
import type { View } from '../instance/pass.ts'
import { isDown } from '../ports/process.ts'
import type { Watches } from '#common/watch/watches.ts'
import type { GroupState } from '#topology/snapshot/observation.ts'
import { silentMembers } from '../instance/silent-members.ts'
import { lockLookMs, LockWatch } from '../guard/lock-watch.ts'
import { GroupLockNeeds } from './lock-needs.ts'
import { haveElected } from './election.ts'
import { leaveBeforeEnd, waitsToEnd } from './end.ts'
import { FirstMessages } from './first-messages.ts'
import { FrozenWatch } from './frozen.ts'
import { nextAsMember } from './membership.ts'
import { forgottenAfterMs, OldAddresses } from './old-addresses.ts'
import { ProtocolWatch } from './protocol-watch.ts'
import { beginToExpel } from './silent-member.ts'
import { SinglePrimaryWatch } from './single-primary.ts'
import type { NextPass, Step } from './steps.ts'
import { staysClosed, underPromise } from './under-promise.ts'
import { viewLookMs, ViewWatch } from './view-watch.ts'

/**
 * XCom dials a lost member again 0.1, 1.2, 3.3, 6.4, 10.5 s … after the loss (`sender_task` of `xcom_transport.cc`).
 * Until the others have dialled a member that joins, each write waits 0.25 s. A member that joins now is dialled after
 * 10.5 s.
 *
 * The dial after 6.4 s is too early. Twelve members joined after 5 s: eight of them stopped all writes once more, for
 * 0.6 to 2.9 s, and sent no message of their own meanwhile: where the next primary died then, clients waited 3 s. Forty
 * members joined after 6.5 or 8.5 s: none of them did. Some members that joined within 5 s were given up at the end of
 * those (four of eight).
 */
const dialledAgainMs = 8_500

/** Between two looks at who is in the group. */
const lookMs = 200

/** Members of one replication group (MySQL Group Replication, single-primary). The group elects who takes writes. */
export class Group implements Mode<Step> {
  /** The group decides what is acknowledged. */
  static readonly answersAlone: AnswersAlone = () => false
  readonly #parts: Parts
  readonly #frozen: FrozenWatch
  readonly #protocol: ProtocolWatch
  readonly #single: SinglePrimaryWatch
  readonly #first: FirstMessages
  readonly #addresses: OldAddresses
  readonly #views: ViewWatch
  readonly #locks: LockWatch
  /** Whom this agent has called silent last. */
  #silent = ''
  /** The mysqld that was seen to be a member last. */
  #memberPid: number | null = null

  constructor(parts: Parts) {
    this.#parts = parts
    this.#frozen = new FrozenWatch(parts)
    this.#protocol = new ProtocolWatch(parts)
    this.#single = new SinglePrimaryWatch(parts)
    this.#first = new FirstMessages(parts)
    this.#addresses = new OldAddresses(parts)
    this.#views = new ViewWatch(parts)
    this.#locks = new LockWatch(parts, new GroupLockNeeds(parts))
  }

  start(watches: Watches): void {
    const { process, world, timings, file } = this.#parts
    learn(this.#parts, { fact: 'groupMayBeStarting', mayBeStartingGroup: !isDown(process) })
    // The member of an earlier agent may have been lost a moment ago.
    if (file.current.assignment !== null) this.#joinsAfter(forgottenAfterMs)
    process.onChange(() => {
      this.#expelTheDead()
      // The next look may be later.
      if (process.state === 'stopped') world.timers.after(timings.stoppedMs + 1, () => watches.lookNow(this.#frozen))
    })
    watches.every(viewLookMs, [this.#views])
    watches.every(lookMs, [
      { name: 'who is in the group', look: () => this.#look() },
      { name: 'members that fell silent', look: () => this.#tellWhoIsSilent() },
      this.#first,
      this.#addresses,
      this.#frozen,
      this.#protocol,
      this.#single,
    ])
    watches.every(lockLookMs, [this.#locks])
  }

  /** The members that are to be asked once this mysqld is dead are known, and connected, before. */
  #look(): void {
    const { observer, process, expulsion } = this.#parts
    const group = observer.server?.group
    if (isOutside(group)) this.#left()
    if (group?.state !== 'ONLINE' || process.state !== 'running') return
    this.#memberPid = process.pid
    learn(this.#parts, { fact: 'memberSeen' })
    expulsion?.know(group)
  }

  /** The group has no member here whom it would miss once this mysqld ends. */
  #left(): void {
    const { expulsion, jobs } = this.#parts
    if (this.#memberPid !== null) this.#joinsAfter(forgottenAfterMs)
    this.#memberPid = null
    if (jobs.expelling === null) expulsion?.rest()
  }

  #joinsAfter(ms: number): void {
    learn(this.#parts, { fact: 'joinsNotBefore', untilMs: this.#parts.world.clock.monotonicMs() + ms })
  }

  /** Nothing else of this instance changes when another member falls silent. */
  #tellWhoIsSilent(): void {
    const silent = silentMembers(this.#parts).join()
    if (silent === this.#silent) return
    this.#silent = silent
    this.#parts.changed()
  }

  /** The kernel has ended this mysqld: the group need not wait for its member. */
  #expelTheDead(): void {
    const { process, expulsion, notices, config, changed, wake } = this.#parts
    const isDead = process.state === 'dead' || process.state === 'exiting'
    if (isDead) learn(this.#parts, { fact: 'groupMayBeStarting', mayBeStartingGroup: false })
    if (!isDead || this.#memberPid === null || this.#memberPid !== process.pid) return
    this.#memberPid = null
    this.#joinsAfter(dialledAgainMs)
    if (expulsion === undefined) return
    const until = expulsion.expel(groupAddress(config)).then((sentence) => {
      expulsion.rest()
      notices.add('GroupMemberExpelled', sentence)
      learn(this.#parts, { fact: 'waitEnded', wait: 'expelling' })
      changed()
      wake()
    })
    learn(this.#parts, { fact: 'waitBegan', wait: 'expelling', until })
  }

  next(view: View, assignment: Assignment): NextPass {
    const { server: state, jobs } = view
    if (state?.group === undefined || assignment.group === undefined) return { next: 'after a look' }
    if (isOutside(state.group) && this.#memberPid !== null) {
      this.#left()
      return { next: 'at once' }
    }
    const { startingGroup, groupFailure: failure } = jobs
    return nextAsMember(view, {
      assignment,
      task: assignment.group,
      state,
      group: state.group,
      isStarting: startingGroup !== null,
      failure,
    })
  }

  /** What the group did is seen by a look alone. */
  isReadyFor(): boolean {
    return false
  }

  underPromise(view: View): NextPass | null {
    return underPromise(view)
  }

  staysClosed(view: View): NextPass {
    return staysClosed(view)
  }

  async promise(order: PromiseOrder): Promise<void> {
    const { file } = this.#parts
    learn(this.#parts, { fact: 'promised', isNew: file.current.promise !== order.epoch, receiverKept: false })
    await file.update({ promise: order.epoch, revision: order.revision })
  }

  async prepareToLead(): Promise<void> {}

  demote(order: DemoteOrder): Promise<void> {
    return haveElected(this.#parts, order, this.#frozen)
  }

  expel(order: ExpelOrder): void {
    beginToExpel(this.#parts, order)
  }

  async stepDown(): Promise<void> {}

  waitsToEnd(waitedMs: number): Sentence | null {
    return waitsToEnd(this.#parts, waitedMs)
  }

  /** A member that is just joining counts as in the group. What began to be seeded holds nothing for the group. */
  whyNotSeeded(): Sentence | null {
    const { process, observer, jobs, file } = this.#parts
    const state = process.state === 'running' ? (observer.server?.group?.state ?? 'OFFLINE') : 'OFFLINE'
    const isStarting = jobs.startingGroup !== null || (jobs.mayBeStartingGroup && !file.current.seeding)
    return isStarting || state !== 'OFFLINE' ? say`it is still in its replication group` : null
  }

  /** A commit that waits for its group is acknowledged by the group, or not at all. */
  isKilledAtEnd(): boolean {
    return false
  }

  leave(): Promise<void> {
    return leaveBeforeEnd(this.#parts)
  }

  /** What a member has in its binlog the group has agreed on: there is no tail. */
  marksOfPrimary(): Partial<StoredState> {
    return {}
  }
}

function isOutside(group: GroupState | undefined): boolean {
  return group?.state === 'OFFLINE' || group?.state === 'ERROR'
}
