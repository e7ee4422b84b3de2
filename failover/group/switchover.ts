import { duration, joined, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { allOf } from '#common/text/words.ts'
import type { GroupState, MemberState } from '#topology/snapshot/observation.ts'
import { viewOf } from './view.ts'
import { groupSeenBy } from '#topology/group/group-view.ts'
import { compareVersions } from '#topology/group/versions.ts'
import { instanceOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import type { SwitchoverPlan } from '../flows/mode.ts'
import { orderFor, peersOf } from '../steps/assignments.ts'
import { changeRecord, dropIntent } from '../steps/commit.ts'
import { step, type FlowStep } from '../steps/step.ts'
import { departing, isFenced, isLive, liveView, type LiveView, type Situation } from '../judge/situation.ts'
import { whyDoubted } from '../judge/data/doubted-data.ts'
import { downtimeOf } from '../judge/downtime.ts'
import { demotionShare, undoingSteps, whyNoTimeFor } from '../judge/time-to-undo.ts'
import { countedMembers, type SwitchoverIntent } from '../protocol/record.ts'

/** A candidate with more to apply would keep clients waiting (`BEFORE_ON_PRIMARY_FAILOVER`). */
const mostToApply = 10_000

/** Checks a switchover before anything is touched. Without `to` the best of those that stay. */
export function planSwitchover(situation: Situation, to: InstanceName | null, timeoutMs?: number): SwitchoverPlan {
  const standing = whyNotNow(situation) ?? whyNoTimeFor(situation, to, timeoutMs ?? situation.spec.switchover.timeoutMs)
  if (standing !== null) return { refusal: standing }
  if (to !== null) {
    const refusal = whyNotTo(situation, to)
    if (refusal !== null) return { refusal }
  }
  const joining = whyNotWhileViewChanges(situation)
  if (joining !== null) return { refusal: joining }
  const staying = countedMembers(situation.record).filter(
    (member) => !departing(situation).includes(instanceOf(member)),
  )
  const able =
    to === null
      ? staying.filter((member) => whyNotTo(situation, instanceOf(member)) === null)
      : countedMembers(situation.record).filter((member) => instanceOf(member) === to)
  const [candidate] = able.toSorted((a, b) => rank(situation, b) - rank(situation, a))
  if (candidate !== undefined) return planFor(situation, candidate)
  const why = staying.map((member) => whyNotTo(situation, instanceOf(member)))
  return { refusal: say`no member can take over: ${joined(why, '; ') || say`nobody else is in the group`}` }
}

/** No downtime comes before the policy, that before the priority, and the priority before what is left to apply. */
function rank(situation: Situation, member: MemberId): number {
  const { spec, snapshot } = situation
  const policy = spec.policies[instanceOf(member)]
  const applying = liveView(snapshot, member)?.observation.server?.group?.applying ?? 0
  const expected = downtimeOf(situation, instanceOf(member)) === undefined ? 0 : -1e12
  return expected + (policy?.promotion === 'prefer' ? 1e9 : 0) + (policy?.priority ?? 0) * 1e5 - Math.min(applying, 1e5)
}

function planFor(situation: Situation, candidate: MemberId): SwitchoverPlan {
  const { record, spec } = situation
  const [from, to] = [instanceOf(record.primary), instanceOf(candidate)]
  return {
    candidate,
    steps: [
      say`put the intent into the record (revision ${record.revision + 1})`,
      ...undoingSteps(situation),
      say`${from} has the group elect ${to}; transactions that run get ${duration(spec.switchover.graceMs)}, then their sessions are ended`,
      say`commit: ${to} is primary of epoch ${record.epoch + 1}, and the route moves`,
    ],
  }
}

function whyNotNow(situation: Situation): Sentence | null {
  const { record, snapshot, timings } = situation
  if (record.intent) return say`a ${record.intent.kind} is under way`
  if (record.group?.forming !== false) return say`the group is not formed yet`
  const { viewId, sentence } = viewOf(situation)
  if (viewId === '') return sentence
  const primary = liveView(snapshot, record.primary)
  if (primary === undefined)
    return say`the agent of ${instanceOf(record.primary)} is unreachable, and only that agent can have the group elect another primary`
  const seen = groupSeenBy(primary, timings.frozenMs)
  if (seen?.state !== 'ONLINE')
    return say`${instanceOf(record.primary)} is not online in the group: the group elects another primary by itself`
  return primary.observation.stored.promise === record.epoch
    ? null
    : say`${instanceOf(record.primary)} has not taken epoch ${record.epoch} yet`
}

/** MySQL elects nobody then (error 3910), and would have clients wait until it says so. */
function whyNotWhileViewChanges(situation: Situation): Sentence | null {
  const { members } = viewOf(situation)
  const named = (state: MemberState) => allOf([...members].flatMap(([name, its]) => (its === state ? [name] : [])))
  const [joining, silent] = [named('RECOVERING'), named('UNREACHABLE')]
  if (silent !== '') return say`MySQL elects nobody while the group does not hear ${silent}: that ends by itself`
  return joining === ''
    ? null
    : say`MySQL elects nobody while ${joining} recovers in the group: wait until that is online`
}

function whyNotTo(situation: Situation, to: InstanceName): Sentence | null {
  const { record } = situation
  if (to === instanceOf(record.primary)) return say`${to} is the primary already`
  const peers = peersOf(situation).map(({ instance }) => instance)
  if (!peers.includes(to)) return say`there is no instance ${to}; there are ${peers.join(', ')}`
  const member = countedMembers(record).find((one) => instanceOf(one) === to)
  const view = member && liveView(situation.snapshot, member)
  return isLive(view) ? whyNotToMember(situation, view) : say`${to} is no member of the group, or does not answer`
}

function whyNotToMember(situation: Situation, view: LiveView): Sentence | null {
  const { notes, spec, timings } = situation
  const { name } = view
  const seen = groupSeenBy(view, timings.frozenMs)
  if (seen?.state !== 'ONLINE') return say`${name} is ${seen?.state.toLowerCase() ?? 'silent'} in the group`
  const late = whyTooLate(name, seen, spec.maxLagSeconds)
  if (late !== null) return late
  if (isFenced(notes, name)) return say`${name} is fenced`
  const doubt = whyDoubted(view.observation.stored)
  if (doubt !== null) return say`${name} may not lead: ${doubt}`
  if (spec.policies[name]?.promotion === 'never') return say`the policy of ${name} is never`
  return whyTooNew(situation, view)
}

function whyTooLate(name: InstanceName, { applying, lagSeconds }: GroupState, maxLagSeconds: number): Sentence | null {
  if (applying > mostToApply) return say`${name} has ${applying} transactions to apply (at most ${mostToApply})`
  const behind = lagSeconds ?? 0
  return behind > maxLagSeconds
    ? say`${name} is ${Math.round(behind)} s behind (at most ${maxLagSeconds} s): clients would wait until it has applied that`
    : null
}

/**
 * A primary of a newer version than a secondary's would write what the secondary cannot apply (manual, "Upgrading Group
 * Replication").
 */
function whyTooNew({ snapshot, record, timings }: Situation, candidate: LiveView): Sentence | null {
  const primary = liveView(snapshot, record.primary)
  const members = primary === undefined ? [] : (groupSeenBy(primary, timings.frozenMs)?.members ?? [])
  const own = candidate.observation.server?.version ?? ''
  const older = members.find(({ version, state }) => state === 'ONLINE' && compareVersions(version, own) < 0)
  return older === undefined
    ? null
    : say`${candidate.name} runs MySQL ${own}, and a member at ${older.host} runs ${older.version}: the lowest version leads`
}

/** The first step: the intent, before anything is touched. */
export function beginSwitchover(
  situation: Situation,
  candidate: MemberId,
  request: Pick<SwitchoverIntent, 'request' | 'deadlineWallMs' | 'reason'>,
): FlowStep {
  const intent: SwitchoverIntent = { kind: 'switchover', by: situation.manager, candidate, ...request }
  const why = say`switching over to ${instanceOf(candidate)}: ${text(request.reason)}`
  return changeRecord(situation, why, { intent })
}

/**
 * The old primary has the group elect the candidate; that the group did so is seen in its view. An intent of a manager
 * that is gone is taken back: what that manager asked for may still happen, and is followed then.
 */
export function switchoverStep(situation: Situation, intent: SwitchoverIntent, manager: string): FlowStep {
  const { record, snapshot, spec, steadyWallMs } = situation
  if (intent.by !== manager) return dropIntent(situation, say`the manager that began it is gone`)
  const failed = situation.failedRequests.get(intent.request)
  if (failed !== undefined) return dropIntent(situation, say`${text(failed.why)}`)
  const leftMs = intent.deadlineWallMs - steadyWallMs
  if (leftMs <= 0) return dropIntent(situation, say`its deadline passed`)
  const candidate = liveView(snapshot, intent.candidate)
  const electUuid = candidate?.observation.server?.uuid
  if (electUuid === undefined) return dropIntent(situation, say`${instanceOf(intent.candidate)} is gone`)
  const name = instanceOf(record.primary)
  const order = {
    ...orderFor(situation, record.primary, record.epoch + 1),
    graceMs: Math.min(spec.switchover.graceMs, leftMs),
    deadlineMs: Math.max(1, Math.ceil(leftMs * demotionShare)),
    electUuid,
  }
  return step(
    say`switching over: the group elects ${instanceOf(intent.candidate)} in place of ${name}; ${duration(leftMs)} left`,
    [{ kind: 'demote', to: name, order }],
    { revisitMs: leftMs + 1 },
  )
}
