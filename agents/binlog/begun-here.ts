import { binlogNumberIn } from '#common/mysql/binlog-number.ts'
import type { BinlogPlace } from '#topology/snapshot/observation.ts'
import type { BegunHere } from '../ports/volume.ts'
import { scanBinlog } from './file.ts'
import { GroupFold } from './groups.ts'
import { binlogFiles } from './set.ts'
import { changesNoData } from './trimmable.ts'

/**
 * How many transactions behind a place in the binlogs began at this server itself, and how many of those may have
 * changed data. What was applied for others carries the `server_id` of where that began.
 */
export async function begunHere(dataDir: string, from: BinlogPlace, signal?: AbortSignal): Promise<BegunHere> {
  let [all, changing] = [0, 0]
  for (const path of await binlogFiles(dataDir)) {
    const file = binlogNumberIn(path)
    if (file < from.file) continue
    let own: number | undefined
    const fold = new GroupFold(({ serverId, offset, ending }) => {
      const isBefore = file === from.file && offset < from.position
      if (serverId !== own || isBefore || ending.kind === 'incomplete') return
      all += 1
      if (!changesNoData(ending)) changing += 1
    })
    await scanBinlog(
      path,
      (event) => {
        // The first event, Format_description, is this server's own.
        own ??= event.serverId
        return fold.add(event)
      },
      { signal, verify: false },
    )
    fold.finish()
  }
  return { all, changing }
}
