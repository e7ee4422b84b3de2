import { keyOf } from '#backup/objects/object-key.ts'
import { pieceObject } from '#backup/transfer/piece-object.ts'
import { memberId } from '#topology/snapshot/member.ts'
import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { gtidsOf } from '#backup/objects/piece-name.ts'
import type { Parts } from '#agents/instance/parts.ts'
import type { OpenedStore } from '#agents/ports/backup-port.ts'
import type { BinlogFile } from '#agents/ports/volume.ts'
import { PieceCutter, type CutPiece, type CutPlace, type Cutting } from './piece-cutter.ts'

/** A binlog file, and the place up to which the file is cut. */
interface Place extends CutPlace {
  readonly file: string
}

/** `waits`: the next transaction is not executed yet. `through`: the binlogs hold no more. */
export type Went = 'on' | 'waits' | 'through'

/** The place that pieces go to, and their epoch. */
export interface Sending {
  /** The folder of this cluster in the store. */
  readonly folder: string
  readonly lineage: string
  readonly opened: OpenedStore
  readonly epoch: number
  readonly signal: AbortSignal
}

/** The part of the binlogs that is to be sent. */
export interface ToSend extends Pick<Cutting, 'isExecuted' | 'isShipped'> {
  /** True where the transactions executed before a file are all done: the files before need no look. */
  readonly isDone: (before: GtidSet) => boolean
}

type SenderParts = Pick<Parts, 'config' | 'file' | 'observer' | 'volume'>

/**
 * Sends the content of this server's binlogs to the archive. The server is any whose binlogs hold what the archive
 * lacks.
 */
export class PieceSender {
  readonly #parts: SenderParts
  readonly #sending: Sending
  #place: Place | null = null

  constructor(parts: SenderParts, sending: Sending) {
    this.#parts = parts
    this.#sending = sending
  }

  /** Sends the next pieces of one file. @param sent is told of each piece that is in the store, with its key */
  async send({ isDone, ...which }: ToSend, sent: (gtids: GtidSet, key: string) => void): Promise<Went> {
    const place = this.#place ?? (await this.#firstPlace(isDone))
    const { volume, file, config } = this.#parts
    const { epoch, signal } = this.#sending
    const sender = memberId(config.instance, file.current.volume)
    const cutter = new PieceCutter({ epoch, sender, file: place.file, ...which }, place)
    // The list is read before the look: a file that ends after that has transactions that nobody saw.
    const files = await volume.listBinlogs()
    let isAtEnd = true
    await volume.visitBinlog(place.file, place.offset, (transaction) => (isAtEnd = cutter.add(transaction)), signal)
    const { pieces, place: next } = cutter.finish()
    for (const piece of pieces) {
      const key = await this.#put(piece)
      sent(gtidsOf(piece.piece), key)
    }
    this.#place = { file: place.file, ...next }
    if (pieces.length > 0) return 'on'
    return isAtEnd ? this.#nextFile(place.file, files) : 'waits'
  }

  /** Transactions that no binlog here holds any more. */
  get purged(): GtidSet {
    return parseGtidSet(this.#parts.observer.server?.purged ?? '')
  }

  async #put({ piece, end }: CutPiece): Promise<string> {
    const { volume } = this.#parts
    const { folder: cluster, lineage, opened, epoch, signal } = this.#sending
    if (epochOf(this.#parts) !== epoch) throw new Error('another instance leads meanwhile')
    const content = await volume.readBinlog({ name: piece.file, offset: piece.offset, end })
    const object = pieceObject(content, { cluster, lineage, piece }, opened.key)
    const key = keyOf({ kind: 'piece', cluster, piece })
    await opened.store.put(key, object, { signal, expectedBytes: content.rawBytes })
    return key
  }

  /** The newest file before which nothing is left to ship; else the oldest file. */
  async #firstPlace(isDone: ToSend['isDone']): Promise<Place> {
    const files = await this.#parts.volume.listBinlogs()
    for (const { name } of files.toReversed()) {
      const before = await this.#before(name)
      if (isDone(before) || name === files[0]?.name) return { file: name, offset: 0, preceding: before.count() }
    }
    throw new Error('the server has no binlog')
  }

  /** @param files the list as read before the look at the file's end */
  async #nextFile(file: string, files: readonly BinlogFile[]): Promise<Went> {
    const next = files[files.findIndex(({ name }) => name === file) + 1]
    if (next === undefined) return 'through'
    this.#place = { file: next.name, offset: 0, preceding: (await this.#before(next.name)).count() }
    return 'on'
  }

  /** All transactions executed before this file began. Copied and purged transactions are in no file. */
  async #before(file: string): Promise<GtidSet> {
    const previous = await this.#parts.volume.previousGtids(file)
    if (previous === null) throw new Error(`${file} cannot be read, as an encrypted binlog cannot`)
    return parseGtidSet(previous).union(this.purged)
  }
}

/** The epoch in which this instance acts; -1 for none. */
export function epochOf({ file }: Pick<Parts, 'file'>): number {
  return file.current.assignment?.epoch ?? -1
}
