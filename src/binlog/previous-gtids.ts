import { crc32 } from 'node:zlib'
import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import { eventTypes } from './events.ts'
import {
  checksumBytes,
  endOffset,
  flagsOffset,
  headerBytes,
  lengthOffset,
  serverIdOffset,
  typeOffset,
} from './layout.ts'

const ignorableFlag = 0x80

export interface EventFrame {
  readonly serverId: number
  readonly checksums: boolean
  /** Where the event says that it ends. */
  readonly end?: number
}

/** A Previous_gtids event, as `decodePreviousGtids` reads it. The format with tags only where there are any. */
export function previousGtidsEvent(gtids: GtidSet, { serverId, checksums, end = 0 }: EventFrame): Buffer {
  const body = bodyOf(gtids.toString())
  const length = headerBytes + body.length
  const event = Buffer.alloc(checksums ? length + checksumBytes : length)
  event.writeUInt8(eventTypes.previousGtids, typeOffset)
  event.writeUInt32LE(serverId, serverIdOffset)
  event.writeUInt32LE(event.length, lengthOffset)
  event.writeUInt32LE(end % 2 ** 32, endOffset)
  event.writeUInt16LE(ignorableFlag, flagsOffset)
  body.copy(event, headerBytes)
  if (checksums) event.writeUInt32LE(crc32(event.subarray(0, length)), length)
  return event
}

interface Source {
  readonly uuid: string
  readonly tag: string
  readonly intervals: string[]
}

/** @param text as `GtidSet` prints it */
function bodyOf(text: string): Buffer {
  const sources = text === '' ? [] : text.split(',').flatMap(sourcesIn)
  const isTagged = sources.some(({ tag }) => tag !== '')
  const head = Buffer.alloc(8)
  head.writeUIntLE(sources.length, isTagged ? 1 : 0, 6)
  if (isTagged) head[0] = head[7] = 1
  return Buffer.concat([head, ...sources.flatMap((source) => sourceBytes(source, isTagged))])
}

/** `uuid:1-3:5:tag:1-2`: a tag counts for the numbers behind the tag. */
function sourcesIn(text: string): readonly Source[] {
  const [uuid = '', ...parts] = text.split(':')
  const sources: Source[] = []
  for (const part of parts) {
    const isInterval = /^\d/.test(part)
    if (!isInterval || sources.length === 0) sources.push({ uuid, tag: isInterval ? '' : part, intervals: [] })
    if (isInterval) sources.at(-1)?.intervals.push(part)
  }
  return sources
}

function sourceBytes({ uuid, tag, intervals }: Source, isTagged: boolean): readonly Buffer[] {
  const numbers = intervals.flatMap((interval) => {
    const [from = '', to = from] = interval.split('-')
    return [BigInt(from), BigInt(to) + 1n]
  })
  return [
    Buffer.from(uuid.replaceAll('-', ''), 'hex'),
    // A tag has at most 32 characters, and a length below 128 is one byte, doubled.
    ...(isTagged ? [Buffer.from([tag.length * 2]), Buffer.from(tag, 'latin1')] : []),
    Buffer.from(BigUint64Array.from([BigInt(intervals.length), ...numbers]).buffer),
  ]
}
