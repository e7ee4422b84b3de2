import { open, type FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import type { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { decodeFormatDescription, eventTypes, unreadable, type FormatDescription } from '#binlog/events.ts'
import {
  asClosed,
  checksumBytes,
  endOffset,
  flagsOffset,
  headerBytes,
  inUseFlag,
  lengthOffset,
  magic,
  serverIdOffset,
  typeOffset,
} from '#binlog/layout.ts'

/** An event of a binlog file. */
export interface BinlogEvent {
  /** A number of `eventTypes`, or another. */
  readonly type: number
  /** The `server_id` of the server where the transaction began. */
  readonly serverId: number
  /** Where it begins in the file, and where the next one does. */
  readonly offset: number
  readonly end: number
  /**
   * Without header and checksum. Valid only during the call it is given to. An event above a megabyte has its first 64
   * KiB here (a Previous_gtids event always all).
   */
  readonly body: Buffer
}

export interface BinlogScan extends FormatDescription {
  /** The flag the server clears when it closes the file in order. */
  readonly inUse: boolean
  /** Where the last whole event ends; behind it is nothing, or what a crash left of one that was being written. */
  readonly end: number
  /** Bytes in the file when the scan began. */
  readonly size: number
  /** Type of the last whole event. */
  readonly lastType: number
}

const windowLength = 1_048_576
const headLength = 65_536
/** A Previous_gtids event above this size (16 million intervals) is not believed. */
const wholeLimit = 268_435_456

/** Return value of a visitor that has seen enough. */
export const stopScan = Symbol('stop')

export interface ScanOptions {
  readonly signal?: AbortSignal | undefined
  /**
   * False where an earlier pass checked the same bytes, or only the frame of the events matters: a third of the time.
   */
  readonly verify?: boolean
  /**
   * A relay log: its events carry the positions they had at the source, and a second Format_description event, the
   * source's, is among them.
   */
  readonly isRelayLog?: boolean
  /** Where an event begins: what is before that, but for the Format_description event, is passed over. */
  readonly from?: number | undefined
  /** Where an event begins, or the file ends: what is behind that is not read. */
  readonly until?: number | undefined
}

export type Visit = (event: BinlogEvent) => typeof stopScan | undefined | void

/**
 * Reads a binlog file event by event and checks every checksum. Memory stays at some megabytes whatever the file's
 * size; what a running server appends meanwhile is not seen.
 *
 * An event that the file ends within, or whose checksum is wrong and that nothing follows, was being written when the
 * machine stopped: there the file ends, as it does for the server. Throws `REGENT_BINLOG_UNREADABLE` for an encrypted
 * file, a format that is not understood, and damage that is followed by more.
 */
export async function scanBinlog(path: string, visit: Visit, options: ScanOptions = {}): Promise<BinlogScan> {
  const file = await open(path, 'r')
  try {
    const whole = (await file.stat()).size
    const size = Math.min(whole, options.until ?? whole)
    return await withWindow((space) => new Scanner({ path, file, size, space }, options).run(visit))
  } finally {
    await file.close()
  }
}

let spare: Buffer | undefined

/**
 * A megabyte to read through, the same one each time unless two read at once: windows that are made anew pile up to
 * many times the limit of an agent before they are collected.
 */
export async function withWindow<Result>(work: (space: Buffer) => Promise<Result>): Promise<Result> {
  const space = spare ?? Buffer.allocUnsafeSlow(windowLength)
  spare = undefined
  try {
    return await work(space)
  } finally {
    spare = space
  }
}

interface Scanned {
  readonly path: string
  readonly file: FileHandle
  readonly size: number
  readonly space: Buffer
}

class Scanner {
  readonly #path: string
  readonly #file: FileHandle
  readonly #size: number
  readonly #verify: boolean
  readonly #isRelayLog: boolean
  readonly #from: number
  readonly #signal: AbortSignal | undefined
  /** By how much the ends that events name lie behind those here: this may be a part of a file. */
  #shift = 0
  /** Where the event whose header was read last says that it ends. */
  #namedEnd = 0
  #window: Buffer = Buffer.alloc(0)
  #windowStart = 0
  readonly #space: Buffer

  constructor(
    { path, file, size, space }: Scanned,
    { verify = true, isRelayLog = false, from = 0, signal }: ScanOptions,
  ) {
    this.#path = path
    this.#file = file
    this.#size = size
    this.#space = space
    this.#verify = verify
    this.#isRelayLog = isRelayLog
    this.#from = from
    this.#signal = signal
  }

  async run(visit: Visit): Promise<BinlogScan> {
    await this.#checkMagic()
    const first = await this.#formatDescription()
    visit(first.event)
    let at = Math.max(first.event.end, this.#from)
    let lastType: number = eventTypes.formatDescription
    for (;;) {
      const event = this.#eventInWindow(at, first.checksums) ?? (await this.#eventFromFile(at, first.checksums))
      if (event === undefined) break
      if (event.type === eventTypes.formatDescription) this.#checkSameFormat(event, first.checksums)
      this.#shift = this.#namedEnd - event.end
      at = event.end
      lastType = event.type
      if (visit(event) === stopScan) break
    }
    return {
      serverVersion: first.serverVersion,
      checksums: first.checksums,
      inUse: first.inUse,
      end: at,
      size: this.#size,
      lastType,
    }
  }

  async #checkMagic(): Promise<void> {
    const found = (await this.#read(0, magic.length)).toString('hex')
    if (found === 'fd62696e') throw unreadable(say`${this.#path} is encrypted`)
    if (found !== magic.toString('hex'))
      throw unreadable(say`${this.#path} is not a binlog: it begins with "${found}" instead of "fe62696e"`)
  }

  async #formatDescription(): Promise<FormatDescription & { readonly event: BinlogEvent; readonly inUse: boolean }> {
    await this.#fill(magic.length)
    const header = this.#header(magic.length)
    if (header === undefined || header.type !== eventTypes.formatDescription || header.end > this.#windowEnd()) {
      throw unreadable(say`${this.#path} does not begin with a whole Format_description event`)
    }
    const written = this.#slice(magic.length, header.end)
    const inUse = (written.readUInt16LE(flagsOffset) & inUseFlag) !== 0
    const bytes = asClosed(written)
    const format = decodeFormatDescription(bytes.subarray(headerBytes))
    if (format.checksums && !isIntact(bytes))
      throw unreadable(say`${this.#path}: the Format_description event fails its checksum`)
    return { ...format, inUse, event: { ...header, body: bytes.subarray(headerBytes, -checksumBytes) } }
  }

  #checkSameFormat(event: BinlogEvent, checksums: boolean): void {
    const algorithm = event.body.at(checksums ? -1 : -1 - checksumBytes)
    if (algorithm !== (checksums ? 1 : 0))
      throw unreadable(say`${this.#path} changes its checksum algorithm at byte ${event.offset}`)
  }

  /** The event at `at` without waiting, or undefined where more must be read first. */
  #eventInWindow(at: number, checksums: boolean): BinlogEvent | undefined {
    const header = this.#header(at)
    if (header === undefined || header.end > this.#windowEnd() || header.end - at < headerBytes) return undefined
    const bytes = this.#slice(at, header.end)
    if (checksums && this.#verify && !isIntact(bytes)) return undefined
    return { ...header, body: bytes.subarray(headerBytes, checksums ? -checksumBytes : undefined) }
  }

  async #eventFromFile(at: number, checksums: boolean): Promise<BinlogEvent | undefined> {
    this.#signal?.throwIfAborted()
    await this.#fill(at)
    const event = this.#eventInWindow(at, checksums)
    if (event !== undefined) return event
    const header = this.#header(at)
    if (header === undefined) return undefined
    if (header.end > this.#size) return this.#tornAt(at, header.end)
    if (header.end - at >= windowLength) return this.#largeEvent(header, checksums)
    return this.#broken(at, header.end)
  }

  /** A torn event's header still agrees with itself; otherwise the length is damaged and more events may follow. */
  #tornAt(at: number, end: number): undefined {
    if (!this.#isRelayLog && (this.#namedEnd - end - this.#shift) % 2 ** 32 !== 0) throw this.#damagedAt(at)
    return undefined
  }

  #damagedAt(at: number): RegentError {
    return unreadable(say`${this.#path} is damaged at byte ${at} of ${this.#size}`)
  }

  async #largeEvent(header: Omit<BinlogEvent, 'body'>, checksums: boolean): Promise<BinlogEvent | undefined> {
    const { offset, end } = header
    const bodyEnd = checksums ? end - checksumBytes : end
    let checksum = 0
    const verify = checksums && this.#verify
    for (let at = offset; verify && at < bodyEnd; at = this.#windowEnd()) {
      await this.#fillSome(at)
      checksum = crc32(this.#slice(at, Math.min(bodyEnd, this.#windowEnd())), checksum)
    }
    if (verify && checksum !== (await this.#read(bodyEnd, checksumBytes)).readUInt32LE(0))
      return this.#broken(offset, end)
    const isWhole = header.type === eventTypes.previousGtids
    if (isWhole && end - offset > wholeLimit)
      throw unreadable(
        say`${this.#path}: its Previous_gtids event has ${end - offset} bytes; at most ${wholeLimit} are read`,
      )
    const body = await this.#read(
      offset + headerBytes,
      (isWhole ? bodyEnd : offset + headLength) - offset - headerBytes,
    )
    return { ...header, body }
  }

  /** The file's end where nothing but zeros follows what is broken, which throws otherwise. */
  async #broken(offset: number, end: number): Promise<undefined> {
    for (let at = Math.max(end, offset + headerBytes); at < this.#size; at = this.#windowEnd()) {
      await this.#fillSome(at)
      if (this.#window.some((byte) => byte !== 0)) throw this.#damagedAt(offset)
    }
    return undefined
  }

  #header(at: number): Omit<BinlogEvent, 'body'> | undefined {
    if (at + headerBytes > this.#windowEnd()) return undefined
    const start = at - this.#windowStart
    this.#namedEnd = this.#window.readUInt32LE(start + endOffset)
    return {
      type: this.#window.readUInt8(start + typeOffset),
      serverId: this.#window.readUInt32LE(start + serverIdOffset),
      offset: at,
      end: at + this.#window.readUInt32LE(start + lengthOffset),
    }
  }

  #windowEnd(): number {
    return this.#windowStart + this.#window.length
  }

  #slice(from: number, to: number): Buffer {
    return this.#window.subarray(from - this.#windowStart, to - this.#windowStart)
  }

  async #fill(at: number): Promise<void> {
    this.#window = await readAt(
      this.#file,
      at,
      this.#space.subarray(0, Math.max(0, Math.min(windowLength, this.#size - at))),
    )
    this.#windowStart = at
  }

  async #fillSome(at: number): Promise<void> {
    await this.#fill(at)
    if (this.#window.length === 0)
      throw unreadable(say`${this.#path} became shorter than ${this.#size} bytes while it was read`)
  }

  async #read(at: number, length: number): Promise<Buffer> {
    return readAt(this.#file, at, Buffer.alloc(Math.max(0, Math.min(length, this.#size - at))))
  }
}

/** Fills `into` from the file; what is returned is shorter where the file has become shorter meanwhile. */
export async function readAt(file: FileHandle, at: number, into: Buffer): Promise<Buffer> {
  let filled = 0
  while (filled < into.length) {
    const { bytesRead } = await file.read(into, filled, into.length - filled, at + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return into.subarray(0, filled)
}

function isIntact(bytes: Buffer): boolean {
  const end = bytes.length - checksumBytes
  return end >= headerBytes && crc32(bytes.subarray(0, end)) === bytes.readUInt32LE(end)
}
