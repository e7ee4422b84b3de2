import { counted, duration, reported, say, text, type Sentence } from '#common/sentence/sentence.ts'
import type { Assignment, GroupTask } from '#failover/protocol/assignment.ts'
import { seedsFor, turnMs, turnOf } from './join-turn.ts'
import { agreedOn } from '#failover/settings/runtime.ts'
import { writesHere } from './single-primary.ts'
import { noticesWriting, proposedBy, seenClosed } from './opening.ts'
import { isLeadingGroup, isMemberAs, marksOfForming } from './stage.ts'
import { isForLackOfSpace } from '#topology/snapshot/no-space.ts'
import { unappliedOf } from '#topology/snapshot/holdings.ts'
import type { GroupState, ServerState } from '#topology/snapshot/observation.ts'
import { noticesOpening } from '../doubts/opened.ts'
import { whyClosed } from '../instance/known.ts'
import { notice, rest, when, type View } from '../instance/pass.ts'
import type { StoredState } from '../instance/stored-state.ts'
import { hasMajority, ownMember } from '#topology/group/majority.ts'
import type { NextPass, Step } from './steps.ts'

/** `group_replication_member_weight` is 50 unless somebody says otherwise: then the server uuid decides. */
const usualWeight = 50

/**
 * A group opens the member that it elects within milliseconds, once all that was received is applied. Where that does
 * not happen the agent does: the action of the group can be switched off by hand, and is not found under the SQL mode
 * PAD_CHAR_TO_FULL_LENGTH (both seen on 9.7).
 */
const groupOpensMs = 2_000

/** A member of a replication group, what it is told, and what its server says. */
export interface Membership {
  readonly assignment: Assignment
  readonly task: GroupTask
  readonly state: ServerState
  readonly group: GroupState
  /** The group is being joined, or formed, at this moment. */
  readonly isStarting: boolean
  /** Why the last start failed; '' where none did since this server was a member. */
  readonly failure: string
}

/** What an agent does by the state of its member: one row each. Pure. */
export function nextAsMember(view: View, member: Membership): NextPass {
  return (
    noticesFork(view, member) ??
    noticesWriting(view, member.state, member.group) ??
    byState(view, isInAnother(member) ? { ...member, task: { ...member.task, does: 'stayOut' } } : member)
  )
}

/**
 * A group was formed under another name meanwhile, without what this member may have acknowledged: nothing is
 * acknowledged in the old group any more.
 */
function isInAnother({ task, group }: Membership): boolean {
  return group.state !== 'OFFLINE' && group.state !== 'ERROR' && group.name !== task.name
}

/**
 * A member that forms a group is open for writes there, and what is written there may have the names (GTIDs) that the
 * group gives as well: nothing would tell such writes apart once this member has joined the others again.
 */
function noticesFork(view: View, { task, group }: Membership): NextPass | null {
  const isIn = group.state === 'ONLINE' || group.state === 'RECOVERING'
  if (task.fork !== true || !isIn || view.stored.forked) return null
  const doubt = noticesOpening(view, true, say`this instance was in a group that was formed`)
  return { ...doubt, store: { opened: true, forked: true }, next: 'at once' }
}

function byState(view: View, member: Membership): NextPass {
  const { group } = member
  switch (group.state) {
    case 'OFFLINE':
      return outside(view, member)
    case 'ERROR':
      return inError(member)
    case 'RECOVERING':
      return recovering(member)
    case 'UNREACHABLE':
      return waits(member, say`this member does not know its own state`)
    case 'ONLINE':
      return hasMajority(group) ? online(view, member) : withoutMajority(member)
  }
}

/** Closed for everybody. Then it joins, forms the group, or stays out, as it is told. */
function outside(view: View, member: Membership): NextPass {
  const closing = closes(member)
  if (closing.length > 0) return { steps: closing, next: 'after a look' }
  return { ...outsideAndClosed(view, member), ...seenClosed(view) }
}

