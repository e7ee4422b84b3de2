import { counted } from '#common/text/words.ts'
import { nobodyAnswers, recordInDoubt } from '../flows/doubtful-record.ts'
import { routeActions } from '../flows/route.ts'
import { analyse } from '#topology/analysis/analyse.ts'
import { describeLag, isBehind } from '#topology/snapshot/lag.ts'
import { instanceOf, type InstanceName } from '#topology/snapshot/member.ts'
import { assignmentOrders } from '../flows/assignments.ts'
import { bootstrapStep } from './bootstrap.ts'
import { failoverStep, restartInPlace, withoutForeignIntent } from './crash-failover.ts'
import { bump } from '../flows/commit.ts'
import { besides, soonest, step, type FlowStep } from '../flows/step.ts'
import type { Action, Analyses, Decision } from '../protocol/decision.ts'
import { whyNothingToMend } from '../judge/acknowledging.ts'
import { revocation, revocationQuorum } from '../judge/durability.ts'
import { describeDowntime, downtimesAt, untilADowntimeEnds } from '../judge/downtime.ts'
import { isToBeStarted } from '../judge/elected-set.ts'
import { budgetSentence, failoverBudget, whySpent } from '../judge/failover-budget.ts'
import { isSafePossible, whyNeverTo } from './failover-target.ts'
import { planForcedBootstrap } from './forced-bootstrap.ts'
import { leaveWaiting } from './primary-alone.ts'
import type { Mode } from '../flows/mode.ts'
import type { ClusterRecord, Intent } from '../protocol/record.ts'
import { emptyingStep } from '../flows/emptying.ts'
import { handOverStep, handOverWaits } from '../flows/hand-over.ts'
import { forcedFailoverStep } from './forced-failover.ts'
import { passwordsOrders } from '../flows/passwords.ts'
import { renounceOrders } from '../flows/renouncing.ts'
import { reseedStep } from '../flows/reseeding.ts'
import { whyHoled } from '../judge/holes.ts'
import { copiesDue } from '../judge/seeding-plan.ts'
import { scalingStep, withMissingMadeAgain } from '../flows/scaling.ts'
import {
  isFenced,
  isServing,
  liveView,
  liveViews,
  switchoverAsked,
  type DecisionInput,
  type LiveView,
  type Request,
  type Situation,
} from '../judge/situation.ts'
import { syncSetShortfall, syncSetStep } from './sync-set.ts'
import { beginSwitchover, planSwitchover, switchoverStep, undoSwitchover } from './switchover.ts'
import { callsForFailover, isWell, judgePrimary, type Verdict } from '../judge/verdict.ts'

/** What Regent decides and plans for a cluster that replicates semi-synchronously. */
export const semisync: Mode = {
  decide: decideSemisync,
  analyse: analyseSemisync,
  planSwitchover,
  beginSwitchover,
  judge: judgePrimary,
  whyNothingToMend,
  stepsOfFailover,
  whyNeverTo,
  isSafePossible,
  planForcedBootstrap,
}

function stepsOfFailover({ record }: Situation, to: InstanceName | null): readonly string[] {
  return [
    `${revocationQuorum(record) ?? 'the primary’s agent'} of the sync set must promise epoch ${record.epoch + 1}`,
    `${to ?? 'the one that holds everything acknowledged'} is committed as primary`,
    'it opens, the others follow, the route moves',
  ]
}

/**
 * The decision for a cluster that replicates semi-synchronously. What concerns the primary comes before everything
 * else.
 */
function decideSemisync(input: DecisionInput): Decision {
  return revisitedBy(untilADowntimeEnds(input.notes, input.wallMs), flowStep(input))
}

function revisitedBy(ms: number | null, flow: FlowStep): FlowStep {
  return ms === null ? flow : { ...flow, revisitMs: Math.min(ms, flow.revisitMs ?? ms) }
}

function flowStep(input: DecisionInput): FlowStep {
  const nobody = nobodyAnswers(input)
  if (nobody !== null) return nobody
  if (input.record === undefined) return bootstrapFlow(input)
  const situation: Situation = { ...input, record: input.record }
  const doubtful = recordInDoubt(situation)
  if (doubtful !== null) return doubtful
  const always = [...routeActions(situation), ...renounceOrders(situation)]
  const flow = primaryFlow(situation)
  return { ...flow, actions: [...always, ...flow.actions, ...passwordsOrders(situation)] }
}

function bootstrapFlow(input: DecisionInput): FlowStep {
  const next = bootstrapStep(input)
  return next.actions.length === 0 && !next.blocked ? next : { ...next, flow: 'bootstrap' }
}

