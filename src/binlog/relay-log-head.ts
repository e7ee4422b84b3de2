import { crc32 } from 'node:zlib'
import { decodeFormatDescription, eventTypes } from './events.ts'
import {
  asClosed,
  checksumBytes,
  flagsOffset,
  headerBytes,
  lengthOffset,
  magic,
  serverIdOffset,
  typeOffset,
} from './layout.ts'

const ignorableFlag = 0x80
/** A set without a source. */
const emptySetBytes = 8

/**
 * With what a relay log begins that is made of another server's binlog: so long a file needs to be read. A server opens
 * no relay log that has transactions, and does not say what was received before (seen on 9.7): that is told to be
 * nothing.
 *
 * @param formatDescription of the binlog, whole, with its checksum
 */
export function relayLogHead(formatDescription: Buffer): Buffer {
  const closed = asClosed(formatDescription)
  const { checksums } = decodeFormatDescription(closed.subarray(headerBytes))
  return Buffer.concat([magic, closed, nothingReceived(closed.readUInt32LE(serverIdOffset), checksums)])
}

function nothingReceived(serverId: number, checksums: boolean): Buffer {
  const length = headerBytes + emptySetBytes
  const event = Buffer.alloc(checksums ? length + checksumBytes : length)
  event.writeUInt8(eventTypes.previousGtids, typeOffset)
  event.writeUInt32LE(serverId, serverIdOffset)
  event.writeUInt32LE(event.length, lengthOffset)
  event.writeUInt16LE(ignorableFlag, flagsOffset)
  if (checksums) event.writeUInt32LE(crc32(event.subarray(0, length)), length)
  return event
}
