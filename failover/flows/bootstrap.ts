import { counted, joined, say, type Sentence } from '#common/sentence/sentence.ts'
import type { Snapshot } from '#topology/snapshot/snapshot.ts'
import { extraOf } from '#topology/snapshot/comparison.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { ordinalOf, type InstanceName } from '#topology/snapshot/member.ts'
import { agentsAreAwaited, beforeMaking, standStillInMaking, waitForServers, waitInMaking } from '../steps/making.ts'
import { restoreFirst } from './backups/restoring.ts'
import { step, type FlowStep } from '../steps/step.ts'
import type { Action } from '../protocol/decision.ts'
import { hasDoubtedData, whyDoubtedWithoutRecord } from '../judge/data/doubted-data.ts'
import { electedFor } from '../judge/election/elected-set.ts'
import { chosenLeader, forcedAdvice, mustPromise, planForcedBootstrap } from './forced-bootstrap.ts'
import {
  lastLeader,
  rebuildStep,
  standBehindPast,
  unknownEpochs,
  unknownRevisions,
  waitForSilent,
  whyLeaderIsLost,
} from './lost-record.ts'
import { orderVersion } from '../protocol/message.ts'
import { recordVersion, type ClusterRecord } from '../protocol/record.ts'
import { isLive, liveViews, wantedInstances, type DecisionInput, type LiveView } from '../judge/situation.ts'

/** What is known of a cluster without a record, and how many acknowledgements its writes are to need. */
type Beginning = DecisionInput & { readonly acks: number }

/**
 * A cluster without a record. Nothing is believed before everybody answered: the most advanced leads, and only when it
 * holds what all others hold. A record that is lost while instances hold promises is rebuilt above the highest promise
 * (docs/why/safety.md, "When the record is in doubt").
 */
export function bootstrapStep(input: Beginning): FlowStep {
  const chosen = chosenLeader(input)
  if (chosen !== undefined) return forcedStep(input, chosen)
  const early = beforeMaking(input)
  if (early !== null) return early
  const live = liveViews(input.snapshot)
  const silent = input.snapshot.instances.filter((view) => !isLive(view))
  const highest = Math.max(0, ...live.map(({ observation }) => observation.stored.promise))
  if (silent.length > 0)
    return highest > 0 ? waitForSilent(input, silent) : waitInMaking(input, silent, agentsAreAwaited(silent))
  const past = live.find((view) => view.past !== undefined)
  if (past) return standBehindPast(past)
  return highest > 0 ? rebuild(input, live, highest) : begin(input, live)
}

function begin(input: Beginning, live: readonly LiveView[]): FlowStep {
  const waits = waitForServers(input, live)
  if (waits !== null) return waits
  const restores = restoreFirst(input, live)
  if (restores !== null) return restores
  const foreign = live.find(({ observation }) => (observation.server?.foreignTables.length ?? 0) > 0)
  if (foreign) {
    return standStillInMaking(
      say`${foreign.name} has tables that are not InnoDB (${foreign.observation.server?.foreignTables.join(', ')}): convert them first, they cannot be kept safe`,
    )
  }
  return commitLeader(input, live, { epoch: 1, revision: 1 }, say`bootstrap`)
}

/**
 * Everybody promises one more than the highest promise first, so that nothing of the lost record can go on; and at a
 * revision above all that it may have committed and told nobody, so that an order which a manager sent before the loss
 * is refused when it arrives.
 */
function rebuild(input: Beginning, live: readonly LiveView[], highest: number): FlowStep {
  const lost = lostLeader(live)
  if (lost !== undefined) return standStillInMaking(whyLeaderIsLost(lost))
  const newest = Math.max(...live.map(({ observation }) => observation.stored.revision))
  const revision = Math.ceil(newest / rebuildStep) * rebuildStep
  const done = live.every(
    ({ observation }) => observation.promiseReport?.epoch === highest && observation.stored.revision === revision,
  )
  if (done)
    return commitLeader(
      input,
      live,
      { epoch: highest, revision: revision + 1 },
      say`the record was lost and is rebuilt from what all instances stored`,
    )
  const epoch = freeEpoch(live, { highest, revision, pace: 1 })
  return step(
    say`the record is lost; asking ${live.length === 1 ? live[0]?.name : say`all ${live.length} instances`} to promise epoch ${epoch}`,
    promisesOf(input, live, { epoch, revision }),
    { blocked: true, revisitMs: 1_000 },
  )
}