function primaryFlow(situation: Situation): FlowStep {
  const { record, requests } = situation
  const verdict = judgePrimary(situation)
  const forced = requests.find((request) => request.kind === 'failover')
  if (forced && whyNothingToMend(situation) === null)
    return withMissingMadeAgain(situation, { ...forcedFlow(situation, verdict, forced), flow: 'failover' })
  if (verdict.kind === 'starting' && isToBeStarted(situation))
    return step(
      `restarting ${instanceOf(record.primary)}: ${verdict.sentence}`,
      assignmentOrders(situation, { mayRestart: true }),
      { flow: 'restart' },
    )
  if (callsForFailover(verdict)) return withMissingMadeAgain(situation, crashFlow(situation, verdict))
  return record.intent ? intentFlow(situation, record.intent) : flowOfPrimaryThatIsThere(situation, verdict)
}

function flowOfPrimaryThatIsThere(situation: Situation, verdict: Verdict): FlowStep {
  const { record, notes } = situation
  const primary = liveView(situation.snapshot, record.primary)
  if (isUpForSure(verdict) && promisedInVain(situation))
    return bump(
      situation,
      `giving members that promised ahead back to ${instanceOf(record.primary)}: ${verdict.sentence}`,
    )
  const asked = verdict.kind === 'well' ? askedSwitchover(situation) : undefined
  if (asked) return asked
  if (notes.paused) return steady(situation, verdict, `paused: ${notes.paused.reason}`)
  const wished = primary && verdict.kind === 'well' ? wishes(situation, primary) : undefined
  return wished === undefined ? steady(situation, verdict) : withAssignments(situation, wished)
}

/** A person asked: none of the gates holds it back. */
function forcedFlow(situation: Situation, verdict: Verdict, forced: Extract<Request, { kind: 'failover' }>): FlowStep {
  const stale = withoutForeignIntent(situation)
  if (stale) return stale
  if (isWell(verdict)) return leaveWaiting(situation, verdict, forced)
  return forced.acceptLoss
    ? forcedFailoverStep(situation, verdict, forced.to)
    : failoverStep(situation, verdict, forced.to)
}

/** What an intent leads to while the primary is there: a switchover of ours goes on, everything else is taken back. */
function intentFlow(situation: Situation, intent: Intent): FlowStep {
  if (intent.by !== situation.manager) return takeBack(situation)
  if (intent.kind === 'switchover') return { ...switchoverStep(situation, intent), flow: 'switchover' }
  return undoSwitchover(situation, 'the primary is back before the fetch ended')
}

/**
 * Gates before an automatic failover: a person's pause or fence, the policy, the budget of automatic failovers. Each
 * says so.
 */
function crashFlow(situation: Situation, verdict: Verdict): FlowStep {
  const stale = withoutForeignIntent(situation)
  if (stale) return stale
  const held = whyHeldBack(situation, verdict)
  if (held === null) {
    const next = failoverStep(situation, verdict, verdict.opening?.successor ?? null)
    // While it goes on nobody is told what the next commit makes obsolete; while it stands still an old primary must
    // hear of its successor.
    return next.flow === 'failover' ? next : withAssignments(situation, next)
  }
  const primary = liveView(situation.snapshot, situation.record.primary)
  const dead =
    primary !== undefined && primary.observation.process !== 'running' && primary.observation.process !== 'stopped'
  if (dead && !isHeldByPerson(situation)) return restartInPlace(situation, verdict, { missing: held })
  return step(`no failover: ${verdict.sentence}, but ${held}`, assignmentOrders(situation), {
    blocked: true,
    revisitMs: 1_000,
  })
}

function isHeldByPerson({ notes }: Situation): boolean {
  return notes.paused !== null
}

function whyHeldBack(situation: Situation, verdict: Verdict): string | null {
  const { notes, spec, record } = situation
  if (revocation(situation, record.epoch + 1).revoked) return null
  if (notes.paused) return `the cluster is paused (${notes.paused.reason}); regent failover does it by hand`
  const fence = notes.fenced.find(({ instance }) => instance === instanceOf(record.primary))
  if (fence?.keepPrimary) return `${fence.instance} is fenced on purpose; regent unfence ${fence.instance} ends that`
  // The failover that elected it has not ended.
  if (verdict.kind === 'unable') return null
  if (!spec.failover.automatic) return 'automatic failover is off; regent failover does it by hand'
  const spent = whySpent(failoverBudget(situation))
  return spent === null ? null : `${spent}; regent failover does it by hand`
}

/** Another manager's intent: replaced before anything else is done. */
function takeBack(situation: Situation): FlowStep {
  return undoSwitchover(situation, `the manager that began a ${situation.record.intent?.kind ?? 'change'} is gone`)
}

function isUpForSure(verdict: Verdict): boolean {
  return verdict.kind === 'well' || verdict.kind === 'agentLost'
}

function promisedInVain({ snapshot, record, inFlight }: Situation): boolean {
  const asking = [...inFlight.values()].some(({ order }) => order === 'promise' || order === 'demote')
  return !asking && liveViews(snapshot).some(({ observation }) => observation.stored.promise > record.epoch)
}

