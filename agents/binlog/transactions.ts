import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { decodeCommitTime, eventTypes } from '#binlog/events.ts'
import { isGtidEvent } from '#binlog/gtid-event.ts'
import type { BinlogTransaction } from '../ports/volume.ts'
import { magicLength, readAt, scanBinlog, stopScan } from './file.ts'
import { GroupFold } from './groups.ts'

/** The whole transactions of a binlog file (`VolumePort.visitBinlog`). */
export async function visitTransactions(
  path: string,
  from: number,
  visit: (transaction: BinlogTransaction) => boolean,
  signal?: AbortSignal,
): Promise<void> {
  let committedMs = 0
  const fold = new GroupFold(({ gtid, ending, offset, end }) => {
    if (gtid === null || ending.kind === 'incomplete') return undefined
    return visit({ ...gtid, committedMs, offset, end }) ? undefined : stopScan
  })
  let isStopped = false
  await scanBinlog(
    path,
    (event) => {
      const answer = fold.add(event)
      isStopped = answer === stopScan
      if (isGtidEvent(event.type)) committedMs = decodeCommitTime(event.body, event.type === eventTypes.gtidTagged)
      return answer
    },
    { from, signal },
  )
  if (!isStopped) fold.finish()
}

const headerLength = 19
const lengthOffset = 9
const flagsOffset = 17
const inUseFlag = 1

/** The Format_description event and a part of a binlog file (`VolumePort.readBinlog`). */
export async function readRange(path: string, { offset, end }: { readonly offset: number; readonly end: number }) {
  const head = await formatDescriptionOf(path)
  return { rawBytes: head.length + end - offset, content: withHead(head, path, { offset, end }) }
}

async function* withHead(
  head: Buffer,
  path: string,
  { offset, end }: { readonly offset: number; readonly end: number },
): AsyncGenerator<Buffer, void, void> {
  yield head
  let left = end - offset
  for await (const chunk of createReadStream(path, { start: offset, end: end - 1, highWaterMark: 1_048_576 })) {
    left -= (chunk as Buffer).length
    yield chunk as Buffer
  }
  if (left > 0) throw new Error(`${path} became shorter while it was read: ${left} bytes before ${end} are gone`)
}

/** Without the flag of a file that is written to: the checksum of the event is made without that flag. */
async function formatDescriptionOf(path: string): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const header = await readAt(file, magicLength, Buffer.alloc(headerLength))
    const event = await readAt(file, magicLength, Buffer.alloc(header.readUInt32LE(lengthOffset)))
    event.writeUInt16LE(event.readUInt16LE(flagsOffset) & ~inUseFlag, flagsOffset)
    return event
  } finally {
    await file.close()
  }
}
