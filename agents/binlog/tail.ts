import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { relayLogHead } from '#binlog/relay-log-head.ts'
import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import { tailChannel, type FoundTail } from '../ports/tail.ts'
import type { RelayLogPart } from '../ports/volume.ts'
import { readAt } from './file.ts'
import { RelayLogFiles } from './relay-log-files.ts'
import { Search } from './search.ts'
import { binlogFiles, relayLogFiles } from './set.ts'
import { formatDescriptionOf } from './transactions.ts'

/**
 * Where the transactions of a dead server lie that somebody lacks. What it had received as a replica and not applied
 * before it was primary is in its relay logs, and comes first: it was acknowledged before all that it wrote itself.
 *
 * Throws `REGENT_BINLOG_UNREADABLE`.
 */
export async function findTail(dataDir: string, wanted: GtidSet): Promise<FoundTail> {
  const own = new Search(wanted)
  await own.addFiles(await binlogFiles(dataDir), false)
  const received = new Search(own.missing())
  if (!own.missing().isEmpty()) await received.addFiles(await relayLogFiles(dataDir), true)
  const sources = [...received.sources, ...own.sources]
  const files = await Promise.all(
    sources.map(async ({ path, ranges }) => ({
      name: basename(path),
      head: await formatDescriptionOf(path),
      ranges,
    })),
  )
  return {
    files,
    gtids: own.found.set().union(received.found.set()).toString(),
    halfWrittenBytes: own.halfWrittenBytes,
  }
}

/** A part of one of those files. Nothing else of the data folder is given to anybody. */
export async function readTail(dataDir: string, name: string, offset: number, end: number): Promise<Buffer> {
  const logs = [...(await binlogFiles(dataDir)), ...(await relayLogFiles(dataDir))]
  const path = logs.find((one) => basename(one) === name)
  if (path === undefined) throw new RegentError('REGENT_REFUSED', say`${name} is no binlog and no relay log here`)
  await using file = await open(path, 'r')
  return readAt(file, offset, Buffer.alloc(end - offset))
}

/** Writes relay logs of that channel, as the server would have written them; resolves to the name of the first. */
export async function writeTail(dataDir: string, parts: AsyncIterable<RelayLogPart>): Promise<string> {
  const files = new RelayLogFiles(dataDir, { base: 'relay-bin', channel: tailChannel })
  try {
    for await (const part of parts) {
      if ('head' in part) await files.begin(relayLogHead(part.head))
      else await files.write(part.bytes)
    }
    await files.finish()
  } finally {
    await files.close()
  }
  return files.firstFile
}
