import { crc32 } from 'node:zlib'
import { decodeFormatDescription, eventTypes } from './events.ts'
import { headerBytes } from './segments.ts'

const magic = Buffer.from('fe62696e', 'hex')
const checksumBytes = 4
const inUseFlag = 1
const ignorableFlag = 0x80
const flagsOffset = 17
const serverIdOffset = 5
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
  const closed = Buffer.from(formatDescription)
  // Of a binlog that its server was still writing; the checksum is as if the file were closed.
  closed.writeUInt16LE(closed.readUInt16LE(flagsOffset) & ~inUseFlag, flagsOffset)
  const { checksums } = decodeFormatDescription(closed.subarray(headerBytes))
  return Buffer.concat([magic, closed, nothingReceived(closed.readUInt32LE(serverIdOffset), checksums)])
}

function nothingReceived(serverId: number, checksums: boolean): Buffer {
  const length = headerBytes + emptySetBytes
  const event = Buffer.alloc(checksums ? length + checksumBytes : length)
  event.writeUInt8(eventTypes.previousGtids, 4)
  event.writeUInt32LE(serverId, serverIdOffset)
  event.writeUInt32LE(event.length, 9)
  event.writeUInt16LE(ignorableFlag, flagsOffset)
  if (checksums) event.writeUInt32LE(crc32(event.subarray(0, length)), length)
  return event
}