function outsideAndClosed(view: View, member: Membership): NextPass {
  const { task, assignment } = member
  // A start that goes on in the server would make it a member that nobody counts on: to leave waits for its end.
  if (task.does === 'stayOut' && view.jobs.mayBeStartingGroup && !member.isStarting)
    return { steps: [{ do: 'leaveGroup' }, { do: 'outdate' }], next: 'after a look' }
  if (task.does === 'stayOut')
    return {
      ...waits(member, say`outside of the group: it waits until it is told to join`),
      steps: [...putsRight(member), ...joinsInTurnLater(view, assignment)],
    }
  // A removal goes by address once it is accepted: come back too soon, the new member would be removed.
  if (view.jobs.expelling !== null) return waits(member, say`the others remove the member that was here before`)
  const forms = task.does === 'form' && view.stored.formedEpoch < assignment.epoch
  // What is on disk may be from before it formed the group: a volume that went back in time does not know that.
  if (forms && !view.told.trustsAssignment)
    return waits(member, say`outside of the group: it waits to hear whether it is still to form the group`)
  return starts(view, member, forms ? assignment.epoch : null)
}

function joinsInTurnLater({ jobs }: View, { epoch }: Assignment): readonly Step[] {
  return when(jobs.joinsInTurn !== epoch, { do: 'know', fact: { fact: 'joinsInTurn', joinsInTurn: epoch } })
}

function starts(view: View, member: Membership, formsIn: number | null): NextPass {
  const forms = formsIn !== null
  const { jobs, guards, nowMs } = view
  const { assignment, isStarting, failure, group } = member
  const what = forms ? say`forms the group` : say`joins the group`
  const before = failure === '' ? '' : say`; before: ${reported(failure)}`
  if (isStarting) return waits(member, say`${what}${before}`)
  const turn = forms ? 0 : turnOf(view, assignment)
  if (turn > 0) return { steps: [{ do: 'waitForTurn', waitMs: turn * turnMs }], next: 'after a look' }
  if (guards.closed.space !== null && isForLackOfSpace(group.error))
    return {
      ...waits(member, say`the disk was full: it joins the group once there is space (${guards.closed.space})`),
      next: 'soon',
    }
  const pauseMs = Math.max(jobs.groupPause.untilMs, forms ? -Infinity : jobs.joinsNotBeforeMs) - nowMs
  if (pauseMs > 0) return { ...waits(member, say`${what} after a pause${before}`), next: { afterMs: pauseMs } }
  const { name, consistency } = member.task
  const settings = { name, consistency, seeds: seedsFor(view, assignment) }
  return {
    steps: [...putsRight(member), { do: 'joinGroup', settings, formsIn }],
    then: [{ fact: 'converged', revision: assignment.revision, done: false, sentence: what }],
    next: 'when something changes',
  }
}

/** Expelled, or stopped by an error: it leaves what is left of its membership and comes again. */
function inError(member: Membership): NextPass {
  const { error } = member.group
  const why = error === '' ? say`it was expelled, or lost its majority for long` : say`${text(error)}`
  return {
    steps: [
      ...closes(member),
      notice('GroupMemberInError', say`this member left its group: ${why}`),
      { do: 'leaveInError' },
      { do: 'outdate' },
    ],
    then: [
      { fact: 'converged', revision: member.assignment.revision, done: false, sentence: say`leaves the group: ${why}` },
    ],
    next: 'after a look',
  }
}

/**
 * Nobody reads what is older than what the group has acknowledged. A start that took long may end after the record let
 * this member go.
 */
function recovering(member: Membership): NextPass {
  if (member.task.does === 'stayOut') return { steps: [{ do: 'leaveGroup' }, { do: 'outdate' }], next: 'after a look' }
  const left = counted(member.group.applying, 'transaction')
  return { ...waits(member, say`recovers from another member: ${left} to apply`), steps: closes(member) }
}

/**
 * Nothing can be acknowledged here, and others may have gone on without this member: neither writes nor reads. The
 * member stays in the group: its majority may come back, or be restored.
 */
