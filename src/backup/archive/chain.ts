import { counted, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { abbreviated } from '#common/text/words.ts'
import { nextOf, previousOf } from '#topology/gtid/gtid-number.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { ArchivedEpoch, ArchivedPiece } from './history.ts'
import type { Manifest } from '../objects/manifest.ts'
import { moment } from '#common/sentence/moment.ts'
import type { Opening } from '../objects/opening.ts'
import { isIn, type Piece } from '../objects/piece-name.ts'

/** A piece to replay, and the new part of the piece: the rest is skipped. */
export interface Step {
  readonly piece: Piece
  readonly gtids: GtidSet
}

/** A place where a chain of pieces breaks. */
export interface Hole {
  readonly epoch: number
  /** The transactions that lack, if they can be named; empty where only their number is known. */
  readonly gtids: GtidSet
  /** The lacking transactions were committed after the first time and before the second. */
  readonly afterMs: number
  readonly beforeMs: number
  readonly why: Sentence
}

/** A backup, and what the archive can bring the backup to without a gap. */
export interface Chain {
  readonly backup: Manifest
  readonly steps: readonly Step[]
  /** All transactions of the backup and the steps. */
  readonly gtids: GtidSet
  /** The commit time of the steps' last transaction; without steps, the end of the backup. */
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
 * One primary makes one history within an epoch, and replicas preserve its order. Members of a group do nearly so (see
 * `leadsOn`). So the transactions reached so far are a place in that history, and each piece tells its own place.
 * Before a piece of a greater place is a hole; a piece of an earlier place was shipped twice. The opening at the
 * beginning of an epoch tells two things. Transactions that the opening lacks are no part of the history that goes on:
 * a lost primary may have shipped what nobody else had. And transactions that the opening has must be reached before
 * the history goes on.
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
 * A time by which a transaction of the step was committed. The time is the latest of the piece, unless its last
 * transactions are left out: their time is by the clock of a lost primary, which went on while another primary led.
 */
export function latestOf({ piece, gtids }: Step): number {
  return gtids.last(piece.source) === piece.to ? piece.lastMs : piece.firstMs
}

/**
 * The newest epoch whose opening the copy holds. A replica that lagged was copied in an epoch that its data had not
 * reached.
 */
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

/** Leaves out transactions that were shipped and are no part of the history that goes on. */
function forget(walk: Walk, history: GtidSet): void {
  if (history.contains(walk.have)) return
  walk.have = walk.have.intersect(history)
  walk.steps = walk.steps
    .map(({ piece, gtids }) => ({ piece, gtids: gtids.intersect(history) }))
    .filter(({ gtids }) => !gtids.isEmpty())
}

/** @param later the epochs behind this epoch */
function follow(walk: Walk, { opening, pieces }: ArchivedEpoch, later: readonly ArchivedEpoch[]): Hole | null {
  // The pieces of a chain and those that are left are the same together at each place: one answer is that of the epoch.
  let mayLead: boolean | undefined
  for (const [at, archived] of pieces.entries()) {
    const { piece } = archived
    if (isIn(walk.have, piece)) continue
    const place = walk.have.count()
    if (piece.preceding > place) return lackingBefore(walk, piece, opening)
    const fresh = archived.gtids.subtract(walk.have)
    if (fresh.count() !== archived.ends - place) {
      mayLead ??= leadsOn(walk, pieces.slice(at), later)
      if (!mayLead) return contradicting(walk, piece)
    }
    walk.steps.push({ piece, gtids: fresh })
    walk.have = walk.have.union(fresh)
  }
  return null
}

/**
 * Members of a group commit transactions that do not touch each other in orders of their own. So two senders may tell
 * other places of the same transactions, and the pieces of one sender follow those of the other all the same. Where all
 * these pieces together have what the next epoch began with, nothing lacks.
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

/** The hole of transactions that the old primary had not shipped, and that the new primary has not shipped yet. */
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

/** The hole where a backup's server had transactions of its own, or somebody else put the piece there. */
function contradicting(walk: Walk, piece: Piece): Hole {
  const { epoch, source, from, to, firstMs: beforeMs } = piece
  return breakAt(
    walk,
    { epoch, gtids: GtidSet.empty, beforeMs },
    (after) =>
      say`piece ${source}:${from}-${to} of ${piece.sender} does not fit behind backup ${walk.backup.name}: ${after} both have other transactions`,
  )
}

/**
 * The numbers of that source between the place reached and the piece. These are exactly the lacking ones, unless tags
 * lack.
 */
function numbersBefore(have: GtidSet, { source, from }: Piece): GtidSet {
  const [first, last] = [nextOf(have.last(source)), previousOf(from)]
  return first <= last ? GtidSet.parse(`${source}:${first}-${last}`) : GtidSet.empty
}

function some(gtids: GtidSet) {
  return text(abbreviated(gtids.toString()))
}
