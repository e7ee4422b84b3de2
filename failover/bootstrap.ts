import { holdsOf } from '../topology/holdings.ts'
import { GtidSet } from '../topology/gtid-set.ts'
import { instanceOf, ordinalOf, type InstanceName } from '../topology/member.ts'
import { step, type FlowStep } from './crash-failover.ts'
import { electedFor } from './elected-set.ts'
import { orderVersion } from './order.ts'
import { recordVersion, type ClusterRecord } from './record.ts'
import { isServing, liveViews, wantedInstances, type DecisionInput, type LiveView } from './situation.ts'
import { acksFor } from './spec.ts'

/**
 * A cluster without a record. Nothing is believed before everybody answered: the most advanced leads, and only when it holds what
 * all others hold. A record that is lost while instances hold promises is rebuilt above the highest promise (design §8).
 */
export function bootstrapStep(input: DecisionInput): FlowStep {
  const wanted = wantedInstances(input)
  const { instances } = input.snapshot
  if (instances.length < wanted) return step(`waiting for ${wanted} instances to exist`, [{ kind: 'scale', count: wanted }])
  const live = liveViews(input.snapshot)
  const silent = instances.map(({ name }) => name).filter((name) => !live.some((view) => view.name === name))
  if (silent.length > 0) return wait(`waiting for the agents of ${silent.join(', ')} before anything is believed`)
  const past = live.find((view) => view.past !== undefined)
  if (past) return wait(`the volume of ${past.name} went back in time, and there is no record to say what it missed: bring the newer volume back, or give ${past.name} an empty one`)
  const highest = Math.max(...live.map(({ observation }) => observation.stored.promise))
  return highest > 0 ? rebuild(input, live, highest) : begin(input, live)
}

function begin(input: DecisionInput, live: readonly LiveView[]): FlowStep {
  const starting = live.filter((view): boolean => !isServing(view, input.timings))
  if (starting.length > 0) return wait(`waiting for mysqld of ${starting.map((view) => view.name).join(', ')}`)
  const foreign = live.find(({ observation }) => (observation.server?.foreignTables.length ?? 0) > 0)
  if (foreign) {
    return wait(`${foreign.name} has tables that are not InnoDB (${foreign.observation.server?.foreignTables.join(', ')}): convert them first, they cannot be kept safe`)
  }
  return commitLeader(input, live, { epoch: 1, revision: 1 }, 'bootstrap')
}

/** Revisions of a rebuilt record begin at the next multiple of this: no lost record was so far ahead of what its agents stored. */
const rebuildStep = 1_000_000

/**
 * Everybody promises one more than the highest promise first, so that nothing of the lost record can go on; and at a revision above all that it may have committed and told nobody, so that an order which
 * a manager sent before the loss is refused when it arrives.
 */
function rebuild(input: DecisionInput, live: readonly LiveView[], highest: number): FlowStep {
  const lost = lostLeader(live)
  if (lost !== undefined) return wait(`${lost} was the primary and lives on another volume now; what only it held is on the old one: bring that back, or leave just one instance with data`)
  const newest = Math.max(...live.map(({ observation }) => observation.stored.revision))
  const revision = Math.ceil(newest / rebuildStep) * rebuildStep
  const done = live.every(({ observation }) => observation.promiseReport?.epoch === highest && observation.stored.revision === revision)
  if (done) return commitLeader(input, live, { epoch: highest, revision: revision + 1 }, 'the record was lost and is rebuilt from what all instances stored')
  // Who acts on an epoch already cannot promise it any more.
  const asked = live.every(({ observation }) => (observation.stored.assignment?.epoch ?? 0) < highest)
  const epoch = asked ? highest : highest + 1
  const orders = live
    .filter(({ observation }) => (observation.promiseReport?.epoch !== epoch || observation.stored.revision !== revision) && !input.inFlight.has(observation.instance))
    .map(({ name, observation }) => ({
      kind: 'promise' as const,
      to: name,
      order: { version: orderVersion, cluster: input.cluster, member: observation.member, epoch, revision, after: '', waitMs: 0 },
    }))
  return step(`the record is lost; asking all ${live.length} instances to promise epoch ${epoch}`, orders, { blocked: true, revisitMs: 1_000 })
}

/** The instance that the newest assignments name as primary, if it remembers nothing while others hold data: its volume is another one now. */
function lostLeader(live: readonly LiveView[]): InstanceName | undefined {
  const newest = live.map(({ observation }) => observation.stored.assignment).reduce((best, one) => ((one?.epoch ?? 0) > (best?.epoch ?? 0) ? one : best), null)
  const leader = live.find(({ name }) => name === newest?.source)
  const holders = live.filter((view) => view !== leader && !holdsOf(view.observation).isEmpty())
  return leader && leader.observation.stored.assignment === null && holders.length > 1 ? leader.name : undefined
}

function commitLeader(input: DecisionInput, live: readonly LiveView[], { epoch, revision }: Pick<ClusterRecord, 'epoch' | 'revision'>, reason: string): FlowStep {
  const union = live.reduce((all, { observation }) => all.union(holdsOf(observation)), GtidSet.empty)
  const leaders = live.filter(({ name, observation }) => holdsOf(observation).contains(union) && ordinalOf(name) < wantedInstances(input))
  const leader = leaders.toSorted((a, b) => ordinalOf(a.name) - ordinalOf(b.name))[0]
  if (leader === undefined) {
    const each = live.map(({ name, observation }) => `${name} lacks ${union.subtract(holdsOf(observation)).count()}`).join(', ')
    return wait(`no instance holds everything the others hold (${each} transactions): take away the volume whose data is not wanted`)
  }
  const acks = acksFor(input.spec, wantedInstances(input))
  const next: ClusterRecord = { version: recordVersion, cluster: input.cluster, epoch, revision, primary: leader.observation.member, syncSet: [], leaving: [], acks, acksWanted: acks, intent: null, ...electedFor(union) }
  const why = `${reason}: ${instanceOf(next.primary)} leads${union.isEmpty() ? '' : `, it holds all ${union.count()} transactions`}`
  return step(why, [{ kind: 'commit', next, why }])
}

function wait(sentence: string): FlowStep {
  return step(sentence, [], { blocked: true, revisitMs: 500 })
}
