import { open, type FileHandle } from 'node:fs/promises'
import { codeOf } from '#common/errors/errors.ts'
import { writeFully } from '#common/files/write-fully.ts'
import { decodeFormatDescription, eventTypes } from '#binlog/events.ts'
import { asClosed, endOffset, headerBytes, lengthOffset, magic, serverIdOffset, typeOffset } from '#binlog/layout.ts'
import { previousGtidsEvent } from '#binlog/previous-gtids.ts'
import { scanBinlog, stopScan } from '../binlog/file.ts'
import type { Start } from './starts.ts'

/** So much of its beginning tells a binlog from others that had its name: when it was made, and what was before it. */
export const headLength = 4_096

export interface RemoteLog {
  readonly size: number
  /** Writes what it has from the start on to a place in a file here. */
  readonly copy: (file: FileHandle, at: number) => Promise<void>
  readonly piece: (offset: number, length: number) => Promise<Buffer>
}

const beginnings: ReadonlySet<number> = new Set([
  ...[eventTypes.gtid, eventTypes.gtidTagged, eventTypes.anonymousGtid, eventTypes.rotate, eventTypes.stop],
])

/**
 * Copies a binlog from a start on, as a binlog that says of itself what was executed before. Resolves to false where
 * that is not the file that was looked at, or ends before what was seen in it.
 */
export async function cutFrom(log: RemoteLog, start: Start, head: Buffer, local: string): Promise<boolean> {
  const { from, executed, through } = start
  const format = formatDescriptionIn(head)
  if (format === undefined || log.size < head.length) return false
  if (!closed(await log.piece(0, head.length)).equals(closed(head))) return false
  const frame = { serverId: format.readUInt32LE(serverIdOffset), end: from }
  const { checksums } = decodeFormatDescription(format.subarray(headerBytes))
  const beginning = Buffer.concat([magic, format, previousGtidsEvent(executed, { ...frame, checksums })])
  await using file = await open(local, 'w+', 0o600)
  await writeFully(file, beginning, 0)
  await log.copy(file, beginning.length)
  if (log.size === from) return through === from
  const { buffer } = await file.read(Buffer.alloc(headerBytes), 0, headerBytes, beginning.length)
  const isThere =
    beginnings.has(buffer.readUInt8(typeOffset)) &&
    buffer.readUInt32LE(endOffset) === (from + buffer.readUInt32LE(lengthOffset)) % 2 ** 32
  return isThere && (through === from || (await hasBoundary(local, beginning.length + through - from)))
}

/** What a server notes there when it closes the file is no difference. */
function closed(head: Buffer): Buffer {
  return Buffer.concat([head.subarray(0, magic.length), asClosed(head.subarray(magic.length))])
}

function formatDescriptionIn(head: Buffer): Buffer | undefined {
  if (head.length < magic.length + headerBytes || !head.subarray(0, magic.length).equals(magic)) return undefined
  const end = magic.length + head.readUInt32LE(magic.length + lengthOffset)
  return end <= head.length ? head.subarray(magic.length, end) : undefined
}

/** Whether a whole event ends there, and all before are whole. */
async function hasBoundary(path: string, at: number): Promise<boolean> {
  let isSeen = false
  try {
    await scanBinlog(path, ({ end }) => {
      isSeen = end === at
      return end >= at ? stopScan : undefined
    })
  } catch (error) {
    if (codeOf(error) !== 'REGENT_BINLOG_UNREADABLE') throw error
    return false
  }
  return isSeen
}