function withoutMajority(member: Membership): NextPass {
  const { members } = member.group
  const silent = members.filter(({ state }) => state === 'UNREACHABLE').length
  const sentence = say`closed: ${silent} of ${counted(members.length, 'member')} do not answer, which is no majority`
  return { ...waits(member, sentence), steps: closes(member, 'closeWithoutMajority'), next: 'soon' }
}

/** A member that the group counts on. What it may have forgotten it has got from the others. */
function online(view: View, member: Membership): NextPass {
  const { task, assignment, group, state } = member
  // To leave waits for a majority, and so does each look at the server meanwhile: nobody could close it then.
  if (task.does === 'stayOut')
    return {
      steps: [...closes(member, 'closeWithoutMajority'), { do: 'leaveGroup' }, { do: 'outdate' }],
      next: 'after a look',
    }
  const store = whatItKnowsNow(view.stored, member)
  const isPrimary = writesHere(state, group, assignment)
  // What a guard closes is writing: a secondary writes nothing for clients, and still serves reads.
  const closed = assignment.fenced ? say`fenced by a person` : isPrimary ? whyClosed(view.guards) : null
  const pass =
    closed !== null
      ? { ...waits(member, say`closed: ${closed}`), steps: closes(member) }
      : isPrimary
        ? asPrimary(view, member)
        : asSecondary(view, member)
  const putRight = { ...pass, steps: [...settingsOf(view, member), ...(pass.steps ?? [])] }
  return Object.keys(store).length === 0 ? putRight : { ...putRight, store }
}

/** What somebody changed while the server runs, and what the spec says otherwise since this server joined. */
function settingsOf({ stored }: View, member: Membership): readonly Step[] {
  const { group, task, assignment } = member
  const weight = stored.opened || assignment.fenced ? 0 : usualWeight
  const { consistency = task.consistency, weight: now = weight } = group
  return [
    ...putsRight(member),
    ...when(now !== weight, { do: 'setWeight', weight }),
    ...when(
      consistency !== task.consistency,
      { do: 'setConsistency', consistency: task.consistency },
      { do: 'outdate' },
    ),
  ]
}

/**
 * What somebody changed. The account of the group is written by the primary, for all members, and by each server that
 * is outside of the group for itself: with another password there nobody could join.
 */
function putsRight({ state, group, assignment }: Membership): readonly Step[] {
  const { accountTrouble: trouble, state: isIn } = group
  const isOpen = !state.superReadOnly && !state.readOnly
  const writes = trouble !== undefined && (isIn === 'OFFLINE' || (isOpen && writesHere(state, group, assignment)))
  const account: readonly Step[] = writes
    ? [{ do: isIn === 'OFFLINE' ? 'setOwnAccount' : 'setAccountOfAll', trouble }, { do: 'outdate' }]
    : []
  const changed = state.changedSettings ?? []
  const hasOld = [...agreedOn].some(
    (name) => state.persisted.includes(name) && !changed.some((one) => one.name === name),
  )
  return [
    ...when(changed.length > 0, { do: 'putSettingsRight', state }),
    ...when(hasOld, { do: 'forgetMode' }, { do: 'outdate' }),
    ...account,
  ]
}

/**
 * What this member knows now: that it formed the group, where its agent died before that was stored; and what it had
 * forgotten.
 */
function whatItKnowsNow(stored: StoredState, { task, assignment }: Membership): Partial<StoredState> {
  const formed = task.does === 'form' && stored.formedEpoch < assignment.epoch
  return {
    ...(formed ? marksOfForming(stored, assignment.epoch) : {}),
    ...(stored.forgetful ? { forgetful: false } : {}),
  }
}

/**
 * The group takes read-only off itself once the group has elected a primary. What its agent had closed only the agent
 * opens again, and not before everything received is applied.
 */
function asPrimary(view: View, member: Membership): NextPass {
  const { state, group, assignment } = member
  if (state.superReadOnly || state.readOnly) return opensAsPrimary(view, member)
  return {
    steps: [
      ...when(state.offlineMode, { do: 'letReadersIn' }, { do: 'outdate' }),
      ...when(!isLeadingGroup(view.life), { do: 'becomePrimary' }),
    ],
    then: [
      {
        fact: 'converged',
        revision: assignment.revision,
        done: true,
        sentence: say`primary of the group, ${onlineOf(group)}`,
      },
    ],
    next: state.offlineMode ? 'after a look' : 'when something changes',
  }
}

