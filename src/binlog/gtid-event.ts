import { decodeCommitTime, decodeGtid, eventTypes, type GtidParts } from './events.ts'
import { headerBytes, typeOffset } from './layout.ts'

/** The transaction that begins with a GTID event. */
export interface BegunTransaction extends GtidParts {
  /** When it was committed on the server where it began, in milliseconds. */
  readonly committedMs: number
}

export function isGtidEvent(type: number): boolean {
  return type === eventTypes.gtid || type === eventTypes.gtidTagged
}

/** @param event a whole GTID event, with its header. Throws `REGENT_BINLOG_UNREADABLE` */
export function begunBy(event: Buffer): BegunTransaction {
  return begunByBody(event.readUInt8(typeOffset), event.subarray(headerBytes))
}

/** @param body without header */
function begunByBody(type: number, body: Buffer): BegunTransaction {
  const tagged = type === eventTypes.gtidTagged
  return { ...decodeGtid(body, tagged), committedMs: decodeCommitTime(body, tagged) }
}
