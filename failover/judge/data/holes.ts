import { counted, say, text, type Said } from '#common/sentence/sentence.ts'
import { parseGtidSet, type GtidSet } from '#topology/gtid/gtid-set.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import type { LiveView, Situation } from '../situation.ts'

/**
 * A replica counts with a tail, never with a hole: what it lacks must be on its way to it. A replica that was passed
 * over (its receiver left out what carried its own `server_id`, or what its source executed is in no binlog) holds less
 * than what it acknowledged lets others believe.
 */
export function hasHole(situation: Situation, view: InstanceView): boolean {
  return whyHoled(situation, view) !== ''
}

/** As the end of a sentence; '' for no hole that is known. */
export function whyHoled({ passedOver }: Pick<Situation, 'passedOver'>, { name }: InstanceView): Said {
  const lacking = parseGtidSet(passedOver.get(name) ?? '')
  if (lacking.isEmpty()) return ''
  return say`was passed over: it has received what came after ${counted(lacking.count(), 'transaction')} that it lacks (${text(lacking.toString().slice(0, 120))})`
}

/**
 * What the primary has in no binlog any more, or never had, and a replica lacks: it gets that by a copy alone. Where
 * the look at the primary is the newer one, the replica may have received since what was purged since: only by a
 * person's hand, as binlogs are kept for it.
 */
export function lackedForGood({ observation }: LiveView, primary: LiveView): GtidSet {
  return parseGtidSet(primary.observation.server?.purged ?? '').subtract(holdsOf(observation))
}

/**
 * What `other` was passed over with, `view` was too: nothing goes with `view` that `other` lacks. So with data that are
 * in no binlog of the primary, which every replica lacks.
 */
export function lacksNoMore({ passedOver }: Situation, other: InstanceView, view: InstanceView): boolean {
  const lacking = ({ name }: InstanceView) => parseGtidSet(passedOver.get(name) ?? '')
  return lacking(view).contains(lacking(other))
}

/**
 * A member with a hole acknowledges more than it holds, and is told to stop in two cases: another counted replica lacks
 * less, or no other replica could be made whole first. What all counted replicas lack, the primary alone has either
 * way. So members that hold all that is written from now on go on, and are seeded one after the other.
 */
export function mustStopForHole(situation: Situation, view: InstanceView): boolean {
  if (!hasHole(situation, view)) return false
  const { record, snapshot } = situation
  const others = snapshot.instances.filter(
    ({ name, observation }) => name !== view.name && observation?.member !== record.primary,
  )
  const isCounted = ({ observation }: InstanceView): boolean =>
    observation !== null && record.syncSet.includes(observation.member)
  return others.length === 0 || others.some((other) => isCounted(other) && !lacksNoMore(situation, view, other))
}

/**
 * The replica is shown to hold everything up to some place in the binlogs of its primary: what it lacks is a tail.
 * Agents that are older than that look cannot be asked for more than before.
 */
export function isShownWhole({ passedOver }: Situation, view: LiveView, primary: LiveView): boolean {
  const shown = passedOver.get(view.name)
  if (shown !== undefined) return shown === ''
  const [replica, source] = [view.observation.server, primary.observation.server]
  return replica?.channel?.hasRead === undefined || source?.binlogPosition === undefined
}
