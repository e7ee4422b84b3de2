import { refusesPlain, whyNotPlain } from '#backup/keys/plain.ts'
import { keyOfStore } from '#backup/transfer/read-key-file.ts'
import { say } from '#common/sentence/sentence.ts'
import { describeWindow, windowOf } from '#backup/restore/window.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'
import type { StoredOptions } from './backup-options.ts'
import { opened } from './stored.ts'

/** From when to when the cluster can be restored, with each hole of the archive. */
export async function showWindow(io: Io, wanted: string | undefined, options: StoredOptions): Promise<void> {
  const { cluster, store, where } = await opened(wanted, options)
  try {
    const key = await keyOfStore(where)
    const { manifests, ...archive } = await readArchive(store, cluster, 'restore', key)
    const taken = manifests.filter(({ encryption }) => encryption !== null || !refusesPlain(key))
    for (const { name } of manifests.filter((one) => !taken.includes(one)))
      io.note(String(whyNotPlain(say`backup ${name}`)))
    const window = windowOf({ ...archive, manifests: taken })
    if (options.output !== 'json') {
      for (const line of describeWindow(cluster, window)) io.out(String(line))
      return
    }
    const time = (ms: number) => new Date(ms).toISOString()
    io.out(
      toJson({
        cluster,
        spans: window.spans.map(({ fromMs, toMs }) => ({ from: time(fromMs), to: time(toMs) })),
        alone: window.alone,
        holes: window.holes.map(({ why }) => String(why)),
      }),
    )
  } finally {
    store.close()
  }
}