/**
 * The next multiple of `pace` beyond all that instances have promised, unless that is what this rebuilding has asked
 * for: such a promise has the revision of the rebuilding. An epoch that the lost record may have committed has a
 * primary already, and an instance that acts on an epoch cannot promise this epoch any more.
 */
function freeEpoch(
  live: readonly LiveView[],
  { highest, revision, pace }: { readonly highest: number; readonly revision: number; readonly pace: number },
): number {
  const isAsked = live.some(({ observation: { stored } }) => stored.promise === highest && stored.revision === revision)
  const isFree = live.every(({ observation }) => (observation.stored.assignment?.epoch ?? 0) < highest)
  return isAsked && isFree && highest % pace === 0 ? highest : (Math.floor(highest / pace) + 1) * pace
}

function promisesOf(
  input: DecisionInput,
  live: readonly LiveView[],
  { epoch, revision }: Pick<ClusterRecord, 'epoch' | 'revision'>,
): readonly Action[] {
  return live
    .filter(
      ({ observation }) =>
        (observation.promiseReport?.epoch !== epoch || observation.stored.revision !== revision) &&
        !input.inFlight.has(observation.instance),
    )
    .map(({ name, observation }) => ({
      kind: 'promise' as const,
      to: name,
      order: {
        version: orderVersion,
        cluster: input.cluster,
        member: observation.member,
        epoch,
        revision,
        after: '',
        waitMs: 0,
      },
    }))
}

/**
 * A person chose who leads, and gives up what only others hold. Every instance that answers promises first, so that
 * nothing of an earlier record can go on.
 */
function forcedStep(input: Beginning, to: InstanceName): FlowStep {
  const plan = planForcedBootstrap(input, to)
  if ('refusal' in plan) return standStillInMaking(say`no forced bootstrap: ${plan.refusal}`)
  const { leader, asked, unknown, givenUp } = plan
  const why = say`forced: ${to} leads; given up: ${givenUp}`
  const [highest, newest] = [
    Math.max(...asked.map(({ observation }) => observation.stored.promise)),
    Math.max(...asked.map(({ observation }) => observation.stored.revision)),
  ]
  if (highest === 0 && unknown.length === 0) return commitFirst(input, leader, { epoch: 1, revision: 1 }, why)
  const pace = unknown.length > 0 ? unknownRevisions : rebuildStep
  const revision = Math.max(pace, Math.ceil(newest / pace) * pace)
  const epoch = freeEpoch(asked, { highest, revision, pace: unknown.length > 0 ? unknownEpochs : 1 })
  const missing = mustPromise(plan, input).filter(
    ({ observation }) => observation.promiseReport?.epoch !== epoch || observation.stored.revision !== revision,
  )
  if (missing.length === 0) return commitFirst(input, leader, { epoch, revision: revision + 1 }, why)
  return step(
    say`${why}; asking ${missing.map(({ name }) => name).join(', ')} to promise epoch ${epoch}`,
    promisesOf(input, asked, { epoch, revision }),
    { blocked: true, revisitMs: 500 },
  )
}

/**
 * The instance that the newest assignments name as primary, if it remembers nothing while others hold data: its volume
 * is another one now.
 */
function lostLeader(live: readonly LiveView[]): InstanceName | undefined {
  const last = lastLeader(live)
  const leader = live.find(({ name }) => name === last)
  const holders = live.filter((view) => view !== leader && !holdsOf(view.observation).isEmpty())
  return leader && leader.observation.stored.assignment === null && holders.length > 1 ? leader.name : undefined
}

/**
 * Nobody writes to servers without a record, but for a source that was there before: the order of the looks matters for
 * that source alone.
 */
