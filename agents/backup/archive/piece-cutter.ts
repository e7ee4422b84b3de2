import type { Piece } from '#backup/objects/piece-name.ts'
import { nextOf } from '#topology/gtid/gtid-number.ts'
import type { BinlogTransaction } from '#agents/ports/volume.ts'

/** A piece, and its end in its binlog file. */
export interface CutPiece {
  readonly piece: Piece
  readonly end: number
}

/** The transactions to be shipped. A transaction that is not executed yet may still be taken back. */
export interface Cutting extends Pick<Piece, 'epoch' | 'sender' | 'file'> {
  readonly isExecuted: (transaction: BinlogTransaction) => boolean
  readonly isShipped: (transaction: BinlogTransaction) => boolean
}

/** The place where one look at a binlog file ends, and the next look begins. */
export interface CutPlace {
  readonly offset: number
  /** Transactions that were executed before the transaction at that place. */
  readonly preceding: number
}

/** The bytes that a sender handles at a time; a longer transaction is a piece of its own. */
const pieceBytes = 16_777_216
const mostPieces = 64

/** Cuts the content of a binlog file into pieces: transactions of one source that follow each other, with no gap. */
export class PieceCutter {
  readonly #cutting: Cutting
  readonly #pieces: CutPiece[] = []
  #place: CutPlace
  #open: CutPiece | null = null

  constructor(cutting: Cutting, from: CutPlace) {
    this.#cutting = cutting
    this.#place = from
  }

  /** False where the cutter takes no more. A later look brings this transaction again. */
  add(transaction: BinlogTransaction): boolean {
    const { isExecuted, isShipped } = this.#cutting
    if (!isExecuted(transaction) || this.#pieces.length >= mostPieces) return false
    if (isShipped(transaction)) this.#close()
    else if (this.#follows(transaction)) this.#extend(transaction)
    else this.#begin(transaction)
    this.#place = { offset: transaction.end, preceding: this.#place.preceding + 1 }
    return true
  }

  /** Gives the pieces, and the place where the next look begins. */
  finish(): { readonly pieces: readonly CutPiece[]; readonly place: CutPlace } {
    this.#close()
    return { pieces: this.#pieces, place: this.#place }
  }

  #follows({ source, number, offset, end }: BinlogTransaction): boolean {
    if (this.#open === null) return false
    const { piece, end: before } = this.#open
    return (
      before === offset && piece.source === source && nextOf(piece.to) === number && end - piece.offset <= pieceBytes
    )
  }

  #extend({ number, committedMs, end }: BinlogTransaction): void {
    if (this.#open === null) return
    const { piece } = this.#open
    const firstMs = Math.min(piece.firstMs, committedMs)
    const lastMs = Math.max(piece.lastMs, committedMs)
    this.#open = { piece: { ...piece, to: number, firstMs, lastMs }, end }
  }

  #begin({ source, number, committedMs, offset, end }: BinlogTransaction): void {
    this.#close()
    const { epoch, sender, file } = this.#cutting
    const { preceding } = this.#place
    const times = { firstMs: committedMs, lastMs: committedMs }
    const piece = { epoch, ...times, source, from: number, to: number, preceding, sender, file, offset }
    this.#open = { piece, end }
  }

  #close(): void {
    if (this.#open !== null) this.#pieces.push(this.#open)
    this.#open = null
  }
}
