import type { Said } from '#common/sentence/sentence.ts'
import { distance } from '#topology/gtid/gtid-number.ts'
import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Manifest } from '../objects/manifest.ts'
import type { Opening } from '../objects/opening.ts'
import { gtidsOf, pieceName, type Piece } from '../objects/piece-name.ts'

/** The content of a cluster's folder, as read. */
export interface Archive {
  /** Manifests of the backups that are whole. */
  readonly manifests: readonly Manifest[]
  readonly openings: readonly Opening[]
  readonly pieces: readonly Piece[]
}

/**
 * An epoch of the archive: the beginning of its history, and the pieces in the order of that history. Pieces of later
 * epochs that close a hole of this epoch are among them.
 */
export interface ArchivedEpoch {
  readonly epoch: number
  /** Null where there is no opening, or none that is believed. */
  readonly opening: Opening | null
  /** The reason why the opening in the store is not believed; '' otherwise. */
  readonly distrust: Said
  readonly pieces: readonly ArchivedPiece[]
}

export interface ArchivedPiece {
  readonly piece: Piece
  readonly gtids: GtidSet
  /** The end of the piece as a place in its epoch's history: the number of transactions by then. */
  readonly ends: number
}

/** The epochs that have something in the archive, in their order. */
export function historyOf({ openings, pieces }: Pick<Archive, 'openings' | 'pieces'>): readonly ArchivedEpoch[] {
  const piecesOf = Map.groupBy(pieces, ({ epoch }) => epoch)
  const isBelieved = ({ distrust = '' }: Opening): boolean => distrust === ''
  const openingOf = new Map(openings.filter(isBelieved).map((opening) => [opening.epoch, opening]))
  const distrustOf = new Map(openings.map(({ epoch, distrust = '' }) => [epoch, distrust]))
  const newest = Math.max(-1, ...openingOf.keys())
  // Nobody knows what was lost before an epoch whose opening is not believed, unless a later opening tells.
  const unknown = [...distrustOf.keys()].filter((epoch) => epoch > newest)
  const all = new Set([...piecesOf.keys(), ...openingOf.keys(), ...unknown])
  const epochs = [...all].sort((one, other) => one - other)
  const shipped = epochs.map((epoch) => ({
    epoch,
    opening: openingOf.get(epoch) ?? null,
    distrust: distrustOf.get(epoch) ?? '',
    pieces: (piecesOf.get(epoch) ?? []).toSorted(inHistory).map((piece) => new Archived(piece)),
  }))
  return shipped.map((each, at) => withLater(each, shipped.slice(at + 1)))
}

/**
 * Adds pieces of later epochs that an epoch lacks: an instance that still had the transactions may have shipped them
 * later. Two epochs have one history up to a piece that the openings of both lead to. A place in one is the same place
 * in the other up to there.
 */
function withLater(epoch: ArchivedEpoch, later: readonly ArchivedEpoch[]): ArchivedEpoch {
  let common = epoch.pieces
  const closing = later.flatMap(({ opening, pieces }) => {
    const end = common.findLastIndex(({ gtids }) => opening?.gtids.contains(gtids) === true)
    common = common.slice(0, end + 1)
    const until = common.at(-1)?.ends ?? 0
    return endingBy(pieces, until)
  })
  if (closing.length === 0) return epoch
  const all = [...epoch.pieces, ...closing]
  return { ...epoch, pieces: all.toSorted((one, other) => inHistory(one.piece, other.piece)) }
}

/** The pieces, in the order of their places, that end by a place. No piece ends before its own beginning. */
function endingBy(pieces: readonly ArchivedPiece[], until: number): readonly ArchivedPiece[] {
  const found: ArchivedPiece[] = []
  for (const archived of pieces) {
    if (archived.piece.preceding >= until) break
    if (archived.ends <= until) found.push(archived)
  }
  return found
}

/** The set is made when it is asked for: an archive has more pieces than an agent can keep sets. */
class Archived implements ArchivedPiece {
  readonly piece: Piece

  constructor(piece: Piece) {
    this.piece = piece
  }

  get gtids(): GtidSet {
    return gtidsOf(this.piece)
  }

  get ends(): number {
    const { preceding, from, to } = this.piece
    return preceding + distance(from, to)
  }
}

/**
 * Compares two pieces by their places. Two senders may have shipped two pieces of one place: any order of these does
 * that is always the same.
 */
function inHistory(one: Piece, other: Piece): number {
  return one.preceding - other.preceding || (pieceName(one) < pieceName(other) ? -1 : 1)
}