function commitLeader(
  input: Beginning,
  live: readonly LiveView[],
  { epoch, revision }: Pick<ClusterRecord, 'epoch' | 'revision'>,
  reason: Sentence,
): FlowStep {
  const union = live.reduce((all, { observation }) => all.union(holdsOf(observation)), GtidSet.empty)
  const source = live.find((view) => isSourceOfAll(view, live))
  const leaders = (source ? [source] : live).filter(
    (view) =>
      whyDoubtedWithoutRecord(view.observation.stored) === null &&
      ordinalOf(view.name) < wantedInstances(input) &&
      (holdsOf(view.observation).contains(union) || (view === source && hasGivenAll(view, live))),
  )
  const leader = leaders.toSorted((a, b) => ordinalOf(a.name) - ordinalOf(b.name))[0]
  if (leader === undefined) return standStillInMaking(whyNobodyLeads(live, union))
  const all = union.count() === 1 ? say`the only transaction` : say`all ${union.count()} transactions`
  const held = union.isEmpty() ? '' : say`, it holds ${all}`
  return commitFirst(input, leader, { epoch, revision }, say`${reason}: ${leader.name} leads${held}`)
}

/** By one look at each: nobody writes any more, or the source was seen to lack what a replica holds. */
function whyNobodyLeads(live: readonly LiveView[], union: GtidSet): Sentence {
  const each = live.map(({ name, observation }) => {
    const doubt = whyDoubtedWithoutRecord(observation.stored)
    return doubt === null
      ? say`${name} lacks ${counted(union.subtract(holdsOf(observation)).count(), 'transaction')}`
      : say`${name} is in doubt: ${doubt}`
  })
  const isDoubted = live.some(({ observation }) => whyDoubtedWithoutRecord(observation.stored) !== null)
  const nobody = isDoubted
    ? say`no instance that is in no doubt holds everything the others hold`
    : say`no instance holds everything the others hold`
  return say`${nobody} (${joined(each, ', ')}): ${forcedAdvice}`
}

/**
 * Servers that Regent starts are closed, and follow nobody, until there is a record. A server that clients write to and
 * all others follow was there before: it stays what it is, whoever else holds as much at this moment.
 */
function isSourceOfAll({ name, observation: { server } }: LiveView, live: readonly LiveView[]): boolean {
  if (server === null || server.readOnly || server.offlineMode || server.channel !== null || live.length < 2)
    return false
  const others = live.filter((view) => view.name !== name)
  return others.every(({ observation }) => observation.server?.channel?.sourceUuid === server.uuid)
}

/**
 * The look at the source may be the older one, while clients write: replicas hold what that server issued since. A
 * server that has promised is closed, and issues nothing more.
 */
function hasGivenAll(source: LiveView, live: readonly LiveView[]): boolean {
  if (source.observation.stored.promise > 0) return false
  return live.every((view) => {
    const { errant, undecided } = extraOf(view.observation, source.observation)
    return errant.isEmpty() && undecided.isEmpty()
  })
}

/** A person chose an instance that is in doubt: by GTIDs nobody else can be told apart from a copy of that instance. */
function doubtedBeside({ instances }: Snapshot, leader: LiveView, epoch: number): Pick<ClusterRecord, 'doubted'> {
  if (!hasDoubtedData(leader.observation.stored)) return {}
  const others = instances.flatMap(({ name, observation }) => (name === leader.name ? [] : (observation?.member ?? [])))
  return { doubted: { since: epoch, members: others } }
}

function commitFirst(
  { cluster, acks, snapshot }: Beginning,
  leader: LiveView,
  { epoch, revision }: Pick<ClusterRecord, 'epoch' | 'revision'>,
  why: Sentence,
): FlowStep {
  const executed = parseGtidSet(leader.observation.server?.executed ?? '')
  const elected = electedFor(holdsOf(leader.observation), executed)
  const next: ClusterRecord = {
    version: recordVersion,
    cluster,
    epoch,
    revision,
    primary: leader.observation.member,
    syncSet: [],
    leaving: [],
    acks,
    acksWanted: acks,
    intent: null,
    ...elected,
    ...doubtedBeside(snapshot, leader, epoch),
  }
  return step(why, [{ kind: 'commit', next, why, isAnswer: true }])
}
