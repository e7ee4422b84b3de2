import { counted, heard, say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { analyseErrant, seedingOf } from '#topology/analysis/analyse-replicas.ts'
import { analyseServing } from '#topology/analysis/analyse-primary.ts'
import { critical, warning, type AnalysisInput } from '#topology/analysis/analysis-input.ts'
import type { Analysis } from '#topology/analysis/analysis.ts'
import {
  describeProcess,
  isFrozen,
  isHeard,
  isServing,
  type HeardView,
  type ServingView,
} from '#topology/analysis/instance-state.ts'
import { groupSeenBy, type GroupView } from '#topology/group/group-view.ts'
import { lackedBy } from '#topology/group/shown-group.ts'
import { describeLag, maxBacklog } from '#topology/snapshot/lag.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { MemberState } from '#topology/snapshot/observation.ts'
import { isGone, type InstanceView } from '#topology/snapshot/snapshot.ts'
import { abbreviated } from '#common/text/words.ts'
import type { ClusterRecord } from '../protocol/record.ts'
import { lowestIfBlocked } from './blocked-by-version.ts'

interface Known extends AnalysisInput {
  readonly group: GroupView
  readonly record: ClusterRecord
}

/**
 * What is wrong with each member, and with each instance that is no member. The primary of the record comes first: a
 * failover and its hooks are told by the loss of that one. A member that is to leave may be missing.
 */
export function analyseMembers(group: GroupView, record: ClusterRecord, within: AnalysisInput): readonly Analysis[] {
  const known: Known = { ...within, group, record }
  const leaving = record.leaving.map(instanceOf)
  const primary = instanceOf(record.primary)
  return within.snapshot.instances
    .toSorted((left, right) => Number(right.name === primary) - Number(left.name === primary))
    .filter(({ name }) => !leaving.includes(name))
    .flatMap((view) => {
      if (group.forks.includes(view.name)) return [inFork(view)]
      const found = group.viewId === '' ? withoutMajority(view, known) : withMajority(view, known)
      return [...found, ...wrongAccount(view, known)]
    })
}

function inFork({ name }: InstanceView): Analysis {
  const sentence = say`${name} is in a group that another hand formed (group_replication_bootstrap_group): it leaves that, and joins the others again as a copy of one of them`
  return critical('GroupFork', name, sentence)
}

/** The primary writes it anew for all members, and a server that is outside of the group for itself. */
function wrongAccount(view: InstanceView, { limits }: Known): readonly Analysis[] {
  const trouble = groupSeenBy(view, limits.frozenMs)?.accountTrouble
  if (trouble === undefined) return []
  const sentence = say`account regent_group of ${view.name} ${trouble}: by that account members log in to each other, and nobody joins through ${view.name} until it is put right`
  return [warning('GroupAccountWrong', view.name, sentence)]
}

/**
 * A group without a majority is one finding for all members. Members that are down, and members that were expelled
 * before, have findings beside it.
 */
function withoutMajority(view: InstanceView, { limits }: Known): readonly Analysis[] {
  if (!isHeard(view)) return [agentUnreachable(view, '')]
  if (isGone(view.observation) || isFrozen(view.observation, limits)) return [missing(view, limits)]
  return groupSeenBy(view, limits.frozenMs)?.state === 'ERROR' ? [inError(view)] : []
}

function withMajority(view: InstanceView, known: Known): readonly Analysis[] {
  const lost = lostPrimary(view, known)
  if (lost !== undefined) return [lost]
  const state = known.group.members.get(view.name)
  switch (state) {
    case 'ONLINE':
      return view.name === known.group.primary ? asPrimary(view, known) : asSecondary(view, known)
    case 'RECOVERING':
      return [recovering(view, known)]
    case 'UNREACHABLE':
      return [unreachable(view, known)]
    default:
      return outside(view, state, known)
  }
}

/** The group counts on it until the group notices. */
function asPrimary(view: InstanceView, known: Known): readonly Analysis[] {
  const { name } = view
  if (!isHeard(view))
    return [warning('PrimaryAgentUnreachable', name, say`the agent of primary ${name} is unreachable; ${heardByGroup}`)]
  const why = describeProcess(view.observation)
  if (isGone(view.observation))
    return [critical('DeadPrimary', name, say`primary ${name} is dead: ${why}; ${untilExpelled(known)}`)]
  if (isFrozen(view.observation, known.limits))
    return [critical('FrozenPrimary', name, say`primary ${name} is frozen: ${why}; ${untilExpelled(known)}`)]
  return isServing(view, known.limits)
    ? analyseServing(view, known)
    : [critical('NoWritablePrimary', name, say`primary ${name} takes no writes: ${why}`)]
}

/**
 * The primary of the record, in whose place the group has made another one: the failure that a failover begins with,
 * told until the record has followed.
 */
function lostPrimary(view: InstanceView, { group, record, limits }: Known): Analysis | undefined {
  const { name } = view
  if (group.primary === null || group.primary === name || instanceOf(record.primary) !== name) return undefined
  const successor = say`; the group made ${group.primary} primary in its place`
  if (!isHeard(view))
    return critical('UnreachablePrimary', name, say`primary ${name} was lost: its agent is unreachable${successor}`)
  if (isServing(view, limits)) return undefined
  const why = describeProcess(view.observation)
  return isFrozen(view.observation, limits)
    ? critical('FrozenPrimary', name, say`primary ${name} is frozen: ${why}${successor}`)
    : critical('DeadPrimary', name, say`primary ${name} is dead: ${why}${successor}`)
}

const heardByGroup = say`the rest of the group hears its server`

function untilExpelled({ group }: Known): Sentence {
  const others = [...group.members.values()].filter((state) => state === 'ONLINE').length - 1
  if (others < 1) return say`there is no other member that is online`
  return others * 2 <= group.members.size
    ? say`${others === 1 ? say`the other member is` : say`the other ${others} members are`} no majority, and can elect nobody without it`
    : say`${others === 1 ? say`the other member elects` : say`the other ${others} members elect`} another one once it is expelled`
}

function asSecondary(view: InstanceView, { limits }: Known): readonly Analysis[] {
  if (!isHeard(view)) return [agentUnreachable(view, say`; ${heardByGroup}`)]
  if (isServing(view, limits)) return applying(view, limits)
  return [missing(view, limits, say`; the group has not expelled it yet`)]
}

function applying({ name, observation }: ServingView, { maxLagSeconds }: Known['limits']): readonly Analysis[] {
  const { applying: left = 0, lagSeconds = null } = observation.server.group ?? {}
  if (lagSeconds !== null && lagSeconds > maxLagSeconds) {
    const behind = describeLag({ lagSeconds, backlogTransactions: left })
    return [warning('ReplicaLagging', name, say`${name} is ${behind}; ${maxLagSeconds} s are allowed`)]
  }
  if (left <= maxBacklog) return []
  const sentence = say`${name} has ${counted(left, 'transaction')} to apply; ${counted(maxBacklog, 'transaction')} are allowed, and from 25000 on the group slows its writers down`
  return [warning('ReplicaLagging', name, sentence)]
}

function recovering(view: InstanceView, { group, snapshot, limits }: Known): Analysis {
  const lacks = lackedBy(view, group.primary, snapshot)
  const own = groupSeenBy(view, limits.frozenMs)
  const progress =
    lacks === null
      ? say`how far it is nobody says`
      : say`it lacks ${counted(lacks, 'transaction')} of primary ${group.primary ?? ''}, and clients are kept out until it has them`
  const trouble = own === undefined || own.error === '' ? '' : say`; ${text(abbreviated(own.error))}`
  return warning(
    'GroupMemberRecovering',
    view.name,
    say`${view.name} recovers from another member: ${progress}${trouble}`,
  )
}

/** The group waits for it for a while and expels it then. */
function unreachable(view: InstanceView, { group, limits }: Known): Analysis {
  const why = isHeard(view)
    ? isServing(view, limits)
      ? say`its own agent hears its server`
      : describeProcess(view.observation)
    : say`its agent is unreachable as well`
  const what = say`the rest of the group does not hear ${view.name} and expels it unless that ends`
  return view.name === group.primary
    ? critical('UnreachablePrimary', view.name, say`${what}: ${why}`)
    : warning('GroupMemberUnreachable', view.name, say`${what}: ${why}`)
}

/** Not in the view of the majority, or there as one that left. */
function outside(view: InstanceView, state: MemberState | undefined, known: Known): readonly Analysis[] {
  const errant = isHeard(view) ? analyseErrant(view, known) : []
  if (!isHeard(view)) return [agentUnreachable(view, say`; it is missing in the group`)]
  const isInError = state === 'ERROR' || groupSeenBy(view, known.limits.frozenMs)?.state === 'ERROR'
  return [isInError ? inError(view) : (blocked(view, known) ?? missing(view, known.limits)), ...errant]
}

function blocked(view: HeardView, { group, snapshot, limits }: Known): Analysis | undefined {
  const primary = snapshot.instances.find(({ name }) => name === group.primary)
  const lowest = primary === undefined ? null : lowestIfBlocked(view, primary, limits.frozenMs)
  if (lowest === null) return undefined
  const own = view.observation.server?.version ?? ''
  const versions = say`it runs MySQL ${own}, and no member runs less than ${lowest}`
  const sentence = say`${view.name} is missing in the group, blocked by version: ${versions}. A lower version does not join a higher group: update ${view.name}`
  return warning('GroupMemberMissing', view.name, sentence)
}

function inError(view: HeardView): Analysis {
  const error = view.observation.server?.group?.error ?? ''
  const why = error === '' ? say`it was expelled, or lost its majority for long` : abbreviated(error)
  return warning('GroupMemberError', view.name, say`${view.name} left the group with an error: ${why}`)
}

function missing(view: HeardView, limits: AnalysisInput['limits'], rest: Said = ''): Analysis {
  const { observation, name } = view
  const why = isServing(view, limits)
    ? say`its agent: ${heard(observation.converged.sentence)}`
    : say`${describeProcess(observation)}${seedingOf(observation)}`
  return warning('GroupMemberMissing', name, say`${name} is missing in the group: ${why}${rest}`)
}

function agentUnreachable({ name, observation }: InstanceView, rest: Said): Analysis {
  return observation === null
    ? warning('InstanceUnreachable', name, say`the agent of ${name} was never heard by this manager${rest}`)
    : warning('InstanceUnreachable', name, say`the agent of ${name} is unreachable${rest}`)
}
