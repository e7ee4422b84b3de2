import { extraOf } from '#topology/snapshot/comparison.ts'
import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { liveView, type LiveView, type Situation } from '../situation.ts'

/**
 * `none` · `unjudged` its agent has not read yet what they changed · `harmless` they changed no data, and the primary
 * can write empty ones in their place · `harmful` only a copy helps.
 */
export type Errant = 'none' | 'unjudged' | 'harmless' | 'harmful'

/** A primary writes no more empty transactions than this: more than hands make, and each waits to be acknowledged. */
const mostEmptied = 1_000

/** The replica holds what the primary is proven never to have had. */
export function isErrant(situation: Situation, view: LiveView): boolean {
  return !provenErrant(situation, view).isEmpty()
}

/**
 * Nothing is proven while the primary is no measure: it does not answer, or lacks a part of what it was elected for.
 */
export function provenErrant({ snapshot, record }: Situation, { observation }: LiveView): GtidSet {
  const primary = liveView(snapshot, record.primary)?.observation
  if (primary === undefined || primary.server === null || (primary.lacksElected ?? '') !== '') return GtidSet.empty
  return extraOf(observation, primary).errant
}

/** What it is to be told of that. What it was told before stays so while nothing can be proven. */
export function errantToTell(situation: Situation, view: LiveView): GtidSet {
  const { snapshot, record } = situation
  const primary = liveView(snapshot, record.primary)
  return primary === undefined || primary.observation.server === null
    ? parseGtidSet(view.observation.errantTold ?? '')
    : provenErrant(situation, view)
}

/** What is to be done about what is proven errant there. */
export function errantKind(situation: Situation, view: LiveView): Errant {
  const errant = provenErrant(situation, view)
  if (errant.isEmpty()) return 'none'
  return canBeEmptied(situation, view, errant) ? asJudged(view.observation, errant) : 'harmful'
}

/**
 * Errant GTIDs that another server issued are not emptied: an instance elsewhere may hold another transaction under the
 * same name. An older agent of the replica reads no errant set; an older agent of the primary writes no empty
 * transactions.
 */
function canBeEmptied({ snapshot, record }: Situation, { observation }: LiveView, errant: GtidSet): boolean {
  const { errantTold, server } = observation
  const primary = liveView(snapshot, record.primary)
  if (errantTold === undefined || primary?.observation.errantTold === undefined || server === null) return false
  return errant.withoutSource(server.uuid).isEmpty() && errant.count() <= mostEmptied
}

/** What they changed is for its own agent to read, in its own binlog. More of them may have come since. */
function asJudged({ errantJudged }: Observation, errant: GtidSet): Errant {
  if (errantJudged === undefined) return 'unjudged'
  const judged = parseGtidSet(errantJudged.of)
  if (!errantJudged.changesNothing && !judged.intersect(errant).isEmpty()) return 'harmful'
  return judged.contains(errant) ? 'harmless' : 'unjudged'
}
