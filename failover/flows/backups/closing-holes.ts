import { counted, say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { abbreviated } from '#common/text/words.ts'
import { isFollowing, liveView, liveViews, type LiveView, type Situation } from '#failover/judge/situation.ts'
import type { BackupSettings } from '#failover/protocol/backup-settings.ts'
import type { WordAction } from '#failover/protocol/decision.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { isFreeOfErrant } from '#topology/snapshot/comparison.ts'

/** What becomes of a hole in the archive. */
export interface ClosedHoles {
  readonly actions: readonly WordAction<'closeHole'>[]
  readonly reason: Said
}

/** Time until an instance is told again that failed, or that has shipped what the primary still misses. */
const againMs = 60_000

interface Holder {
  readonly view: LiveView
  /** The part of what the archive lacks that this instance's binlogs hold. */
  readonly holds: GtidSet
  /** Time for which the instance is left alone: it failed, or has shipped all of that. */
  readonly waitMs: number
}

/** What the archive lacks is shipped by an instance whose binlogs still hold that: the one that holds most. */
export function closeHoles(situation: Situation, { store }: BackupSettings): ClosedHoles {
  const lacks = lackingIn(situation)
  if (lacks.isEmpty()) return { actions: [], reason: '' }
  const busy = liveViews(situation.snapshot).find(({ observation }) => observation.closesHole?.stage === 'ships')
  if (busy !== undefined)
    return { actions: [], reason: say`${busy.name} ships what the archive lacks (${some(lacks)})` }
  const able = holdersOf(situation, lacks)
  const [holder] = able.filter(({ waitMs }) => waitMs === 0)
  if (holder === undefined) return { actions: [], reason: failureOf(able) }
  const { view, holds } = holder
  const { cluster, record } = situation
  const said = { version: orderVersion, cluster, member: view.observation.member, epoch: record.epoch, store }
  return {
    actions: [{ kind: 'say', to: view.name, word: 'closeHole', said: { ...said, gtids: holds.toString() } }],
    reason: say`the binlogs of ${view.name} hold ${some(holds)} that the archive lacks: it is told to ship them`,
  }
}

/**
 * What a restore needs, no backup holds, and nobody who answers can ship any more: why another backup is made at once.
 * '' where there is no such thing.
 */
export function whyLostToArchive(situation: Situation): Said {
  const seen = seenBy(situation)
  if (seen === undefined || seen.hole === '') return ''
  const lacks = lackingIn(situation)
  const lost = holdersOf(situation, lacks).reduce((left, { holds }) => left.subtract(holds), lacks)
  return lost.isEmpty()
    ? ''
    : say`the archive lacks ${some(lost)}, which no binlog holds any more: only a backup ends that hole`
}

function seenBy({ snapshot, record }: Situation) {
  return liveView(snapshot, record.primary)?.observation.binlogArchive
}

/** Nothing while the primary cannot use the store: then nobody can, or what is seen is old. */
function lackingIn(situation: Situation): GtidSet {
  const seen = seenBy(situation)
  return seen === undefined || seen.trouble !== '' ? GtidSet.empty : parseGtidSet(seen.lacks ?? '')
}

/** Best first. Nobody who may have another history than the primary. */
function holdersOf(situation: Situation, lacks: GtidSet): readonly Holder[] {
  const { snapshot, record } = situation
  const primary = liveView(snapshot, record.primary)
  if (primary === undefined) return []
  return liveViews(snapshot)
    .filter((view) => isFollowing(view, situation) && view.observation.closesHoles === true)
    .filter(({ observation }) => isFreeOfErrant(observation, primary.observation))
    .map((view) => ({ view, holds: heldBy(view, lacks) }))
    .filter(({ holds }) => !holds.isEmpty())
    .map((holder) => ({ ...holder, waitMs: waitOf(holder) }))
    .toSorted((one, other) => other.holds.count() - one.holds.count())
}

/**
 * Binlogs hold what their server has executed and not purged, by one look. The primary's look may be the older one: the
 * archive has less of a hole by now, and what is shipped twice does no harm.
 */
function heldBy({ observation: { server } }: LiveView, lacks: GtidSet): GtidSet {
  if (server === null) return GtidSet.empty
  return lacks.intersect(parseGtidSet(server.executed)).subtract(parseGtidSet(server.purged))
}

function waitOf({ view, holds }: Pick<Holder, 'view' | 'holds'>): number {
  const last = view.observation.closesHole
  if (last === undefined || !parseGtidSet(last.gtids).contains(holds)) return 0
  return Math.max(0, againMs - last.agoMs)
}

function failureOf(holders: readonly Holder[]): Said {
  const failed = holders.find(({ view }) => view.observation.closesHole?.stage === 'failed')
  if (failed === undefined) return ''
  const { view, holds } = failed
  const why = text(view.observation.closesHole?.sentence ?? '')
  return say`${view.name} could not ship ${some(holds)} that the archive lacks: ${why}; that is tried again`
}

function some(gtids: GtidSet): Sentence {
  return say`${counted(gtids.count(), 'transaction')} (${text(abbreviated(gtids.toString()))})`
}
