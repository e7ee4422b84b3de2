import { errantOf, holdsOf } from '../topology/holdings.ts'
import { parseGtidSet } from '../topology/gtid-set.ts'
import { orderFor, peersOf } from './assignments.ts'
import { step, type FlowStep } from './crash-failover.ts'
import { endpointOf, isFollowing, isServing, liveView, liveViews, type LiveView, type Situation } from './situation.ts'

/** An applier that is stopped by an error this long is broken: no retry will help. */
const brokenMs = 5_000

/**
 * An instance that cannot follow as it is gets a copy of another: it has errant transactions, lacks what the primary purged,
 * is empty while there is much to copy, or had a replication filter. What it alone has is archived first by its agent (safety rule 8).
 */
export function reseedStep(situation: Situation, primary: LiveView): FlowStep | undefined {
  const { record, timings } = situation
  const source = situation.snapshot.instances.find((view) => view.observation?.member === record.primary)
  for (const view of liveViews(situation.snapshot)) {
    const { observation } = view
    if (observation.member === record.primary || record.syncSet.includes(observation.member) || !source) continue
    if (!observation.stored.seeding && !isServing(view, timings)) continue
    if (situation.inFlight.has(view.name) || !isToldUncounted(situation, view)) continue
    const why = whyReseed(situation, view, primary)
    if (why === null) continue
    if (situation.spec.reseed === 'manual' && !observation.stored.seeding) {
      return step(`${view.name} ${why}; policy is manual: it is left as it is`, [], { blocked: true })
    }
    const donor = donorFor(situation, view, primary)
    const order = {
      ...orderFor(situation, observation.member, record.epoch),
      donor: endpointOf(donor),
      source: endpointOf(source),
      destroys: holdsOf(observation).toString(),
      sourceHolds: holdsOf(primary.observation).toString(),
      peers: peersOf(situation),
    }
    return step(`${view.name} ${why}; it is archived and seeded again from ${donor.name}`, [{ kind: 'reseed', to: view.name, order }])
  }
  return undefined
}

/**
 * It acts on this revision, in which it does not count: before, its agent refuses to be seeded. Or it cannot be told, because of a seeding that an earlier epoch began and nobody ended.
 */
function isToldUncounted({ record }: Situation, { observation: { stored } }: LiveView): boolean {
  const { assignment, promise, seeding } = stored
  if (seeding) return promise <= record.epoch
  return assignment?.role === 'replica' && assignment.epoch === record.epoch && assignment.revision === record.revision && !assignment.counted
}

function whyReseed(situation: Situation, view: LiveView, primary: LiveView): string | null {
  const { observation } = view
  if (observation.stored.seeding) return 'began a seeding that has not ended'
  const errant = errantOf(observation, primary.observation)
  if (!errant.isEmpty()) return `has ${errant.count()} errant transactions (${errant.toString().slice(0, 120)})`
  const holds = holdsOf(observation)
  if (!holds.contains(parseGtidSet(primary.observation.server?.purged ?? ''))) return 'lacks transactions that the primary no longer has in its binlogs'
  if (observation.stored.filterSeen) return 'has had a replication filter'
  const broken = observation.server?.channel?.sqlError ?? ''
  const strayedMs = situation.nowMs - (situation.strayingSince.get(view.name) ?? situation.nowMs)
  if (broken !== '' && strayedMs > brokenMs) return `cannot apply what it receives (${broken.slice(0, 120)})`
  const behind = holdsOf(primary.observation).subtract(holds).count()
  return holds.isEmpty() && behind > situation.spec.cloneAboveTransactions ? `is empty and lacks ${behind} transactions` : null
}

/** A follower from the sync set that runs, rather than the primary: a copy costs the donor. */
function donorFor(situation: Situation, view: LiveView, primary: LiveView): LiveView {
  const { record, timings, snapshot } = situation
  const replicas = record.syncSet.map((member) => liveView(snapshot, member)).filter((candidate) => isFollowing(candidate, record, timings))
  const able = replicas.filter((candidate) => candidate.name !== view.name && !candidate.observation.stored.forgetful)
  return able.length > 1 ? (able.at(-1) ?? primary) : (able[0] ?? primary)
}