/** A person's switchover is done also while the cluster is paused. */
function askedSwitchover(situation: Situation): FlowStep | undefined {
  const request = switchoverAsked(situation)
  if (request === undefined) return undefined
  // Its time was looked at when it was taken; the primary's agent looks again, and says what it refuses.
  const plan = planSwitchover(situation, request.to, Infinity)
  if ('refusal' in plan) return undefined
  return {
    ...beginSwitchover(situation, plan.candidate, {
      request: request.id,
      deadlineWallMs: request.deadlineWallMs,
      reason: request.reason,
    }),
    flow: 'switchover',
  }
}

/** What is wished of a healthy cluster, most urgent first. */
function wishes(situation: Situation, primary: LiveView): FlowStep | undefined {
  const { record } = situation
  const { stored, converged } = primary.observation
  if (
    stored.assignment?.epoch !== record.epoch ||
    stored.revision < record.revision ||
    converged.revision < record.revision
  )
    return undefined
  return (
    handOverStep(situation, semisync) ??
    besides(
      emptyingStep(situation, primary),
      syncSetStep(situation, primary) ?? besides(scalingStep(situation, semisync), reseedStep(situation, primary)),
    ) ??
    handOverWaits(situation, semisync)
  )
}

function steady(situation: Situation, verdict: Verdict, prefix = ''): FlowStep {
  const shortfall = syncSetShortfall(situation)
  const { record, spec } = situation
  const primary = liveView(situation.snapshot, record.primary)
  const state = `no action: ${stateOfPrimary(situation, verdict)}, ${countedReplicas(situation)}`
  const behind = replicasBehind(situation)
  const budget = spec.failover.automatic ? failoverBudget(situation) : null
  const sentence = [prefix, state, behind, shortfall, copiesDue(situation, primary), budgetSentence(budget)]
    .filter((part) => part !== '')
    .join('; ')
  const closed =
    primary?.observation.server && !primary.observation.converged.done && verdict.opening === undefined
      ? `; ${primary.observation.converged.sentence}`
      : ''
  const budgetMs = budget?.moreAtWallMs == null ? null : budget.moreAtWallMs - situation.wallMs
  return step(sentence + closed, assignmentOrders(situation), {
    blocked: verdict.kind !== 'well',
    revisitMs: soonest(verdict.revisitMs, budgetMs),
  })
}

/**
 * Well is not healthy: one that a person fenced runs, and takes no writes. Where others testify, the sentence begins
 * with whom it is about.
 */
function stateOfPrimary({ notes, record }: Situation, verdict: Verdict): string {
  if (verdict.kind !== 'well') return verdict.sentence
  const name = instanceOf(record.primary)
  return isFenced(notes, name) ? `primary ${name} runs and is fenced by a person` : `primary ${verdict.sentence}`
}

/** Instances that are there: a member whose volume is gone may stand beside its successor for a while. */
function countedReplicas({ record, snapshot }: Situation): string {
  const replicas = snapshot.instances.map(({ name }) => name).filter((name) => name !== instanceOf(record.primary))
  const members = new Set(record.syncSet.map(instanceOf))
  return replicas.length === 0
    ? 'no replicas'
    : `${replicas.filter((name) => members.has(name)).length} of ${counted(replicas.length, 'replica')} in the sync set`
}

/**
 * They count: what they acknowledged they have received. They are not whole: a failover to one of them, and whoever
 * reads there, waits until it has applied it.
 */
function replicasBehind({ snapshot, record, timings, spec }: Situation): string {
  const behind = snapshot.instances.flatMap((view) => {
    const channel =
      isServing(view, timings) && view.observation.member !== record.primary ? view.observation.server?.channel : null
    return channel && isBehind(channel, spec.maxLagSeconds) ? [`${view.name} is ${describeLag(channel)}`] : []
  })
  return behind.join(', ')
}

function withAssignments(situation: Situation, flow: FlowStep): FlowStep {
  const already = new Set(flow.actions.map((action) => ('to' in action ? action.to : '')))
  const commits = flow.actions.some((action) => action.kind === 'commit')
  if (commits) return flow
  const orders: readonly Action[] = assignmentOrders(situation).filter(
    (action) => action.kind !== 'assign' || !already.has(action.to),
  )
  return { ...flow, actions: [...flow.actions, ...orders] }
}

function expectedBy(record: ClusterRecord | undefined) {
  if (record === undefined) return { primary: null, epoch: 0, revision: 0, syncSet: [], acks: 0 }
  const { primary, epoch, revision, syncSet, acks } = record
  return { primary: instanceOf(primary), epoch, revision, syncSet: syncSet.map(instanceOf), acks }
}

function analyseSemisync(input: DecisionInput): Analyses {
  const { record, notes, snapshot, timings, spec } = input
  const expected = {
    ...expectedBy(record),
    fenced: notes.fenced.map(({ instance }) => instance),
    paused: notes.paused !== null,
    passedOver: new Map(snapshot.instances.map((view) => [view.name, whyHoled(input, view)])),
    notesDamage: input.notesDamage ?? '',
    downtimes: new Map(downtimesAt(notes, input.wallMs).map((each) => [each.instance, describeDowntime(each)])),
  }
  return analyse(snapshot, expected, { frozenMs: timings.frozenMs, maxLagSeconds: spec.maxLagSeconds })
}
