import { counted, heard, joined, say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { decideBy } from '../flows/deciding.ts'
import type { Decided } from '../steps/step.ts'
import { routeActions } from '../steps/route.ts'
import { analyse } from '#topology/analysis/analyse.ts'
import { describeLag, isBehind } from '#topology/snapshot/lag.ts'
import { instanceOf, type InstanceName } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { assignmentOrders } from '../steps/assignments.ts'
import { bootstrapStep } from '../flows/bootstrap.ts'
import type { ActsOf, FoundOf } from '../steps/acting.ts'
import { conditionOf, type Known } from './condition.ts'
import { failoverStep, safeFailoverStep } from './crash-failover.ts'
import { bump, withoutForeignIntent } from '../steps/commit.ts'
import { restartInPlace } from '../steps/restart-in-place.ts'
import { besides, soonest, step, type FlowStep } from '../steps/step.ts'
import type { Action, Findings } from '../protocol/decision.ts'
import { whyNothingToMend } from '../judge/primary/acknowledging.ts'
import { revocationQuorum } from '../judge/election/durability.ts'
import { describeDowntime, downtimesAt } from '../judge/downtime.ts'
import { budgetSentence, failoverBudget } from '../judge/election/failover-budget.ts'
import { unknownOf } from '../judge/election/forced-candidates.ts'
import { isSafePossible, whyNeverTo } from './failover-target.ts'
import { planForcedBootstrap } from '../flows/forced-bootstrap.ts'
import { leaveWaiting } from './primary-alone.ts'
import type { Mode } from '../flows/mode.ts'
import { sourceOf, type ClusterRecord } from '../protocol/record.ts'
import { emptyingStep } from '../flows/emptying.ts'
import { failbackStep } from '../flows/failback.ts'
import { handOverStep, handOverWaits } from '../flows/hand-over.ts'
import { forcedFailoverStep } from '../flows/forced-failover.ts'
import { passwordsOrders } from '../flows/passwords.ts'
import { renounceOrders } from '../flows/renouncing.ts'
import { reseedStep } from '../steps/reseeding.ts'
import { whyHoled } from '../judge/data/holes.ts'
import { copiesDue } from '../judge/seeding/seeding-plan.ts'
import { scalingStep, withMissingMadeAgain } from '../flows/scaling.ts'
import { isFenced, isServing, liveView, type DecisionInput, type LiveView, type Situation } from '../judge/situation.ts'
import { syncSetShortfall, syncSetStep, wantedAcks } from './sync-set.ts'
import { beginSwitchover, planSwitchover, switchoverStep, undoSwitchover } from './switchover.ts'
import { isWell, judgePrimary, type Verdict } from '../judge/primary/verdict.ts'

/** What Regent decides and plans for a cluster that replicates semi-synchronously. */
export const semisync: Mode = {
  decide: decideSemisync,
  analyse: analyseSemisync,
  planSwitchover,
  beginSwitchover,
  follows,
  judge: judgePrimary,
  whyNothingToMend,
  stepsOfFailover,
  whyNeverTo,
  unknownOf,
  isSafePossible,
  planForcedBootstrap,
}

/** Follows whom the record wants it to follow, in the record's epoch, both threads running. */
function follows({ member, stored, server }: Observation, record: ClusterRecord): boolean {
  const channel = server?.channel
  return (
    stored.assignment?.role === 'replica' &&
    stored.assignment.epoch === record.epoch &&
    stored.assignment.source === instanceOf(sourceOf(record, member)) &&
    channel?.ioRunning === 'yes' &&
    channel.sqlRunning
  )
}

function stepsOfFailover({ record }: Situation, to: InstanceName | null): readonly Sentence[] {
  return [
    say`${revocationQuorum(record) ?? say`the primary’s agent`} of the sync set must promise epoch ${record.epoch + 1}`,
    say`${to ?? say`the one that holds everything acknowledged`} is committed as primary`,
    say`it opens, the others follow, the route moves`,
  ]
}

/** What concerns the primary comes before everything else. */
function decideSemisync(input: DecisionInput): Decided {
  return decideBy({ bootstrap, decide }, input)
}

function bootstrap(input: DecisionInput): FlowStep {
  const next = bootstrapStep({ ...input, acks: wantedAcks(input) })
  return next.actions.length === 0 && !next.blocked ? next : { ...next, flow: 'bootstrap' }
}

function decide(situation: Situation): Decided {
  const found = conditionOf(situation)
  const flow = act(situation, found)
  const before = [...routeActions(situation), ...renounceOrders(situation, semisync)]
  const actions = [...before, ...flow.actions, ...passwordsOrders(situation)]
  return { ...flow, condition: found.condition, actions }
}

function act<N extends keyof Known>(situation: Situation, found: FoundOf<Known, N>): FlowStep {
  return acts[found.condition](situation, found)
}

const acts: ActsOf<Known> = {
  failoverAsked: (situation, known) =>
    withMissingMadeAgain(situation, { ...askedFailover(situation, known), flow: 'failover' }),
  primaryToBeStarted: (situation, { verdict }) =>
    step(
      say`restarting ${instanceOf(situation.record.primary)}: ${verdict.sentence}`,
      assignmentOrders(situation, { mayRestart: true }),
      { flow: 'restart' },
    ),
  failoverHeld: (situation, known) => withMissingMadeAgain(situation, heldFailover(situation, known)),
  primaryDead: failOver,
  primaryFrozen: failOver,
  primaryUnable: failOver,
  primarySlow: failOver,
  primaryDeaf: failOver,
  intentLeft: (situation, { why }) => undoSwitchover(situation, why),
  switchingOver: (situation, { intent }) => ({ ...switchoverStep(situation, intent), flow: 'switchover' }),
  promisedInVain: (situation, { verdict }) =>
    bump(
      situation,
      say`giving members that promised ahead back to ${instanceOf(situation.record.primary)}: ${verdict.sentence}`,
    ),
  switchoverAsked: (_, { begun }) => begun,
  paused: (situation, { verdict, reason }) => steady(situation, verdict, say`paused: ${text(reason)}`),
  primaryStarting: (situation, { verdict }) => steady(situation, verdict),
  primaryUnsure: (situation, { verdict }) => steady(situation, verdict),
  primaryOpening: wishedOrSteady,
  primaryWell: wishedOrSteady,
}

/** A person asked: none of the gates holds it back. */
function askedFailover(situation: Situation, { verdict, asked }: Known['failoverAsked']): FlowStep {
  const { to, acceptLoss } = asked
  const stale = withoutForeignIntent(situation)
  if (stale) return stale
  if (isWell(verdict)) return leaveWaiting(situation, verdict, asked)
  return acceptLoss
    ? forcedFailoverStep(situation, verdict, to, () => safeFailoverStep(situation, verdict, to))
    : failoverStep(situation, verdict, to)
}

function failOver(situation: Situation, { verdict }: Known['primaryDead']): FlowStep {
  const next = withoutForeignIntent(situation) ?? failoverStep(situation, verdict, verdict.opening?.successor ?? null)
  // While it goes on nobody is told what the next commit makes obsolete; while it stands still an old primary must hear
  // of its successor.
  return withMissingMadeAgain(situation, next.flow === 'failover' ? next : withAssignments(situation, next))
}

function heldFailover(situation: Situation, { verdict, why }: Known['failoverHeld']): FlowStep {
  const stale = withoutForeignIntent(situation)
  if (stale) return stale
  const process = liveView(situation.snapshot, situation.record.primary)?.observation.process
  const isDown = process !== undefined && process !== 'running' && process !== 'stopped'
  if (isDown && situation.notes.paused === null) return restartInPlace(situation, verdict, why)
  return step(say`no failover: ${verdict.sentence}, but ${why}`, assignmentOrders(situation), {
    blocked: true,
    revisitMs: 1_000,
  })
}

function wishedOrSteady(situation: Situation, { verdict }: Known['primaryWell']): FlowStep {
  const primary = liveView(situation.snapshot, situation.record.primary)
  const wished = primary && wishes(situation, primary)
  return wished === undefined ? steady(situation, verdict) : withAssignments(situation, wished)
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
    handOverWaits(situation, semisync) ??
    failbackStep(situation, semisync)
  )
}

