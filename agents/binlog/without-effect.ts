import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import { scanBinlog } from './file.ts'
import { GroupFold } from './groups.ts'
import { GtidCollector, GtidMatcher } from './gtid-collector.ts'
import { binlogFiles } from './set.ts'
import { filesThatMayHave } from './files-with.ts'
import { changesNoData } from './trimmable.ts'

/**
 * Which of these transactions are in the binlogs, whole, and changed no data: each is one statement FLUSH, ANALYZE or
 * OPTIMIZE. What cannot be found or understood is not among them.
 */
export async function withoutEffect(dataDir: string, gtids: GtidSet, signal?: AbortSignal): Promise<GtidSet> {
  const isWanted = new GtidMatcher(gtids)
  const found = new GtidCollector()
  for (const { path } of await filesThatMayHave(await binlogFiles(dataDir), gtids)) {
    const fold = new GroupFold(({ gtid, ending }) => {
      if (gtid !== null && isWanted.has(gtid) && changesNoData(ending)) found.add(gtid)
    })
    await scanBinlog(path, (event) => fold.add(event), { signal })
    fold.finish()
  }
  return found.set()
}
