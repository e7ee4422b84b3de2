import type { BegunTransaction } from '#binlog/gtid-event.ts'
import { relayLogHead } from '#binlog/relay-log-head.ts'
import type { Piece } from '#backup/objects/piece-name.ts'
import type { Replayed } from '#backup/restore/replayed.ts'
import { relayBatchBytes } from '#backup/restore/space.ts'
import { nextOf, type GtidNumber } from '#topology/gtid/gtid-number.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { RelayLogFiles } from '#agents/binlog/relay-log-files.ts'
import { relayLogName } from '#agents/ports/throw-away.ts'

/** Relay logs of a channel of their own, ready to be applied. */
export interface RelayBatch {
  readonly channel: string
  readonly firstFile: string
  readonly gtids: GtidSet
  /** The latest time at which a transaction of the batch was committed. */
  readonly lastMs: number
}

/**
 * Writes replayed transactions into a data folder as relay logs, in batches of whole pieces. Each batch is ready when
 * it is given. A batch is not needed any more when the next batch is asked for.
 */
export async function* relayBatches(
  replayed: AsyncIterable<Replayed>,
  folder: string,
  longestBytes = relayBatchBytes,
): AsyncGenerator<RelayBatch, void, void> {
  let batch = new Batch(folder, 1)
  try {
    for await (const part of replayed) {
      if (part.kind === 'piece' && batch.bytes >= longestBytes) {
        yield* batch.ended()
        batch = new Batch(folder, batch.number + 1)
      }
      await batch.add(part)
    }
    yield* batch.ended()
  } finally {
    await batch.close()
  }
}

class Batch {
  readonly number: number
  readonly #files: RelayLogFiles
  readonly #runs: Run[] = []
  #lastMs = 0
  /**
   * The piece that comes, and the head of its file. The head is not written before a transaction of the piece comes.
   */
  #piece: { readonly piece: Piece; readonly head: Buffer } | null = null
  /** The piece that the newest file holds. */
  #file: { readonly piece: Piece; readonly head: Buffer } | null = null

  constructor(folder: string, number: number) {
    this.number = number
    this.#files = new RelayLogFiles(folder, { base: relayLogName, channel: `batch${number}` })
  }

  get bytes(): number {
    return this.#files.bytes
  }

  async add(part: Replayed): Promise<void> {
    if (part.kind === 'piece') {
      this.#piece = { piece: part.piece, head: relayLogHead(part.bytes) }
      return
    }
    if (part.kind === 'transaction') {
      await this.#beginFile()
      this.#note(part.begun)
    }
    await this.#files.write(part.bytes)
  }

  /** Gives the last batch, or none where no transaction came. */
  async *ended(): AsyncGenerator<RelayBatch, void, void> {
    await this.#files.finish()
    const { channel, firstFile } = this.#files
    if (this.#runs.length > 0) yield { channel, firstFile, gtids: setOf(this.#runs), lastMs: this.#lastMs }
  }

  close(): Promise<void> {
    return this.#files.close()
  }

  /**
   * The numbers by which an applier works in parallel begin anew in each binlog file. So each binlog file gets a relay
   * log.
   */
  async #beginFile(): Promise<void> {
    if (this.#piece === null || this.#piece === this.#file) return
    if (this.#file === null || !goesOn(this.#file, this.#piece)) await this.#files.begin(this.#piece.head)
    this.#file = this.#piece
  }

  #note({ source, number, committedMs }: BegunTransaction): void {
    this.#lastMs = Math.max(this.#lastMs, committedMs)
    const last = this.#runs.at(-1)
    if (last?.source === source && nextOf(last.to) === number) last.to = number
    else this.#runs.push({ source, from: number, to: number })
  }
}

function goesOn(
  before: { readonly piece: Piece; readonly head: Buffer },
  next: { readonly piece: Piece; readonly head: Buffer },
): boolean {
  const isSameFile = before.piece.sender === next.piece.sender && before.piece.file === next.piece.file
  return isSameFile && before.piece.offset <= next.piece.offset && before.head.equals(next.head)
}

interface Run {
  readonly source: string
  readonly from: GtidNumber
  to: GtidNumber
}

function setOf(runs: readonly Run[]): GtidSet {
  return GtidSet.parse(runs.map(({ source, from, to }) => `${source}:${from}-${to}`).join(','))
}
