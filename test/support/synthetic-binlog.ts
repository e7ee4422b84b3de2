import { crc32, zstdCompressSync } from 'node:zlib'
import { eventTypes } from '#binlog/events.ts'

/** Binlog files made by hand, byte for byte as the server writes them, for what a server cannot be made to write. */

export interface SyntheticEvent {
  readonly type: number
  readonly body: Buffer
  /** Where it began; 1, as of the file, unless given. */
  readonly serverId?: number
}

export interface SyntheticFile {
  readonly version?: string
  readonly checksums?: boolean
  readonly inUse?: boolean
  readonly previous?: Buffer
}

export const uuid = '1cb8e8f7-e593-11f1-9151-02fc00000001'

/** A whole file: Format_description, Previous_gtids, then the events. */
export function binlogFile(
  events: readonly SyntheticEvent[],
  { version = '9.7.4', checksums = true, inUse = true, previous = previousGtids([]) }: SyntheticFile = {},
): Buffer {
  const parts: Buffer[] = [Buffer.from('fe62696e', 'hex')]
  let at = 4
  const add = (event: SyntheticEvent, checksum: boolean): void => {
    const bytes = eventBytes(event, at, checksum)
    at += bytes.length
    parts.push(bytes)
  }
  add({ type: eventTypes.formatDescription, body: formatDescription(version, checksums) }, true)
  add({ type: eventTypes.previousGtids, body: previous }, checksums)
  for (const event of events) add(event, checksums)
  // The server sets this flag without touching the checksum.
  if (inUse) parts[1]?.writeUInt16LE(1, 17)
  return Buffer.concat(parts)
}

/** One event with its header, as it stands at `at`. */
export function eventBytes({ type, body, serverId = 1 }: SyntheticEvent, at: number, checksum: boolean): Buffer {
  const length = 19 + body.length + (checksum ? 4 : 0)
  const bytes = Buffer.alloc(length)
  bytes.writeUInt32LE(1_795_255_602, 0)
  bytes.writeUInt8(type, 4)
  bytes.writeUInt32LE(serverId, 5)
  bytes.writeUInt32LE(length, 9)
  bytes.writeUInt32LE((at + length) % 2 ** 32, 13)
  body.copy(bytes, 19)
  if (checksum) bytes.writeUInt32LE(crc32(bytes.subarray(0, length - 4)), length - 4)
  return bytes
}

function formatDescription(version: string, checksums: boolean): Buffer {
  const body = Buffer.alloc(57 + 42 + 1)
  body.writeUInt16LE(4, 0)
  body.write(version, 2, 'latin1')
  body.writeUInt8(19, 56)
  body.writeUInt8(checksums ? 1 : 0, body.length - 1)
  return body
}

/** Intervals of `uuid`, both ends included. */
export function previousGtids(intervals: readonly (readonly [number, number])[]): Buffer {
  const numbers = [intervals.length, ...intervals.flatMap(([from, to]) => [from, to + 1])]
  const body = Buffer.alloc(8 + 16 + numbers.length * 8)
  body.writeBigUInt64LE(intervals.length === 0 ? 0n : 1n, 0)
  uuidBytes().copy(body, 8)
  for (const [index, number] of numbers.entries()) body.writeBigUInt64LE(BigInt(number), 24 + index * 8)
  return intervals.length === 0 ? body.subarray(0, 8) : body
}

/** @param committedMs by the clock of its server */
export function gtid(number: number, committedMs = 1_795_255_602_000): SyntheticEvent {
  const body = Buffer.alloc(49)
  uuidBytes().copy(body, 1)
  body.writeBigUInt64LE(BigInt(number), 17)
  body.writeUIntLE((committedMs * 1_000) % 2 ** 32, 42, 4)
  body.writeUIntLE(Math.floor((committedMs * 1_000) / 2 ** 32), 46, 3)
  return { type: eventTypes.gtid, body }
}

export const anonymousGtid: SyntheticEvent = { type: eventTypes.anonymousGtid, body: Buffer.alloc(42) }

/** A Query event; `variables` are its status variables as they stand in the file. */
export function query(text: string, variables: Buffer = Buffer.alloc(0), database = 'app'): SyntheticEvent {
  const head = Buffer.alloc(13)
  head.writeUInt8(database.length, 8)
  head.writeUInt16LE(variables.length, 11)
  return {
    type: eventTypes.query,
    body: Buffer.concat([head, variables, Buffer.from(`${database}\0${text}`, 'latin1')]),
  }
}

/**
 * Status variables as MySQL 9.7 wrote them for a CREATE TABLE: flags, mode, catalog, character sets, database names,
 * Xid, collation, primary keys.
 */
export const ddlVariables = Buffer.from(
  '0000000000012000a04500000000060373746404ff00ff00ff000c017400110800000000000000' + '12ff001300',
  'hex',
)

export const xid: SyntheticEvent = { type: eventTypes.xid, body: Buffer.alloc(8, 1) }
export const xaPrepare: SyntheticEvent = { type: eventTypes.xaPrepare, body: Buffer.alloc(20) }
export const rows = (length = 40): SyntheticEvent => ({ type: eventTypes.writeRows, body: Buffer.alloc(length, 7) })
export const stop: SyntheticEvent = { type: eventTypes.stop, body: Buffer.alloc(0) }

/** One InnoDB transaction. */
export function dml(number: number, length = 40, committedMs?: number): readonly SyntheticEvent[] {
  return [
    gtid(number, committedMs),
    query('BEGIN'),
    { type: eventTypes.tableMap, body: Buffer.alloc(20) },
    rows(length),
    xid,
  ]
}

export function ddl(number: number, text = 'create table t (id int)'): readonly SyntheticEvent[] {
  return [gtid(number), query(text, ddlVariables)]
}

/** The events inside a Transaction_payload event, compressed. */
export function payload(
  events: readonly SyntheticEvent[],
  compressed: Buffer = zstdCompressSync(Buffer.concat(events.map((event) => eventBytes(event, 0, false)))),
): SyntheticEvent {
  const size = Buffer.alloc(4)
  size.writeUInt8(253, 0)
  size.writeUIntLE(compressed.length, 1, 3)
  return {
    type: eventTypes.transactionPayload,
    body: Buffer.concat([Buffer.from([2, 1, 0, 1, 4]), size, Buffer.from([0]), compressed]),
  }
}

function uuidBytes(): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex')
}
