import { say, type CommandPart, type Sentence } from '#common/sentence/sentence.ts'
import { bringBack } from './starting.ts'
import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { isFreeOfErrant } from '#topology/snapshot/comparison.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { isGone } from '#topology/snapshot/snapshot.ts'
import { salvages } from '#failover/protocol/mode-name.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { liveView, liveViews, viewOf, type LiveView, type Situation } from '../situation.ts'
import { isUncopied } from '../data/doubted-members.ts'
import { hasDoubtedData } from '../data/doubted-data.ts'

/**
 * An elected primary must not open with less than it promised. What it had received and not applied can be thrown away
 * under it, by whoever changes its channel. So the record names the set that the election was held for; the primary's
 * agent compares, and the election is held again among those who still hold that set.
 */
export function electedSetOf({ elected }: Pick<ClusterRecord, 'elected'>): GtidSet {
  return elected === undefined ? GtidSet.empty : parseGtidSet(elected)
}

/** A record is one object of Kubernetes, which takes a mebibyte at most: one that is longer is never committed. */
const longestElected = 262_144

/**
 * For the record of a new epoch. An empty set asks for nothing, and is left out. A set that is too long for a record is
 * cut to the part that can be thrown away: what the candidate has executed stays.
 */
export function electedFor(set: GtidSet, executed: GtidSet): Pick<ClusterRecord, 'elected'> {
  const isTooLong = (one: GtidSet): boolean => one.toString().length > longestElected
  const named = isTooLong(set) ? set.subtract(executed) : set
  return named.isEmpty() || isTooLong(named) ? {} : { elected: named.toString() }
}

/** For the primary's order, where its agent knows the word. */
export function electedIn({ elected }: ClusterRecord, { observation }: LiveView): Pick<ClusterRecord, 'elected'> {
  return elected === undefined || observation.lacksElected === undefined ? {} : { elected }
}

/** What the primary of this epoch lacks of its set, by the word of its own agent. */
export function lackedByPrimary(
  { epoch }: Pick<ClusterRecord, 'epoch'>,
  { stored: { assignment }, lacksElected }: Observation,
): GtidSet {
  const isOfThisEpoch = assignment?.role === 'primary' && assignment.epoch === epoch
  return isOfThisEpoch && lacksElected !== undefined ? parseGtidSet(lacksElected) : GtidSet.empty
}

/** Nobody is archived, trimmed, called errant or seeded by what such a primary holds. */
export function isMeasure(record: ClusterRecord, { observation }: LiveView): boolean {
  return lackedByPrimary(record, observation).isEmpty()
}

/** The primary holds its set, by its newest look. The set does not change within an epoch: an older look holds less. */
export function holdsElected(record: ClusterRecord, observation: Observation): boolean {
  return lackedByPrimary(record, observation).isEmpty() && holdsOf(observation).contains(electedSetOf(record))
}

/**
 * Neither the primary nor members of S, and nothing speaks against what they hold: the old primary of a failover among
 * them. Where such a one may lead, what it alone has since it was given up is in the way of what was written since.
 */
export function outsiders(situation: Situation): readonly MemberId[] {
  const { snapshot, record, spec } = situation
  return liveViews(snapshot)
    .filter(
      ({ past, observation: { stored } }) =>
        past === undefined && !stored.seeding && !hasDoubtedData(stored) && !stored.forgetful,
    )
    .filter(({ observation }) => !isUncopied(record, observation))
    .filter((view) => !salvages(spec) || isWithoutErrant(situation, view))
    .map(({ observation }) => observation.member)
    .filter((member) => member !== record.primary && !record.syncSet.includes(member))
}

/** As it was told, and beside what the primary was seen to hold last. */
function isWithoutErrant({ snapshot, record }: Situation, { observation }: LiveView): boolean {
  const primary = viewOf(snapshot, record.primary)?.observation ?? null
  return (observation.errantTold ?? '') === '' && (primary === null || isFreeOfErrant(observation, primary))
}

/** Its mysqld is down since it was primary, and its agent promises all the same: it reads the binlog. */
export function isDeadHolder({ observation }: LiveView): boolean {
  return isGone(observation) && observation.promiseReport?.asPrimary === true
}

/** The primary was elected while its mysqld was down, and is to be started: it was not told yet. */
export function isToBeStarted({ snapshot, record }: Situation): boolean {
  const view = liveView(snapshot, record.primary)
  if (view === undefined || !isDeadHolder(view)) return false
  const { stored, promiseReport } = view.observation
  return (
    promiseReport?.epoch === record.epoch &&
    stored.promise === record.epoch &&
    (stored.assignment?.epoch ?? 0) < record.epoch
  )
}

/** Why the cluster has no primary, and what helps. @param byForce what a person may do without those who are missing */
export function standsStill(situation: Situation, sentence: Sentence, byForce: CommandPart): Sentence {
  const { record, snapshot } = situation
  const silent = snapshot.instances.filter(({ reachable }) => !reachable).map(({ name }) => name)
  const lost = [
    ...new Set([
      ...record.syncSet.filter((member) => liveView(snapshot, member) === undefined).map(instanceOf),
      ...silent,
    ]),
  ]
  const whom = lost.length > 0 ? lost.join(', ') : say`its holder`
  const advice = bringBack(situation, whom, say`give that up: ${byForce}`)
  return say`no primary: ${sentence}; nobody who may lead holds that set: ${advice}`
}
