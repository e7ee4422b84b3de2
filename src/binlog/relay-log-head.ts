import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { decodeFormatDescription } from './events.ts'
import { asClosed, headerBytes, magic, serverIdOffset } from './layout.ts'
import { previousGtidsEvent } from './previous-gtids.ts'

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
  const nothingReceived = previousGtidsEvent(GtidSet.empty, {
    serverId: closed.readUInt32LE(serverIdOffset),
    checksums,
  })
  return Buffer.concat([magic, closed, nothingReceived])
}