function opensAsPrimary(view: View, member: Membership): NextPass {
  const { state, group } = member
  const isBehind = group.applying > 0 || !unappliedOf(state).isEmpty()
  const byHand = isLeadingGroup(view.life)
  if (!isBehind && (state.offlineMode || byHand))
    return {
      steps: [
        { do: 'open' },
        { do: 'outdate' },
        ...when(byHand, notice('Opened', say`the primary was read-only by another hand and is open again`)),
      ],
      next: 'after a look',
    }
  return isBehind || group.certifying > 0 ? waitsForGroup(view, member) : opensForGroup(view, member)
}

function opensForGroup(view: View, member: Membership): NextPass {
  const { viewId } = member.group
  const since = view.course.electedSince
  if (since?.viewId !== viewId)
    return { ...waitsForGroup(view, member), now: [{ fact: 'elected', viewId, atMs: view.nowMs }] }
  if (view.nowMs - since.atMs < groupOpensMs) return waitsForGroup(view, member)
  const sentence = say`the group elected this member and left the server read-only for ${duration(groupOpensMs)}: its agent opens the server`
  return { steps: [{ do: 'open' }, { do: 'outdate' }, notice('Opened', sentence)], next: 'after a look' }
}

function waitsForGroup(view: View, member: Membership): NextPass {
  const { lockedBy } = view.guards
  const behind = lockedBy === null ? '' : say`: ${lockedBy}`
  return { ...waits(member, say`elected by the group: it applies what it received before${behind}`), next: 'soon' }
}

function asSecondary(view: View, member: Membership): NextPass {
  const { state, group } = member
  if (ownMember(group, state.uuid)?.role === 'PRIMARY') return asOneTooMany(member)
  if (isMemberAs(view.life)) return staysSecondary(member, [])
  // Until it was seen closed nobody is blamed for that: the group may be closing it.
  return state.superReadOnly
    ? staysSecondary(member, [{ do: 'becomeMember' }])
    : { steps: [{ do: 'closeAsMember' }], next: 'after a look' }
}

function staysSecondary({ state, group, assignment }: Membership, before: readonly Step[]): NextPass {
  const { superReadOnly, offlineMode } = state
  return {
    steps: [
      ...before,
      ...when(!superReadOnly, { do: 'closeForWrites' }, { do: 'outdate' }),
      ...when(offlineMode, { do: 'letReadersIn' }, { do: 'outdate' }),
    ],
    then: [
      { fact: 'beganHere', proposed: proposedBy(state, group) },
      {
        fact: 'converged',
        revision: assignment.revision,
        done: true,
        sentence: say`secondary of the group, ${onlineOf(group)}`,
      },
    ],
    next: offlineMode || !superReadOnly ? 'after a look' : 'when something changes',
  }
}

/** Another hand made several members write. What it writes until it is closed the group certifies: that is no doubt. */
function asOneTooMany(member: Membership): NextPass {
  const sentence = say`closed for writes: the group is in multi-primary mode by another hand, and another member goes on alone`
  const { revision } = member.assignment
  return {
    steps: [{ do: 'closeAsMember' }],
    then: [
      { fact: 'made', stage: { is: 'closed' } },
      { fact: 'converged', revision, done: false, sentence },
    ],
    next: 'soon',
  }
}

function onlineOf({ members }: GroupState): Sentence {
  return say`${members.filter(({ state }) => state === 'ONLINE').length} of ${counted(members.length, 'member')} online`
}

function closes(
  { state }: Membership,
  how: 'closeToEverybody' | 'closeWithoutMajority' = 'closeToEverybody',
): readonly Step[] {
  return when(!(state.superReadOnly && state.offlineMode), { do: how })
}

function waits({ assignment: { revision } }: Membership, sentence: Sentence): NextPass {
  return { ...rest, then: [{ fact: 'converged', revision, done: false, sentence }] }
}
