import { eventTypes, unreadable } from './events.ts'
import { headerBytes, lengthOffset, serverIdOffset, typeOffset } from './layout.ts'
import { say } from '#common/sentence/sentence.ts'

/** What the header of an event tells. */
interface EventHead {
  /** A number of `eventTypes`, or another. */
  readonly type: number
  /** The `server_id` of the server where the transaction began. */
  readonly serverId: number
  /** With header and checksum. */
  readonly length: number
}

/** A stretch of one event as it streams by. Short events, and those that tell of a transaction, come whole. */
export interface Segment {
  readonly event: EventHead
  /** Whether the event begins with these bytes, and whether it ends with them. */
  readonly begins: boolean
  readonly ends: boolean
  /** Header and checksum are among them. */
  readonly bytes: Buffer
}

/** Longer ones come in stretches: no row of a gigabyte is in memory as a whole. */
const wholeBytes = 65_536
/** No server writes a longer one of these. */
const longestHeadBytes = 1_048_576

const alwaysWhole: ReadonlySet<number> = new Set([
  eventTypes.formatDescription,
  eventTypes.gtid,
  eventTypes.gtidTagged,
  eventTypes.anonymousGtid,
])

/**
 * The events of a binlog that comes as a stream, without the magic number that a file begins with. Throws
 * `REGENT_BINLOG_UNREADABLE` where the stream ends within an event.
 */
export async function* segmentsOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<Segment, void, void> {
  const splitter = new Splitter()
  for await (const chunk of content) {
    splitter.add(chunk)
    for (let segment = splitter.take(); segment !== null; segment = splitter.take()) yield segment
  }
  if (!splitter.isBetweenEvents()) throw unreadable(say`the stream of a binlog ends within an event`)
}

/** Holds what has come and was not taken. */
class Splitter {
  #held: Buffer = Buffer.alloc(0)
  /** The event whose beginning was taken, and how many bytes of that event are to come. */
  #open: { readonly event: EventHead; left: number } | null = null

  add(chunk: Uint8Array): void {
    this.#held = this.#held.length === 0 ? asBuffer(chunk) : Buffer.concat([this.#held, chunk])
  }

  isBetweenEvents(): boolean {
    return this.#held.length === 0 && this.#open === null
  }

  /** Null where more bytes are needed. */
  take(): Segment | null {
    if (this.#held.length === 0) return null
    return this.#open === null ? this.#takeBeginning() : this.#takeMore(this.#open)
  }

  #takeBeginning(): Segment | null {
    const event = headOf(this.#held)
    if (event === null) return null
    const isWhole = event.length <= wholeBytes || alwaysWhole.has(event.type)
    if (isWhole && this.#held.length < event.length) return null
    const bytes = this.#taken(event.length)
    const left = event.length - bytes.length
    this.#open = left === 0 ? null : { event, left }
    return { event, begins: true, ends: left === 0, bytes }
  }

  #takeMore(open: { readonly event: EventHead; left: number }): Segment {
    const bytes = this.#taken(open.left)
    open.left -= bytes.length
    if (open.left === 0) this.#open = null
    return { event: open.event, begins: false, ends: open.left === 0, bytes }
  }

  /** As many bytes, or all that are there. */
  #taken(length: number): Buffer {
    const bytes = this.#held.subarray(0, length)
    this.#held = this.#held.subarray(bytes.length)
    return bytes
  }
}

/** Null where more bytes are needed. */
function headOf(bytes: Buffer): EventHead | null {
  if (bytes.length < headerBytes) return null
  const event = {
    type: bytes.readUInt8(typeOffset),
    serverId: bytes.readUInt32LE(serverIdOffset),
    length: bytes.readUInt32LE(lengthOffset),
  }
  if (event.length < headerBytes || (alwaysWhole.has(event.type) && event.length > longestHeadBytes))
    throw unreadable(say`an event of type ${event.type} in the stream of a binlog has ${event.length} bytes`)
  return event
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
