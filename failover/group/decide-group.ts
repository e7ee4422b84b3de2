import { heard, say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { groupSeenBy, type GroupView } from '#topology/group/group-view.ts'
import { shownGroup, type ShownGroup } from '#topology/group/shown-group.ts'
import { isLaterView } from '#topology/group/view-id.ts'
import { instanceOf, type InstanceName } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { changeRecord } from '../steps/commit.ts'
import { decideBy } from '../flows/deciding.ts'
import type { Decided } from '../steps/step.ts'
import { failbackStep } from '../flows/failback.ts'
import { handOverStep, handOverWaits } from '../flows/hand-over.ts'
import type { Mode } from '../flows/mode.ts'
import { emptyingStep } from '../flows/emptying.ts'
import { passwordsOrders } from '../flows/passwords.ts'
import { routeActions } from '../steps/route.ts'
import { renounceOrders } from '../flows/renouncing.ts'
import { reseedStep } from '../steps/reseeding.ts'
import { scalingStep, withMissingMadeAgain } from '../flows/scaling.ts'
import { besides, step, type FlowStep } from '../steps/step.ts'
import { allOf } from '#common/text/words.ts'
import {
  hasPromised,
  leavers,
  liveView,
  viewNamed,
  viewOf as viewOfMember,
  type DecisionInput,
  type LiveView,
  type Situation,
} from '../judge/situation.ts'
import { isWell, judgePrimary, type Verdict } from '../judge/primary/verdict.ts'
import type { Action, FlowKind } from '../protocol/decision.ts'
import { nextRecord, recordedMembers, type ClusterRecord, type GroupRecord } from '../protocol/record.ts'
import { analyseGroup } from './analyse-group.ts'
import { assignmentOrders } from './assignments.ts'
import { bootstrapStep, planForcedBootstrap } from './bootstrap.ts'
import type { ActsOf, FoundOf } from '../steps/acting.ts'
import { conditionOf, type Known } from './condition.ts'
import { membershipStep } from './admission.ts'
import {
  chosenBeside,
  doesNotComeUp,
  lossOfReboot,
  rebootStep,
  stalledMs,
  stepsOfReboot,
  whyNeverForms,
  whyNoReboot,
  whyNotFormed,
} from './reboot.ts'
import { expulsionOfSilent } from './silent-member.ts'
import { beginSwitchover, planSwitchover, switchoverStep } from './switchover.ts'
import { knownBy, viewOf } from './view.ts'

/** What Regent decides and plans for a cluster that is one MySQL replication group. */
export const group: Mode = {
  decide: decideGroup,
  analyse: analyseGroup,
  groupShown,
  planSwitchover,
  beginSwitchover,
  follows,
  judge,
  whyNothingToMend,
  stepsOfFailover: stepsOfReboot,
  whyNeverTo: whyNeverForms,
  lossOfFailover: lossOfReboot,
  isSafePossible: (situation) => whyNoReboot(situation) === null,
  planForcedBootstrap,
}

/**
 * A primary whose server runs is of no use without a majority. Where its agent is silent the group testifies: its
 * members have no channel from the primary that could be heard.
 */
function judge(situation: Situation): Verdict {
  const view = viewOf(situation)
  const { primary, sentence } = view
  if (primary === null || situation.record.group?.forming === true)
    return { kind: 'unknown', sentence, witnesses: [], revisitMs: null }
  return isUnheard(situation, view) ? heardByGroup(situation, primary) : judgePrimary(situation)
}

/** The group counts on the server of the record's primary, and its agent is silent. */
function isUnheard({ snapshot, record }: Situation, { primary, members }: GroupView): boolean {
  const isLed = primary === instanceOf(record.primary) && members.get(primary) === 'ONLINE'
  return (
    isLed && viewOfMember(snapshot, record.primary) !== undefined && liveView(snapshot, record.primary) === undefined
  )
}

function heardByGroup({ snapshot, timings }: Situation, primary: InstanceName): Verdict {
  const witnesses = snapshot.instances.flatMap((one) =>
    groupSeenBy(one, timings.frozenMs)?.state === 'ONLINE' ? [one.name] : [],
  )
  const sentence = say`the agent of ${primary} is unreachable but the group has its server as primary, by ${allOf(witnesses)}`
  return { kind: 'agentLost', sentence, witnesses, revisitMs: timings.unreachableMs }
}

function whyNothingToMend(situation: Situation): Sentence | null {
  const verdict = judge(situation)
  return isWell(verdict) ? verdict.sentence : null
}

/**
 * The group is the authority on membership and primary. The record follows the group, admits members, and decides who
 * forms a group where there is none.
 */
function decideGroup(input: DecisionInput): Decided {
  return decideBy({ bootstrap, decide }, input)
}

function bootstrap(input: DecisionInput): FlowStep {
  const begun = bootstrapStep(input)
  return { ...begun, flow: begun.flow ?? 'bootstrap' }
}

function decide(situation: Situation): Decided {
  const view = viewOf(situation)
  const found = conditionOf(situation, view)
  const flow = act(situation, found)
  const expulsion = expulsionOfSilent(situation, view)
  return {
    ...flow,
    condition: found.condition,
    sentence: expulsion === undefined ? flow.sentence : say`${expulsion.sentence}; ${flow.sentence}`,
    actions: [
      ...routeActions(situation),
      // A primary is well only by a majority: else one that went back in time may be among all there is.
      ...renounceOrders(situation, group),
      ...(expulsion?.actions ?? []),
      ...flow.actions,
      ...passwordsOrders(situation),
    ],
  }
}

/** The member is ONLINE in the group that the record names. */
function follows({ server }: Observation, { group }: ClusterRecord): boolean {
  return server?.group !== undefined && server.group.name === group?.name && server.group.state === 'ONLINE'
}

function groupShown(input: DecisionInput): ShownGroup | undefined {
  if (input.record === undefined) return undefined
  const situation: Situation = { ...input, record: input.record }
  return shownGroup(viewOf(situation), input.snapshot, knownBy(input.record, input.timings))
}

function act<N extends keyof Known>(situation: Situation, found: FoundOf<Known, N>): FlowStep {
  return acts[found.condition](situation, found)
}

const acts: ActsOf<Known> = {
  forming: formingStep,
  failoverAsked: formedAnew,
  splitBrain: (_, { view }) => step(view.sentence, [], { blocked: true, revisitMs: 1_000 }),
  noQuorum: formedAnew,
  outage: formedAnew,
  uncertain: formedAnew,
  noPrimary: (situation, { view }) =>
    step(view.sentence, assignmentOrders(situation), { blocked: true, revisitMs: 100 }),
  primaryMoved: followStep,
  switchingOver: (situation, { intent }) => ({
    ...switchoverStep(situation, intent, situation.manager),
    flow: 'switchover',
  }),
  switchoverAsked: (_, { begun }) => begun,
  paused: (situation, { view, paused }) => steady(situation, view, say`paused: ${text(paused.reason)}; `),
  promisedInVain: takeBackPromises,
  viewUnknown: learnView,
  membersMissing: wishedOrSteady,
  primaryWell: wishedOrSteady,
}

function formedAnew(situation: Situation, { view }: Known['outage']): FlowStep {
  return withMissingMadeAgain(situation, rebootStep(situation, view))
}

/**
 * Nobody joins before the one that forms the group has stored that it did, and shows that by a look that counts: by an
 * older one nobody would be in the group, and the group would be formed again.
 */
function formingStep(situation: Situation, { view }: Known['forming']): FlowStep {
  const former = whoForms(situation)
  if (former === undefined) return formedAnew(situation, { view })
  const { epoch, group: known } = situation.record
  const isFormed = (former.observation.stored.formedEpoch ?? 0) >= epoch
  return isFormed && known !== undefined ? formedStep(situation, former, known) : toBeFormed(situation, former)
}

/** A group that is formed anew is the end of the failover that decided so. */
function flowOf({ epoch }: ClusterRecord): FlowKind {
  return epoch === 1 ? 'bootstrap' : 'failover'
}

function toBeFormed(situation: Situation, { name, observation }: LiveView): FlowStep {
  const waits = { blocked: true, revisitMs: 1_000 } as const
  const orders = assignmentOrders(situation)
  if (doesNotComeUp(observation)) return step(whyNotFormed(situation), orders, waits)
  const flow = flowOf(situation.record)
  return step(say`${name} forms the group: ${heard(observation.converged.sentence)}`, orders, { ...waits, flow })
}

function formedStep({ record, timings }: Situation, former: LiveView, known: GroupRecord): FlowStep {
  const { name, observation } = former
  const flow = flowOf(record)
  if (isBeingLookedAt(former, timings))
    return step(
      say`${name} has formed the group, and is looked at once more: ${heard(observation.converged.sentence)}`,
      [],
      { flow, blocked: true, revisitMs: 1_000 },
    )
  const why = say`${name} has formed the group; the others may join`
  const viewId = groupSeenBy(former, timings.frozenMs)?.viewId ?? ''
  const group = { ...known, forming: false, ...(viewId === '' ? {} : { view: viewId }) }
  return step(why, [{ kind: 'commit', why, next: nextRecord(record, { group }) }], { flow })
}

/** The one that is to form the group, where its agent answers and it can. */
function whoForms(situation: Situation): LiveView | undefined {
  const former = liveView(situation.snapshot, situation.record.primary)
  return former === undefined || cannotForm(situation, former) ? undefined : former
}

/**
 * Its mysqld does not come up, or a person names another one; or that was so, and it has promised the next epoch since.
 * Nobody else may form a group whose record names nobody else, unless a person chooses somebody.
 */
function cannotForm(situation: Situation, former: LiveView): boolean {
  const { record, requests, timings } = situation
  const { observation, name } = former
  if (record.syncSet.length === 0 && chosenBeside(situation) === undefined) return false
  const asked = requests.find((request) => request.kind === 'failover')
  const isAnotherNamed = asked !== undefined && asked.to !== null && asked.to !== name
  const isIn = groupSeenBy(former, timings.frozenMs)?.state === 'ONLINE'
  return (isAnotherNamed && !isIn) || doesNotComeUp(observation) || hasPromised(record, observation)
}

/** Its server is no member that is online by a look that is older than what its agent did, or is one only soon. */
function isBeingLookedAt(former: LiveView, { frozenMs }: Situation['timings']): boolean {
  const { joinsGroup, silentMs } = former.observation
  const state = groupSeenBy(former, frozenMs)?.state
  return state !== 'ONLINE' && (state === 'RECOVERING' || (joinsGroup === true && silentMs < stalledMs))
}

/** The member that the group calls primary is primary of the next epoch. */
function followStep(situation: Situation, { primary, view: { sentence, viewId } }: Known['primaryMoved']): FlowStep {
  const { record, snapshot } = situation
  const former = instanceOf(record.primary)
  if (isOutdated(situation, viewId))
    return step(
      say`${sentence}, by a view that is older than the newest known: it was removed meanwhile, and has not heard of that`,
      [],
      { blocked: true, revisitMs: 500 },
    )
  // The manager that heard its agent last may be gone: the record names each member of the group.
  const member =
    viewNamed(snapshot, primary)?.observation?.member ??
    recordedMembers(record).find((one) => instanceOf(one) === primary)
  if (member === undefined)
    return step(say`${sentence}; its agent has said nothing yet`, [], { blocked: true, revisitMs: 500 })
  const why = say`the group made ${primary} primary in place of ${former}`
  const next = nextRecord(record, {
    epoch: record.epoch + 1,
    primary: member,
    syncSet: [record.primary, ...record.syncSet.filter((one) => one !== member)],
    leaving: record.leaving.filter((one) => one !== member),
    intent: null,
    ...(record.group && { group: { ...record.group, view: viewId } }),
  })
  return step(why, [{ kind: 'commit', why, next }], { flow: record.intent === null ? 'failover' : 'switchover' })
}

/**
 * A member that was cut off and removed shows its last view for seconds after it is heard again, with everybody ONLINE.
 * A manager that hears that member alone knows of a newer view by the record, or by the last word of members that are
 * silent now.
 */
function isOutdated({ record, snapshot }: Situation, viewId: string): boolean {
  const seen = snapshot.instances.map(({ observation }) => observation?.server?.group)
  const views = seen.flatMap((group) => (group?.name === record.group?.name ? (group?.viewId ?? []) : []))
  return [record.group?.view ?? '', ...views].some((view) => isLaterView(view, viewId))
}

function wishedOrSteady(situation: Situation, { view }: Known['primaryWell']): FlowStep {
  const wish = isToldOf(situation) ? wishes(situation, view) : undefined
  if (wish === undefined) return steady(situation, view)
  const commits = wish.actions.some(({ kind }) => kind === 'commit')
  return commits ? wish : { ...wish, actions: [...wish.actions, ...assignmentsBeside(situation, wish)] }
}

/** Members that promised obey no order of this epoch: the same primary goes on in the epoch that was promised. */
function takeBackPromises(situation: Situation, { ahead }: Known['promisedInVain']): FlowStep {
  const { record, inFlight } = situation
  const epoch = Math.max(...ahead.map(({ observation }) => observation.stored.promise))
  const primary = instanceOf(record.primary)
  const promised = allOf(ahead.map(({ name }) => name))
  // A primary that promises as well ends its server: the epoch that is committed meanwhile would be over at once.
  if (inFlight.get(primary)?.order === 'promise')
    return step(
      say`${promised} promised epoch ${epoch}, and so may ${primary} at this moment: its answer is waited for`,
      [],
      { blocked: true, revisitMs: 100 },
    )
  const why = say`the group goes on with ${primary} in epoch ${epoch}, which ${promised} promised`
  return changeRecord(situation, why, { epoch })
}

function learnView(situation: Situation, { group, view: { viewId } }: Known['viewUnknown']): FlowStep {
  const why = say`the record goes by the group as it is since view ${viewId}`
  return changeRecord(situation, why, { group: { ...group, view: viewId } })
}

/** The primary acts on this revision: what is asked of others goes on from what it knows. */
function isToldOf({ snapshot, record }: Situation): boolean {
  const primary = liveView(snapshot, record.primary)
  return primary !== undefined && primary.observation.stored.revision >= record.revision
}

/** An order to an instance goes before its assignment, which is told once that order is done. */
function assignmentsBeside(situation: Situation, { actions }: FlowStep): readonly Action[] {
  const already = new Set(actions.map((action) => ('to' in action ? action.to : '')))
  return assignmentOrders(situation).filter((action) => !('to' in action) || !already.has(action.to))
}

function wishes(situation: Situation, view: GroupView): FlowStep | undefined {
  const primary = liveView(situation.snapshot, situation.record.primary)
  return (
    handOverStep(situation, group) ??
    moveAwayStep(situation) ??
    besides(
      primary && emptyingStep(situation, primary),
      membershipStep(situation, view) ??
        besides(scalingStep(situation, group), primary && reseedStep(situation, primary)),
    ) ??
    handOverWaits(situation, group) ??
    failbackStep(situation, group)
  )
}

/** A primary that is to go hands over before anybody leaves: a change of the view would hold the election up. */
function moveAwayStep(situation: Situation): FlowStep | undefined {
  const goes = leavers(situation).includes(instanceOf(situation.record.primary))
  return goes && !('refusal' in planSwitchover(situation, null)) ? scalingStep(situation, group) : undefined
}

function steady(situation: Situation, view: GroupView, prefix: Said = ''): FlowStep {
  const { record } = situation
  const primary = liveView(situation.snapshot, record.primary)
  const isOpen = primary?.observation.converged.done === true
  const closed = isOpen
    ? ''
    : say`; ${primary === undefined ? unheard(record) : heard(primary.observation.converged.sentence)}`
  return step(say`${prefix}no action: ${view.sentence}${closed}`, assignmentOrders(situation), {
    blocked: !isOpen,
    revisitMs: view.condition === 'online' ? null : 1_000,
  })
}

function unheard({ primary }: ClusterRecord): Sentence {
  return say`the agent of ${instanceOf(primary)} is unreachable, and what is asked of that agent waits`
}
