import { RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import { endOfGtidNumbers, gtidNumber, previousOf, type GtidNumber } from '#topology/gtid/gtid-number.ts'

/**
 * What stands inside the events of a binlog, as far as Regent reads them. The formats are those of MySQL's own
 * `libs/mysql/binlog/event` and `libs/mysql/serialization`; numbers are little-endian.
 */
export const eventTypes = {
  query: 2,
  stop: 3,
  rotate: 4,
  intvar: 5,
  appendBlock: 9,
  deleteFile: 11,
  rand: 13,
  userVar: 14,
  formatDescription: 15,
  xid: 16,
  beginLoadQuery: 17,
  executeLoadQuery: 18,
  tableMap: 19,
  rowsQuery: 29,
  writeRows: 30,
  updateRows: 31,
  deleteRows: 32,
  gtid: 33,
  anonymousGtid: 34,
  previousGtids: 35,
  xaPrepare: 38,
  partialUpdateRows: 39,
  transactionPayload: 40,
  gtidTagged: 42,
} as const

/** A transaction's identifier in two parts: `uuid` or `uuid:tag`, and the number. */
export interface GtidParts {
  readonly source: string
  readonly number: GtidNumber
}

const uuidBytes = 16

/** A GTID event, without or with a tag. Throws `REGENT_BINLOG_UNREADABLE` where its fields are not as expected. */
export function decodeGtid(body: Buffer, tagged: boolean): GtidParts {
  if (tagged) return decodeTaggedGtid(new Cursor(body))
  const cursor = new Cursor(body)
  cursor.skip(1)
  return { source: cursor.uuid(), number: cursor.gtidNumber() }
}

/**
 * Payload in MySQL's serialization format: version, size, last field a reader must know, then pairs of field id and
 * value. Fields 0 to 3 are flags, UUID (each byte a number of its own), transaction number and tag, always written.
 */
function decodeTaggedGtid(cursor: Cursor): GtidParts {
  const { uuid, number, tag } = taggedFields(cursor)
  const source = printUuid(uuid)
  return { source: tag === '' ? source : `${source}:${tag}`, number }
}

function taggedFields(cursor: Cursor) {
  const version = cursor.varlen()
  if (version !== 1)
    throw unreadable(say`a tagged GTID event has serialization version ${version}; version 1 is understood`)
  cursor.varlen()
  cursor.varlen()
  cursor.field(0)
  cursor.varlen()
  cursor.field(1)
  const uuid = Buffer.from(Array.from({ length: uuidBytes }, () => cursor.varlen()))
  cursor.field(2)
  const number = cursor.signedGtidNumber()
  cursor.field(3)
  return { uuid, number, tag: cursor.text(cursor.varlen()) }
}

/** Behind flags, UUID, number, and the three fields of the parallel applier. */
const commitTimeOffset = 42

/**
 * When the transaction of a GTID event was committed on the server where it began, in milliseconds. Where that server
 * was too old to say, when it was committed on the server that wrote the event.
 */
export function decodeCommitTime(body: Buffer, tagged: boolean): number {
  const micros = tagged ? taggedCommitTime(new Cursor(body)) : plainCommitTime(new Cursor(body))
  return Math.floor(micros / 1_000)
}

/** Seven bytes each; the highest bit of the first one tells that the original time follows. */
function plainCommitTime(cursor: Cursor): number {
  cursor.skip(commitTimeOffset)
  const immediate = cursor.u56()
  return immediate < hasOriginal ? immediate : cursor.u56() || immediate - hasOriginal
}

const hasOriginal = 2 ** 55

function taggedCommitTime(cursor: Cursor): number {
  taggedFields(cursor)
  for (const field of [4, 5]) {
    cursor.field(field)
    cursor.skipVarlen()
  }
  cursor.field(6)
  const immediate = cursor.varlen()
  if (cursor.atEnd() || cursor.varlen() !== 7) return immediate
  return cursor.varlen() || immediate
}

/** The set in a Previous_gtids event, in a form that `GtidSet.parse` reads. Tags appear in it since MySQL 8.3. */
export function decodePreviousGtids(body: Buffer): string {
  const cursor = new Cursor(body)
  const taggedFormat = body.at(7) === 1
  const sources = taggedFormat ? cursor.u64InMiddleBytes() : cursor.u64()
  const parts: string[] = []
  for (let index = 0; index < sources; index += 1) {
    parts.push(index === 0 ? '' : ',', cursor.uuid())
    const tag = taggedFormat ? cursor.text(cursor.varlen()) : ''
    if (tag !== '') parts.push(':', tag)
    const intervals = cursor.u64()
    for (let interval = 0; interval < intervals; interval += 1)
      parts.push(`:${cursor.gtidNumber()}-${previousOf(cursor.gtidNumber())}`)
  }
  return parts.join('')
}

export interface QueryEvent {
  /** The statement, or its first 4096 bytes. */
  readonly text: string
  readonly isWhole: boolean
  /** The statement is an atomic DDL, tied to its InnoDB transaction by an Xid. */
  readonly hasXid: boolean
}

const queryPostHeader = 13
const keptCharacters = 4096

export function decodeQuery(body: Buffer): QueryEvent {
  const cursor = new Cursor(body)
  cursor.skip(8)
  const databaseLength = cursor.u8()
  cursor.skip(2)
  const variablesLength = cursor.u16()
  const textStart = queryPostHeader + variablesLength + databaseLength + 1
  const textEnd = Math.min(textStart + keptCharacters, body.length)
  return {
    text: body.toString('latin1', Math.min(textStart, textEnd), textEnd),
    isWhole: textEnd === body.length,
    hasXid: hasDdlXid(new Cursor(body.subarray(queryPostHeader, queryPostHeader + variablesLength))),
  }
}

const ddlLoggedWithXid = 17
/** Status variables of a Query event: code → how to get past its value. */
const statusVariables: Readonly<Record<number, (cursor: Cursor) => void>> = {
  0: (cursor) => cursor.skip(4),
  1: (cursor) => cursor.skip(8),
  3: (cursor) => cursor.skip(4),
  4: (cursor) => cursor.skip(6),
  5: (cursor) => cursor.skip(cursor.u8()),
  6: (cursor) => cursor.skip(cursor.u8()),
  7: (cursor) => cursor.skip(2),
  8: (cursor) => cursor.skip(2),
  9: (cursor) => cursor.skip(8),
  11: (cursor) => {
    cursor.skip(cursor.u8())
    cursor.skip(cursor.u8())
  },
  12: skipDatabaseNames,
  13: (cursor) => cursor.skip(3),
  16: (cursor) => cursor.skip(1),
  18: (cursor) => cursor.skip(2),
  19: (cursor) => cursor.skip(1),
  20: (cursor) => cursor.skip(1),
}

/** Above this count the names are not listed. */
const listedDatabases = 16

function skipDatabaseNames(cursor: Cursor): void {
  const count = cursor.u8()
  for (let index = 0; count <= listedDatabases && index < count; index += 1) cursor.skipText()
}

/** An unknown variable ends the search: what cannot be read is not counted as an Xid. */
function hasDdlXid(cursor: Cursor): boolean {
  while (!cursor.atEnd()) {
    const code = cursor.u8()
    if (code === ddlLoggedWithXid) return true
    const skipValue = statusVariables[code]
    if (skipValue === undefined) return false
    skipValue(cursor)
  }
  return false
}

export interface PayloadHeader {
  readonly compression: 'zstd' | 'none'
  /** Length of this header: the payload begins behind it. */
  readonly length: number
  readonly payloadLength: number
}

/** The header of a Transaction_payload event: pairs of type, length and value, ended by type 0. */
export function decodePayloadHeader(body: Buffer): PayloadHeader {
  const cursor = new Cursor(body)
  const fields = new Map<number, number>()
  for (let type = cursor.netLength(); type !== 0; type = cursor.netLength()) {
    const end = cursor.netLength() + cursor.at
    fields.set(type, cursor.netLength())
    cursor.skip(end - cursor.at)
  }
  const compression = compressions[fields.get(2) ?? -1]
  const payloadLength = fields.get(1)
  if (compression === undefined || payloadLength === undefined)
    throw unreadable(say`a compressed transaction’s header is not understood`)
  return { compression, length: cursor.at, payloadLength }
}

const compressions: Readonly<Record<number, PayloadHeader['compression']>> = { 0: 'zstd', 255: 'none' }

export interface FormatDescription {
  readonly serverVersion: string
  readonly checksums: boolean
}

/** The body of a Format_description event, its checksum included (it always has room for one). */
export function decodeFormatDescription(body: Buffer): FormatDescription {
  const binlogVersion = body.length < 62 ? 0 : body.readUInt16LE(0)
  if (binlogVersion !== 4 || body[56] !== 19)
    throw unreadable(say`binlog format ${binlogVersion} is not understood; format 4 is`)
  const algorithm = body[body.length - 5]
  if (algorithm !== 0 && algorithm !== 1) throw unreadable(say`checksum algorithm ${algorithm} is not understood`)
  const version = body.toString('latin1', 2, 52)
  return { serverVersion: version.slice(0, version.indexOf('\0')), checksums: algorithm === 1 }
}

export function unreadable(what: Sentence): RegentError {
  return new RegentError('REGENT_BINLOG_UNREADABLE', what)
}

function printUuid(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Reads numbers and texts one after the other; past the end it throws `REGENT_BINLOG_UNREADABLE`. */
class Cursor {
  readonly #bytes: Buffer
  at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  atEnd(): boolean {
    return this.at >= this.#bytes.length
  }

  skip(length: number): void {
    if (length < 0 || this.at + length > this.#bytes.length)
      throw unreadable(say`an event ends in the middle of a field`)
    this.at += length
  }

  u8(): number {
    return this.#uint(1)
  }

  u16(): number {
    return this.#uint(2)
  }

  u64(): number {
    const low = this.#uint(4)
    return safe(low + this.#uint(4) * 2 ** 32)
  }

  /** A transaction's number, or the one past an interval's last. */
  gtidNumber(): GtidNumber {
    const low = this.#uint(4)
    const high = this.#uint(4)
    return high < 2 ** 21 ? high * 2 ** 32 + low : inRange((BigInt(high) << 32n) | BigInt(low))
  }

  u56(): number {
    const low = this.#uint(4)
    return low + this.#uint(3) * 2 ** 32
  }

  /** The six bytes between the first and the last of eight. */
  u64InMiddleBytes(): number {
    this.skip(1)
    const value = this.#uint(6)
    this.skip(1)
    return value
  }

  uuid(): string {
    const start = this.at
    this.skip(uuidBytes)
    return printUuid(this.#bytes.subarray(start, this.at))
  }

  text(length: number): string {
    const start = this.at
    this.skip(length)
    return this.#bytes.toString('latin1', start, this.at)
  }

  skipText(): void {
    const end = this.#bytes.indexOf(0, this.at)
    this.skip(end < 0 ? Infinity : end + 1 - this.at)
  }

  /** The client protocol's length-encoded number. */
  netLength(): number {
    const first = this.u8()
    if (first < 251) return first
    if (first === 252) return this.#uint(2)
    if (first === 253) return this.#uint(3)
    return this.u64()
  }

  /** The serialization library's number: as many trailing one-bits in the first byte as bytes follow it. */
  varlen(): number {
    return safe(Number(this.#varlen()))
  }

  skipVarlen(): void {
    this.#varlen()
  }

  /** Its lowest bit is the sign. */
  signedGtidNumber(): GtidNumber {
    const value = this.#varlen()
    if (value % 2n === 1n) throw unreadable(say`a number that must be positive is negative`)
    return inRange(value / 2n)
  }

  field(expected: number): void {
    const id = this.varlen()
    if (id !== expected) throw unreadable(say`a tagged GTID event has field ${id} where ${expected} is expected`)
  }

  #varlen(): bigint {
    const first = this.u8()
    const following = trailingOnes(first)
    let value = 0n
    for (let index = 0; index < following; index += 1) value |= BigInt(this.u8()) << BigInt(8 * index)
    return following === 8 ? value : (value << BigInt(7 - following)) | BigInt(first >> (following + 1))
  }

  #uint(length: number): number {
    const start = this.at
    this.skip(length)
    return this.#bytes.readUIntLE(start, length)
  }
}

function trailingOnes(byte: number): number {
  let ones = 0
  while (ones < 8 && (byte >> ones) % 2 === 1) ones += 1
  return ones
}

function inRange(value: bigint): GtidNumber {
  if (value > endOfGtidNumbers) throw unreadable(say`a transaction has a number above 2^63`)
  return gtidNumber(value)
}

function safe(value: number): number {
  if (value > Number.MAX_SAFE_INTEGER) throw unreadable(say`a number above 2^53 is not supported`)
  return value
}