function steady(situation: Situation, verdict: Verdict, prefix: Said = ''): FlowStep {
  const shortfall = syncSetShortfall(situation)
  const { record, spec } = situation
  const primary = liveView(situation.snapshot, record.primary)
  const state = say`no action: ${stateOfPrimary(situation, verdict)}, ${countedReplicas(situation)}`
  const behind = replicasBehind(situation)
  const budget = spec.failover.automatic ? failoverBudget(situation) : null
  const also = [behind, shortfall, copiesDue(situation, primary), budgetSentence(budget)]
  const closed =
    primary?.observation.server && !primary.observation.converged.done && verdict.opening === undefined
      ? say`; ${heard(primary.observation.converged.sentence)}`
      : ''
  const budgetMs = budget?.moreAtWallMs == null ? null : budget.moreAtWallMs - situation.wallMs
  return step(say`${joined([prefix, state, ...also], '; ')}${closed}`, assignmentOrders(situation), {
    blocked: verdict.kind !== 'well',
    revisitMs: soonest(verdict.revisitMs, budgetMs),
  })
}

/**
 * Well is not healthy: one that a person fenced runs, and takes no writes. Where others testify, the sentence begins
 * with whom it is about.
 */
function stateOfPrimary({ notes, record }: Situation, verdict: Verdict): Sentence {
  if (verdict.kind !== 'well') return verdict.sentence
  const name = instanceOf(record.primary)
  return isFenced(notes, name) ? say`primary ${name} runs and is fenced by a person` : say`primary ${verdict.sentence}`
}

/** Instances that are there: a member whose volume is gone may stand beside its successor for a while. */
function countedReplicas({ record, snapshot }: Situation): Sentence {
  const replicas = snapshot.instances.map(({ name }) => name).filter((name) => name !== instanceOf(record.primary))
  const members = new Set(record.syncSet.map(instanceOf))
  return replicas.length === 0
    ? say`no replicas`
    : say`${replicas.filter((name) => members.has(name)).length} of ${counted(replicas.length, 'replica')} in the sync set`
}

/**
 * They count: what they acknowledged they have received. They are not whole: a failover to one of them, and whoever
 * reads there, waits until it has applied it.
 */
function replicasBehind({ snapshot, record, timings, spec }: Situation): Said {
  const behind = snapshot.instances.flatMap((view) => {
    const channel =
      isServing(view, timings) && view.observation.member !== record.primary ? view.observation.server?.channel : null
    return channel && isBehind(channel, spec.maxLagSeconds) ? [say`${view.name} is ${describeLag(channel)}`] : []
  })
  return joined(behind, ', ')
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

function analyseSemisync(input: DecisionInput): Findings {
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
