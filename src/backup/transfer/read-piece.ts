import { eventTypes } from '#binlog/events.ts'
import { begunBy, isGtidEvent } from '#binlog/gtid-event.ts'
import { segmentsOf, type Segment } from '#binlog/segments.ts'
import { say, type Said } from '#common/sentence/sentence.ts'
import type { ObjectStore } from '#object-store/object-store.ts'
import { nextOf, type GtidNumber } from '#topology/gtid/gtid-number.ts'
import { keyOf } from '../objects/object-key.ts'
import { pieceName, type Piece } from '../objects/piece-name.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { unusable } from '../objects/stored-json.ts'
import { stillThere } from './still-there.ts'
import { pieceContent, type PiecePlace } from './piece-object.ts'

export interface PieceSource extends PiecePlace {
  readonly store: Pick<ObjectStore, 'get'>
  /** The keys that a person keeps; null where there are none. */
  readonly key: KeyRing | null
  readonly signal?: AbortSignal | undefined
}

/**
 * The events of a piece: the Format_description event of its file, then those of its transactions. A caller may use
 * them only once all have come: the object may still prove wrong at its end. Throws where the object is not whole, or
 * holds other transactions than its name says. With a key, throws also for a name that its sender did not sign. Rejects
 * as the store does, and with `REGENT_BACKUP_UNUSABLE`.
 */
export async function* readPiece(source: PieceSource): AsyncGenerator<Segment, void, void> {
  const { store, cluster, lineage, piece, key, signal } = source
  const object = store.get(keyOf({ kind: 'piece', cluster, piece }), undefined, { signal })
  const stored = stillThere(object, say`piece ${pieceName(piece)}`)
  const expected = new Expected(piece)
  for await (const segment of segmentsOf(pieceContent(stored, { cluster, lineage, piece }, key))) {
    if (segment.begins) expected.see(segment)
    yield segment
  }
  expected.end()
}

/** Compares what comes with the name of the piece. */
class Expected {
  readonly #piece: Piece
  #isBegun = false
  /** The transaction that comes next. */
  #next: GtidNumber

  constructor(piece: Piece) {
    this.#piece = piece
    this.#next = piece.from
  }

  see({ event, bytes }: Segment): void {
    if (!this.#isBegun && event.type !== eventTypes.formatDescription)
      throw this.#unusable(say`it does not begin with a Format_description event`)
    this.#isBegun = true
    if (event.type === eventTypes.anonymousGtid) throw this.#unusable(say`it holds a transaction without a GTID`)
    if (isGtidEvent(event.type)) this.#begin(bytes)
  }

  end(): void {
    if (this.#next !== nextOf(this.#piece.to)) throw this.#unusable(say`it ends before transaction ${this.#next}`)
  }

  #begin(event: Buffer): void {
    const { source, to, firstMs, lastMs } = this.#piece
    const begun = begunBy(event)
    if (begun.source !== source || begun.number !== this.#next || begun.number > to)
      throw this.#unusable(say`it holds transaction ${begun.source}:${begun.number}`)
    if (begun.committedMs < firstMs || begun.committedMs > lastMs)
      throw this.#unusable(say`its transaction ${begun.number} was committed at another time`)
    this.#next = nextOf(begun.number)
  }

  #unusable(why: Said) {
    return unusable(say`piece ${pieceName(this.#piece)}`, why)
  }
}
