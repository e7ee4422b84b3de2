import type { Said } from '#common/sentence/sentence.ts'
import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Manifest } from '../objects/manifest.ts'
import type { Opening } from '../objects/opening.ts'
import { gtidsOf, pieceName, type Piece } from '../objects/piece-name.ts'

/** What was read of a cluster's folder. */
export interface Archive {
  /** Of the backups that are whole. */
  readonly manifests: readonly Manifest[]
  readonly openings: readonly Opening[]
  readonly pieces: readonly Piece[]
}

/**
 * One epoch of the archive: with what its history began, and the pieces in the order of that history; those of later
 * epochs among them that close a hole of this one.
 */
export interface ArchivedEpoch {
  readonly epoch: number
  /** Null where there is none, or none that is believed. */
  readonly opening: Opening | null
  /** Why the one that is there is not believed; '' otherwise. */
  readonly distrust: Said
  readonly pieces: readonly ArchivedPiece[]
}

export interface ArchivedPiece {
  readonly piece: Piece
  readonly gtids: GtidSet
  /** Where it ends in the history of its epoch: how many transactions there are then. */
  readonly ends: number
}

/** The epochs that have something in the archive, in their order. */
export function historyOf({ openings, pieces }: Pick<Archive, 'openings' | 'pieces'>): readonly ArchivedEpoch[] {
  const piecesOf = Map.groupBy(pieces, ({ epoch }) => epoch)
  const isBelieved = ({ distrust = '' }: Opening): boolean => distrust === ''
  const openingOf = new Map(openings.filter(isBelieved).map((opening) => [opening.epoch, opening]))
  const distrustOf = new Map(openings.map(({ epoch, distrust = '' }) => [epoch, distrust]))
  const newest = Math.max(-1, ...openingOf.keys())
  // What was lost before an epoch whose opening is not believed nobody knows, unless a later one tells.
  const unknown = [...distrustOf.keys()].filter((epoch) => epoch > newest)
  const all = new Set([...piecesOf.keys(), ...openingOf.keys(), ...unknown])
  const epochs = [...all].sort((one, other) => one - other)
  const shipped = epochs.map((epoch) => ({
    epoch,
    opening: openingOf.get(epoch) ?? null,
    distrust: distrustOf.get(epoch) ?? '',
    pieces: (piecesOf.get(epoch) ?? []).toSorted(inHistory).map(archived),
  }))
  return shipped.map((each, at) => withLater(each, shipped.slice(at + 1)))
}

/**
 * What an epoch did not ship may have been shipped in a later one, by whoever still had that. Up to a piece that the
 * openings of both epochs lead to, both have one history, and a place in one is the same place in the other.
 */
function withLater(epoch: ArchivedEpoch, later: readonly ArchivedEpoch[]): ArchivedEpoch {
  let common = epoch.pieces
  const closing = later.flatMap(({ opening, pieces }) => {
    const end = common.findLastIndex(({ gtids }) => opening?.gtids.contains(gtids) === true)
    common = common.slice(0, end + 1)
    const until = common.at(-1)?.ends ?? 0
    return pieces.filter(({ ends }) => ends <= until)
  })
  if (closing.length === 0) return epoch
  const all = [...epoch.pieces, ...closing]
  return { ...epoch, pieces: all.toSorted((one, other) => inHistory(one.piece, other.piece)) }
}

function archived(piece: Piece): ArchivedPiece {
  const gtids = gtidsOf(piece)
  return { piece, gtids, ends: piece.preceding + gtids.count() }
}

/** By their places; of two of one place, which two senders shipped, any order does that is always the same. */
function inHistory(one: Piece, other: Piece): number {
  return one.preceding - other.preceding || (pieceName(one) < pieceName(other) ? -1 : 1)
}
