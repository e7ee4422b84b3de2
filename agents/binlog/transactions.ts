import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { decodeCommitTime, eventTypes } from '#binlog/events.ts'
import { isGtidEvent } from '#binlog/gtid-event.ts'
import { asClosed, headerBytes, lengthOffset, magic } from '#binlog/layout.ts'
import type { BinlogTransaction } from '../ports/volume.ts'
import { readAt, scanBinlog, stopScan } from './file.ts'
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

/** The Format_description event of a binlog file, as of a closed one. */
export async function formatDescriptionOf(path: string): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const header = await readAt(file, magic.length, Buffer.alloc(headerBytes))
    return asClosed(await readAt(file, magic.length, Buffer.alloc(header.readUInt32LE(lengthOffset))))
  } finally {
    await file.close()
  }
}
