import { RegentError } from '../src/common/errors.ts'
import { GtidSet } from '../topology/gtid-set.ts'
import type { GtidText } from '../topology/observation.ts'
import { archiveVersion, writeArchive, type ArchiveSource, type ByteRange } from './binlog-archive.ts'
import { scanBinlog } from './binlog-file.ts'
import { GroupFold } from './binlog-groups.ts'
import { binlogFiles, readBinlogHead, type BinlogHead } from './binlog-set.ts'
import { GtidCollector, GtidMatcher } from './gtid-collector.ts'

export interface ErrantArchiveRequest {
  readonly dataDir: string
  readonly archiveDir: string
  readonly instance: string
  /** What is to be archived, whole. */
  readonly gtids: GtidText
  readonly wallMs: number
}

/**
 * Copies transactions that the primary does not have out of the binlogs, of a server that runs or not, before the
 * instance is seeded again (safety rule 8). Resolves to the archive's folder, in which `mysqlbinlog` reads every file.
 *
 * Throws `REGENT_REFUSED`, naming them, where transactions are not in the binlogs (purged, cloned, or received and not yet applied);
 * `REGENT_BINLOG_UNREADABLE` where a binlog that may have them cannot be read. Nothing is archived then.
 */
export async function archiveErrant(request: ErrantArchiveRequest, signal?: AbortSignal): Promise<string> {
  const { gtids, instance, wallMs } = request
  const wanted = GtidSet.parse(gtids)
  const found = new GtidCollector()
  const sources = await findSources(request.dataDir, wanted, found, signal)
  const missing = wanted.subtract(found.set())
  if (!missing.isEmpty()) {
    throw new RegentError('REGENT_REFUSED', `${instance}: ${missing.toString()} cannot be archived: not in its binlogs (${missing.count()} of ${wanted.count()} transactions)`)
  }
  const reason = 'not on the primary, taken from the binlogs before the instance is seeded again'
  return writeArchive(request.archiveDir, sources, { version: archiveVersion, kind: 'errant', instance, gtids: wanted.toString(), wallMs, reason })
}

interface FileAndHead extends BinlogHead {
  readonly path: string
}

async function findSources(dataDir: string, wanted: GtidSet, found: GtidCollector, signal?: AbortSignal): Promise<readonly ArchiveSource[]> {
  const heads: FileAndHead[] = []
  for (const path of await binlogFiles(dataDir)) heads.push({ path, ...(await readBinlogHead(path)) })
  const sources: ArchiveSource[] = []
  for (const [index, head] of heads.entries()) {
    const here = wanted.subtract(head.previous)
    const next = heads[index + 1]
    const mayHave = next === undefined ? here : here.intersect(next.previous)
    if (mayHave.isEmpty()) continue
    const ranges = await rangesOf(head.path, mayHave, found, signal)
    if (ranges.length > 0) sources.push({ path: head.path, headEnd: head.end, ranges })
  }
  return sources
}

/** Where the wanted transactions lie in a file; neighbours are joined. */
async function rangesOf(path: string, wanted: GtidSet, found: GtidCollector, signal?: AbortSignal): Promise<readonly ByteRange[]> {
  const isWanted = new GtidMatcher(wanted)
  const ranges: ByteRange[] = []
  const fold = new GroupFold(({ gtid, offset, end, ending }) => {
    if (gtid === null || ending.kind === 'incomplete' || !isWanted.has(gtid)) return
    found.add(gtid)
    const last = ranges.at(-1)
    if (last?.end === offset) ranges[ranges.length - 1] = { offset: last.offset, end }
    else ranges.push({ offset, end })
  })
  await scanBinlog(path, (event) => fold.add(event), { signal })
  fold.finish()
  return ranges
}
