import { RegentError } from '#common/errors/errors.ts'
import { say, text } from '#common/sentence/sentence.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import { archivesOf, archiveVersion, writeArchive } from './archive.ts'
import { Search } from './search.ts'
import { binlogFiles, readFileSets, relayLogFiles } from './set.ts'

export interface ErrantArchiveRequest {
  readonly dataDir: string
  readonly archiveDir: string
  readonly instance: string
  /** What is to be archived, whole. */
  readonly gtids: GtidText
  readonly wallMs: number
}

/**
 * Copies transactions that the primary does not have out of the binlogs, and what was received and not yet applied out
 * of the relay logs, of a server that runs or not, before the instance is seeded again (safety rule 8). What an earlier
 * archive of this instance holds, a tail that was cut off and yet had been committed, is not looked for again. Resolves
 * to the folders, a new one first, in which `mysqlbinlog` reads every file.
 *
 * Throws `REGENT_REFUSED`, naming them, where transactions are nowhere (purged, cloned); `REGENT_BINLOG_UNREADABLE`
 * where a file that may have them cannot be read. Nothing is archived then.
 */
export async function archiveErrant(request: ErrantArchiveRequest, signal?: AbortSignal): Promise<readonly string[]> {
  const { dataDir, archiveDir, instance, wallMs } = request
  const wanted = GtidSet.parse(request.gtids)
  const search = new Search(wanted, signal)
  await search.addFiles(await binlogFiles(dataDir), false)
  if (!search.missing().isEmpty()) await search.addFiles(await relayLogFiles(dataDir), true)
  const earlier = await archivesWith(search.missing(), archiveDir, instance)
  const missing = search.missing().subtract(earlier.set)
  if (!missing.isEmpty()) {
    throw new RegentError(
      'REGENT_REFUSED',
      say`${instance}: ${text(missing.toString())} cannot be archived: not in its binlogs (${missing.count()} of ${wanted.count()} transactions)`,
    )
  }
  if (search.sources.length === 0) return earlier.folders
  const reason = 'not on the primary, taken from the logs before the instance is seeded again'
  const description = {
    version: archiveVersion,
    kind: 'errant',
    instance,
    gtids: search.found.set().toString(),
    wallMs,
    reason,
  } as const
  return [await writeArchive(archiveDir, search.sources, description), ...earlier.folders]
}

/**
 * Earlier archives of this instance that hold some of these transactions: by what their files hold, not by what they
 * say.
 */
async function archivesWith(
  gtids: GtidSet,
  archiveDir: string,
  instance: string,
): Promise<{ readonly set: GtidSet; readonly folders: readonly string[] }> {
  const folders: string[] = []
  let set = GtidSet.empty
  for (const archive of gtids.isEmpty() ? [] : await archivesOf(archiveDir, instance)) {
    for (const file of archive.files) {
      const held = (await readFileSets(file)).own.intersect(gtids)
      if (held.isEmpty()) continue
      set = set.union(held)
      if (!folders.includes(archive.folder)) folders.push(archive.folder)
    }
  }
  return { set, folders }
}
