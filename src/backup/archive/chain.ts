import { counted, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { abbreviated } from '#common/text/words.ts'
import { nextOf, previousOf } from '#topology/gtid/gtid-number.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { ArchivedEpoch, ArchivedPiece } from './history.ts'
import type { Manifest } from '../objects/manifest.ts'
import { moment } from '#common/sentence/moment.ts'
import type { Opening } from '../objects/opening.ts'
import type { Piece } from '../objects/piece-name.ts'

/** One piece to replay, and what of that piece is new: the rest is skipped. */
export interface Step {
  readonly piece: Piece
  readonly gtids: GtidSet
}

/** Where a chain of pieces breaks. */
export interface Hole {
  readonly epoch: number
  /** What lacks, as far as that can be named; empty where only the number of transactions is known. */
  readonly gtids: GtidSet
  /** Committed after the one and before the other. */
  readonly afterMs: number
  readonly beforeMs: number
  readonly why: Sentence
}

/** What a backup can be brought to by the archive, without a gap. */
export interface Chain {
  readonly backup: Manifest
  readonly steps: readonly Step[]
  /** All that the backup and the steps hold. */
  readonly gtids: GtidSet
  /** When the last transaction of the steps was committed; without steps, when the backup ended. */
  readonly reachesMs: number
  readonly hole: Hole | null
}

interface Walk {
  readonly backup: Manifest
  readonly copied: GtidSet
  steps: Step[]
  have: GtidSet
}

/**
 * Follows the archive from a backup on, to its end or to the first hole.
 *
 * Within an epoch one primary makes one history, and replicas preserve its order; members of a group do nearly so (see
 * `leadsOn`). So what has been reached is a place in that history, and each piece tells its own place: before a piece
 * of a greater place there is a hole, and one of an earlier place was shipped twice. Where an epoch begins, the opening
 * says what is no part of the history that goes on, since a lost primary may have shipped what nobody else had; and
 * what must be reached before that history goes on.
 */
export function chainFrom(backup: Manifest, history: readonly ArchivedEpoch[]): Chain {
  const copied = GtidSet.parse(backup.gtids)
  const walk: Walk = { backup, copied, steps: [], have: copied }
  const began = firstOf(walk, history)
  for (const [at, epoch] of history.entries()) {
    if (at < began) continue
    const hole = enter(walk, epoch) ?? follow(walk, epoch, history.slice(at + 1))
    if (hole !== null) return chainOf(walk, hole)
  }
  return chainOf(walk, unshipped(walk, history))
}

function chainOf(walk: Walk, hole: Hole | null): Chain {
  const { backup, steps, have } = walk
  return { backup, steps, gtids: have, reachesMs: reachedMs(walk), hole }
}

function reachedMs({ steps, backup }: Walk): number {
  if (steps.length === 0) return backup.endedAtMs
  return steps.reduce((latest, step) => Math.max(latest, latestOf(step)), 0)
}

/**
 * A time by which a transaction of the step was committed: the latest one, unless the last of the piece are left out.
 * Theirs was the clock of a lost primary, which went on while another one led.
 */
export function latestOf({ piece, gtids }: Step): number {
  return gtids.last(piece.source) === piece.to ? piece.lastMs : piece.firstMs
}

/** The newest epoch whose opening the copy holds: a replica that lagged was copied in an epoch it had not reached. */
function firstOf({ backup, copied }: Walk, history: readonly ArchivedEpoch[]): number {
  const at = history.findLastIndex(
    ({ epoch, opening }) => epoch <= backup.epoch && opening !== null && copied.contains(opening.gtids),
  )
  return Math.max(0, at)
}

function enter(walk: Walk, { epoch, opening, pieces, distrust }: ArchivedEpoch): Hole | null {
  const { backup, copied } = walk
  if (opening === null)
    return breakAt(walk, { epoch, gtids: GtidSet.empty, beforeMs: pieces[0]?.piece.firstMs ?? 0 }, (at) =>
      distrust === ''
        ? say`the archive of epoch ${epoch} lacks its opening: ${at} what the pieces of that epoch follow is not known`
        : say`${at} the archive is not followed: ${distrust}`,
    )
  const isLater = epoch > backup.epoch
  const lost = isLater ? copied.subtract(opening.gtids) : GtidSet.empty
  if (!lost.isEmpty())
    return breakAt(
      walk,
      { epoch, gtids: GtidSet.empty, beforeMs: opening.atMs },
      () =>
        say`backup ${backup.name} holds ${counted(lost.count(), 'transaction')} (${some(lost)}) that epoch ${epoch} does not have`,
    )
  forget(walk, isLater ? opening.gtids : opening.gtids.union(copied))
  return null
}

/** What is shipped and no part of the history that goes on is not replayed. */
function forget(walk: Walk, history: GtidSet): void {
  if (history.contains(walk.have)) return
  walk.have = walk.have.intersect(history)
  walk.steps = walk.steps
    .map(({ piece, gtids }) => ({ piece, gtids: gtids.intersect(history) }))
    .filter(({ gtids }) => !gtids.isEmpty())
}

/** @param later the epochs behind this one */
function follow(walk: Walk, { opening, pieces }: ArchivedEpoch, later: readonly ArchivedEpoch[]): Hole | null {
  for (const [at, { piece, gtids, ends }] of pieces.entries()) {
    if (walk.have.contains(gtids)) continue
    const place = walk.have.count()
    if (piece.preceding > place) return lackingBefore(walk, piece, opening)
    const fresh = gtids.subtract(walk.have)
    if (fresh.count() !== ends - place && !leadsOn(walk, pieces.slice(at), later)) return contradicting(walk, piece)
    walk.steps.push({ piece, gtids: fresh })
    walk.have = walk.have.union(fresh)
  }
  return null
}

/**
 * Members of a group commit transactions that do not touch each other in orders of their own. So two senders may tell
 * other places of the same transactions, and what one shipped is followed by what the other one shipped all the same:
 * where all of that together has what the next epoch began with, nothing lacks.
 */
function leadsOn({ have }: Walk, left: readonly ArchivedPiece[], later: readonly ArchivedEpoch[]): boolean {
  const began = later[0]?.opening?.gtids
  if (began === undefined) return false
  const all = [...left, ...later.flatMap(({ pieces }) => pieces)]
  return all.reduce((shipped, { gtids }) => shipped.subtract(gtids), began.subtract(have)).isEmpty()
}

function breakAt(walk: Walk, hole: Pick<Hole, 'epoch' | 'gtids' | 'beforeMs'>, why: (at: Sentence) => Sentence): Hole {
  const afterMs = reachedMs(walk)
  return { ...hole, afterMs, why: why(say`after ${moment(afterMs)}`) }
}

/** What the old primary did not ship any more, and the new one not yet. */
function unshipped(walk: Walk, history: readonly ArchivedEpoch[]): Hole | null {
  const opening = history.at(-1)?.opening ?? null
  if (opening === null || walk.have.contains(opening.gtids)) return null
  const { epoch, atMs } = opening
  const gtids = opening.gtids.subtract(walk.have)
  return breakAt(
    walk,
    { epoch, gtids, beforeMs: atMs },
    (after) =>
      say`the archive lacks ${counted(gtids.count(), 'transaction')} (${some(gtids)}), committed ${after}, before epoch ${epoch}`,
  )
}

function lackingBefore(walk: Walk, piece: Piece, opening: Opening | null): Hole {
  const { epoch, source, from, firstMs: beforeMs } = piece
  const count = piece.preceding - walk.have.count()
  const begun = opening?.gtids.subtract(walk.have) ?? GtidSet.empty
  const gtids = begun.union(numbersBefore(walk.have, piece))
  const named = gtids.count() === count
  return breakAt(walk, { epoch, gtids: named ? gtids : GtidSet.empty, beforeMs }, (after) =>
    named
      ? say`the archive lacks ${counted(count, 'transaction')} (${some(gtids)}), committed ${after} and before ${moment(beforeMs)}`
      : say`the archive lacks ${counted(count, 'transaction')} before ${source}:${from}, committed ${after} and before ${moment(beforeMs)}`,
  )
}

/** A backup of a server that had transactions of its own, or a piece that somebody else put there. */
function contradicting(walk: Walk, piece: Piece): Hole {
  const { epoch, source, from, to, firstMs: beforeMs } = piece
  return breakAt(
    walk,
    { epoch, gtids: GtidSet.empty, beforeMs },
    (after) =>
      say`piece ${source}:${from}-${to} of ${piece.sender} does not fit behind backup ${walk.backup.name}: ${after} both have other transactions`,
  )
}

/** The numbers of that source between what was reached and the piece: exactly what lacks, unless tags do. */
function numbersBefore(have: GtidSet, { source, from }: Piece): GtidSet {
  const [first, last] = [nextOf(have.last(source)), previousOf(from)]
  return first <= last ? GtidSet.parse(`${source}:${first}-${last}`) : GtidSet.empty
}

function some(gtids: GtidSet) {
  return text(abbreviated(gtids.toString()))
}
