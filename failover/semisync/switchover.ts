import { counted, duration, joined, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { errantOf } from '#topology/snapshot/comparison.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { maxBacklog } from '#topology/snapshot/lag.ts'
import { compareSeries, seriesOf } from '#topology/snapshot/series.ts'
import { instanceOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import { assignmentOrders, orderFor, peersOf } from '../steps/assignments.ts'
import { promiseAction, stragglers } from '../steps/promising.ts'
import { bump, changeRecord, commitTo } from '../steps/commit.ts'
import type { SwitchoverPlan } from '../flows/mode.ts'
import { step, type FlowStep } from '../steps/step.ts'
import { whyNotAcknowledged } from '../judge/primary/acknowledging.ts'
import { promisedBy, promiseHeard } from '../judge/election/promised.ts'
import { isPrimarySilent } from '../judge/primary/left-closed.ts'
import { preferredOf } from '../judge/election/election.ts'
import { demotionShare, undoingSteps, whyNoTimeFor } from '../judge/time-to-undo.ts'
import type { PromiseOrder } from '../protocol/order.ts'
import {
  countedMembers,
  gatheredMembers,
  nextRecord,
  type ClusterRecord,
  type SwitchoverIntent,
  recordedMembers,
} from '../protocol/record.ts'
import {
  departing,
  endpointOf,
  isFenced,
  isFollowing,
  isFollowingAsTold,
  isServing,
  liveView,
  names,
  viewOf,
  type LiveView,
  type Situation,
} from '../judge/situation.ts'
import { whyDoubted } from '../judge/data/doubted-data.ts'
import { lackedForGood, whyHoled } from '../judge/data/holes.ts'
import { judgePrimary } from '../judge/primary/verdict.ts'

/** Checks a switchover before anything is touched. Without `to` the one election would choose among those that stay. */
export function planSwitchover(situation: Situation, to: InstanceName | null, timeoutMs?: number): SwitchoverPlan {
  const { record } = situation
  const standing = whyNotNow(situation) ?? whyNoTimeFor(situation, to, timeoutMs ?? situation.spec.switchover.timeoutMs)
  if (standing !== null) return { refusal: standing }
  if (to !== null) {
    const refusal = whyNotTo(situation, to) ?? whyTooNew(situation, to)
    return refusal ? { refusal } : planFor(situation, memberNamed(record, to))
  }
  const staying = countedMembers(record).filter((member) => !departing(situation).includes(instanceOf(member)))
  const able = staying.filter((member) => whyNotTo(situation, instanceOf(member)) === null)
  const best = preferredOf(situation, able)
  if (best) return planFor(situation, best)
  const why = staying.map((member) => whyNotTo(situation, instanceOf(member)))
  return { refusal: say`no replica can take over: ${joined(why, '; ') || say`nobody is in the sync set`}` }
}

function planFor(situation: Situation, candidate: MemberId): SwitchoverPlan {
  const { record } = situation
  const [from, to] = [instanceOf(record.primary), instanceOf(candidate)]
  const gathered = whomToGather(situation, candidate)
  const grace = duration(situation.spec.switchover.graceMs)
  return {
    candidate,
    steps: [
      say`put the intent into the record (revision ${record.revision + 1})`,
      ...(gathered.length > 0
        ? [say`${names(gathered)} ${gathered.length === 1 ? say`connects` : say`connect`} to ${to} beforehand`]
        : []),
      ...undoingSteps(situation),
      say`${from} stops taking writes; running statements get ${grace}, then they are killed; it promises epoch ${record.epoch + 1}`,
      say`${to} catches up with its last transaction and promises`,
      say`commit: ${to} is primary of epoch ${record.epoch + 1}`,
      say`${to} opens, the others follow it, the route moves`,
    ],
  }
}

function whyNotNow(situation: Situation): Sentence | null {
  const { record } = situation
  if (record.intent) return say`a ${record.intent.kind} is under way`
  const verdict = judgePrimary(situation)
  if (verdict.opening !== undefined) return say`${verdict.sentence}; there is nothing to hand over yet`
  if (verdict.kind !== 'well') return say`the primary is not well: ${verdict.sentence}`
  const primary = liveView(situation.snapshot, record.primary)?.observation
  if (primary?.stored.promise !== record.epoch)
    return say`${instanceOf(record.primary)} has not taken epoch ${record.epoch} yet`
  if (record.acks === 0 && countedMembers(record).length === 0) return say`no replica is in the sync set`
  // The primary's agent would refuse to stop writes (`demotion.ts`): what asks by itself would ask again at once.
  return whyNotAcknowledged(situation)
}

function whyNotTo(situation: Situation, to: InstanceName): Sentence | null {
  const { record } = situation
  if (to === instanceOf(record.primary)) return say`${to} is the primary already`
  if (!peersOf(situation).some(({ instance }) => instance === to))
    return say`there is no instance ${to}; there are ${peersOf(situation)
      .map(({ instance }) => instance)
      .join(', ')}`
  const member = countedMembers(record).find((candidate) => instanceOf(candidate) === to)
  return member === undefined ? say`${to} is not in the sync set` : whyNotToMember(situation, to, member)
}

function whyNotToMember(situation: Situation, to: InstanceName, member: MemberId): Sentence | null {
  const { record, spec } = situation
  const view = liveView(situation.snapshot, member)
  if (!isFollowing(view, situation)) return say`${to} does not follow the primary`
  const otherData = whyOtherData(situation, view, liveView(situation.snapshot, record.primary))
  if (otherData !== null) return otherData
  if (isFenced(situation.notes, to)) return say`${to} is fenced`
  if (spec.policies[to]?.promotion === 'never') return say`the policy of ${to} is never`
  return whyTooFarBehind(to, view.observation.server?.channel, spec.maxLagSeconds)
}

/** Its data are not those of the primary, or may not be. */
function whyOtherData(situation: Situation, view: LiveView, primary: LiveView | undefined): Sentence | null {
  const { name, observation } = view
  const doubt = whyDoubted(observation.stored)
  if (doubt !== null) return say`${name} may not lead: ${doubt}`
  const holed = whyHoled(situation, view)
  if (holed !== '') return say`${name} ${holed}; it leaves the sync set and is seeded again by itself`
  if (primary === undefined) return null
  const errant = errantOf(observation, primary.observation)
  if (!errant.isEmpty()) return say`${name} has ${counted(errant.count(), 'errant transaction')}`
  const lacked = lackedForGood(view, primary)
  if (lacked.isEmpty()) return null
  const gtids = text(lacked.toString().slice(0, 120))
  return say`${name} lacks ${counted(lacked.count(), 'transaction')} that ${primary.name} has in no binlog (${gtids}); it is seeded again by itself`
}

/**
 * The oldest series leads while somebody of it can: a newer one could not be followed by it (decision 19). Without such
 * a candidate the newer one is all there is.
 */
function whyTooNew(situation: Situation, to: InstanceName): Sentence | null {
  const { record, snapshot } = situation
  const seriesAt = (member: MemberId) => seriesOf(liveView(snapshot, member)?.observation ?? { server: null })
  const own = seriesAt(memberNamed(record, to))
  const others = countedMembers(record).filter(
    (member) => !departing(situation).includes(instanceOf(member)) && compareSeries(seriesAt(member), own) < 0,
  )
  const older = others.find((member) => whyNotTo(situation, instanceOf(member)) === null)
  if (older === undefined) return null
  const other = instanceOf(older)
  return say`${to} runs MySQL ${own?.name ?? ''} and ${other} ${seriesAt(older)?.name ?? ''}, which cannot follow a newer one: update ${other} first, or let it lead`
}

function whyTooFarBehind(
  to: InstanceName,
  channel: { backlogTransactions: number; lagSeconds: number | null } | null | undefined,
  maxLagSeconds: number,
): Sentence | null {
  if (channel && channel.backlogTransactions > maxBacklog)
    return say`${to} has ${counted(channel.backlogTransactions, 'transaction')} to apply (at most ${maxBacklog})`
  return (channel?.lagSeconds ?? 0) > maxLagSeconds
    ? say`${to} lags ${channel?.lagSeconds} s (at most ${maxLagSeconds} s)`
    : null
}

function memberNamed(record: ClusterRecord, name: InstanceName): MemberId {
  return countedMembers(record).find((member) => instanceOf(member) === name) ?? record.primary
}

/**
 * Replicas that connect to the candidate before the primary is demoted, so that the candidate's first write is
 * acknowledged at once (decision 12). Enough replicas stay with the primary, the candidate among them, that its writes
 * go on.
 */
function whomToGather(situation: Situation, candidate: MemberId): readonly MemberId[] {
  const { record, snapshot } = situation
  const acknowledging = countedMembers(record).filter((member) => isFollowing(liveView(snapshot, member), situation))
  const spare = record.acks === 0 ? 0 : Math.max(0, acknowledging.length - record.acksWanted)
  return acknowledging.filter((member) => member !== candidate).slice(0, spare)
}

/** How long those who connect beforehand are waited for, at most; writes go on meanwhile. */
const gatherMs = 1_500

/** The first step: the intent, before anything is touched. */
export function beginSwitchover(
  situation: Situation,
  candidate: MemberId,
  request: Pick<SwitchoverIntent, 'request' | 'deadlineWallMs' | 'reason'>,
): FlowStep {
  const { manager, steadyWallMs } = situation
  const members = whomToGather(situation, candidate)
  const untilWallMs = steadyWallMs + Math.max(0, Math.min(gatherMs, (request.deadlineWallMs - steadyWallMs) / 3))
  const intent: SwitchoverIntent = {
    kind: 'switchover',
    by: manager,
    candidate,
    ...request,
    ...(members.length > 0 ? { gathering: { members, untilWallMs } } : {}),
  }
  const why = say`switching over to ${instanceOf(candidate)}: ${text(request.reason)}`
  return changeRecord(situation, why, { intent })
}

/**
 * A step of a switchover whose intent this manager put into the record. Until the commit the switchover can be undone.
 */
export function switchoverStep(situation: Situation, intent: SwitchoverIntent): FlowStep {
  const failure = whyGiveUp(situation, intent)
  if (failure !== null) return undoSwitchover(situation, failure.why, failure.timedOut)
  const { record } = situation
  const next = record.epoch + 1
  const primary = promiseHeard(situation, record.primary, next)
  if (!primary?.report.asPrimary) return gather(situation, intent) ?? demote(situation, intent)
  const candidate = promisedBy(situation, intent.candidate, next)
  const asked = countedMembers(record).filter(
    (member) => promisedBy(situation, member, next) === undefined && isOfThisEpoch(situation, member),
  )
  if (candidate === undefined) {
    const waitMs = Math.max(1, Math.floor((intent.deadlineWallMs - situation.steadyWallMs) / 2))
    const sentence = say`switching over: ${instanceOf(intent.candidate)} catches up with the last transaction of ${instanceOf(record.primary)} and promises epoch ${next}`
    // The others wait a moment too: S′ needs k members that hold everything. The commit does not wait longer for them
    // than for any straggler.
    const patience = (member: MemberId): number =>
      member === intent.candidate ? waitMs : Math.floor(situation.timings.stragglerMs / 2)
    const more = (member: MemberId): Partial<PromiseOrder> => {
      if (member === intent.candidate) return { prepare: true }
      return gatheredMembers(record).includes(member) ? { keepReceiverFrom: instanceOf(intent.candidate) } : {}
    }
    return step(
      sentence,
      asked.map((member) =>
        promiseAction(situation, member, next, {
          after: primary.report.holds,
          waitMs: patience(member),
          ...more(member),
        }),
      ),
    )
  }
  if (!candidate.holds.contains(primary.holds)) return fetchRest(situation, intent, primary.report.holds)
  const late = stragglers(situation)
  if (late !== null)
    return step(say`switching over to ${instanceOf(intent.candidate)} as soon as the others have promised`, [], {
      revisitMs: late,
    })
  // Whether a primary that fell silent since will follow nobody can tell.
  const promised = recordedMembers(record).flatMap((member) => promisedBy(situation, member, next) ?? [])
  const why = say`switched over: ${instanceOf(intent.candidate)} leads and holds everything ${instanceOf(record.primary)} has: ${text(intent.reason)}`
  return step(why, [{ kind: 'commit', next: commitTo(situation, candidate, promised, primary.holds), why }])
}

/** Its server runs as a replica of this epoch, whether it follows as it should at this moment or not. */
function isOfThisEpoch({ snapshot, record, timings }: Situation, member: MemberId): boolean {
  const view = liveView(snapshot, member)
  return (
    isServing(view, timings) &&
    view.observation.stored.assignment?.role === 'replica' &&
    view.observation.stored.assignment.epoch === record.epoch
  )
}

/** Undefined once everybody is connected to the candidate, or has been waited for long enough. */
function gather(situation: Situation, { candidate, gathering }: SwitchoverIntent): FlowStep | undefined {
  const missing = gathering?.members.filter((member) => !isGathered(situation, member)) ?? []
  const leftMs = (gathering?.untilWallMs ?? 0) - situation.steadyWallMs
  if (missing.length === 0 || leftMs <= 0) return undefined
  return step(
    say`switching over to ${instanceOf(candidate)}: ${names(missing)} ${missing.length === 1 ? say`connects` : say`connect`} to it first`,
    assignmentOrders(situation),
    { revisitMs: leftMs + 1 },
  )
}

function isGathered(situation: Situation, member: MemberId): boolean {
  return isFollowingAsTold(liveView(situation.snapshot, member), situation)
}

function whyGiveUp(situation: Situation, intent: SwitchoverIntent): { why: Sentence; timedOut: boolean } | null {
  const failed = situation.failedRequests.get(intent.request)
  if (failed !== undefined) return { ...failed, why: say`${text(failed.why)}` }
  if (situation.steadyWallMs > intent.deadlineWallMs) return { why: say`its deadline passed`, timedOut: true }
  const verdict = judgePrimary(situation)
  if (verdict.kind !== 'well' && verdict.kind !== 'unknown') return { why: verdict.sentence, timedOut: false }
  const why = whyNotAnyMore(situation, intent.candidate)
  return why === null ? null : { why, timedOut: false }
}

function whyNotAnyMore({ snapshot }: Situation, candidate: MemberId): Sentence | null {
  const view = liveView(snapshot, candidate)
  const name = instanceOf(candidate)
  if (view === undefined || view.observation.process !== 'running') return say`${name} is gone`
  const doubt = whyDoubted(view.observation.stored)
  return doubt === null ? null : say`${name} may not lead: ${doubt}`
}

function demote(situation: Situation, intent: SwitchoverIntent): FlowStep {
  const { record, spec } = situation
  const remainingMs = Math.max(1, intent.deadlineWallMs - situation.steadyWallMs)
  const name = instanceOf(record.primary)
  const order = {
    ...orderFor(situation, record.primary, record.epoch + 1),
    graceMs: Math.min(spec.switchover.graceMs, remainingMs),
    deadlineMs: Math.ceil(remainingMs * demotionShare),
  }
  return step(
    say`switching over to ${instanceOf(intent.candidate)}: ${name} stops taking writes`,
    [{ kind: 'demote', to: name, order }],
    { revisitMs: remainingMs + 1 },
  )
}

function fetchRest(situation: Situation, intent: SwitchoverIntent, until: string): FlowStep {
  const { record, timings } = situation
  const source = viewOf(situation.snapshot, record.primary)
  if (source === undefined) return undoSwitchover(situation, say`the old primary is gone`)
  const order = {
    ...orderFor(situation, intent.candidate, record.epoch + 1),
    from: endpointOf(source),
    until: parseGtidSet(until).toString(),
    deadlineMs: timings.orderDeadlineMs,
  }
  return step(say`switching over: ${instanceOf(intent.candidate)} fetches the rest from ${source.name}`, [
    { kind: 'fetch', to: instanceOf(intent.candidate), order },
  ])
}

/**
 * Takes the intent back. Before any promise the old primary just opens again; after promises were given the same
 * primary, S and k are committed in the next epoch.
 */
export function undoSwitchover(situation: Situation, why: Sentence, timedOut = false): FlowStep {
  const { record } = situation
  if (record.intent?.kind === 'switchover' && isPrimarySilent(situation)) return undoLater(situation, why)
  const sentence = say`switchover undone: ${why}; ${instanceOf(record.primary)} goes on as primary`
  const promisedAhead = situation.snapshot.instances.some(
    (view) => view.reachable && (view.observation?.stored.promise ?? 0) > record.epoch,
  )
  if (promisedAhead) return bump(situation, sentence, timedOut)
  return step(sentence, [{ kind: 'commit', why: sentence, next: nextRecord(record, { intent: null }), timedOut }])
}

/** Whether the primary was demoted is not known: the record keeps the intent, and any manager knows of the doubt. */
function undoLater(situation: Situation, why: Sentence): FlowStep {
  const name = instanceOf(situation.record.primary)
  const sentence = say`switchover not undone yet: ${why}; only its own agent, which is silent, can open ${name} again`
  return step(sentence, assignmentOrders(situation), { blocked: true, revisitMs: situation.timings.heartbeatMs })
}
