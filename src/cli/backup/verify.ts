import { rateAndRest } from '#backup/restore/rate.ts'
import { keyOfStore } from '#backup/transfer/read-key-file.ts'
import { readManifest } from '#backup/transfer/stored-manifests.ts'
import { verifyBackup } from '#backup/transfer/verify-backup.ts'
import { counted, mebibytes } from '#common/text/words.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'
import type { StoredOptions } from './backup-options.ts'
import { opened } from './opened.ts'

const toldEveryMs = 2_000

/** Reads a backup to its end. Rejects where anything of the backup is not as it was stored. */
export async function verifyStored(io: Io, name: string, options: StoredOptions): Promise<void> {
  const { cluster, store, where } = await opened(options.cluster, options)
  try {
    const key = await keyOfStore(where)
    const manifest = await readManifest(store, cluster, name)
    const { rawBytes, storedBytes, parts } = manifest
    const beganMs = performance.now()
    let toldAtMs = beganMs
    const progress = (bytes: number) => {
      if (performance.now() - toldAtMs < toldEveryMs) return
      toldAtMs = performance.now()
      const rate = rateAndRest({ done: bytes, all: rawBytes, ms: toldAtMs - beganMs })
      io.note(`${mebibytes(bytes)} of ${mebibytes(rawBytes)} are read${String(rate)}`)
    }
    await verifyBackup(manifest, { store, key, signal: io.interrupted(), progress })
    if (options.output === 'json')
      return io.out(toJson({ cluster, backup: name, parts: parts.length, rawBytes, storedBytes, asStored: true }))
    io.out(
      `backup ${name} of ${cluster} is as it was stored: ${counted(parts.length, 'part')}, ` +
        `${mebibytes(rawBytes)} of data; that it can be restored, a rehearsal alone proves`,
    )
  } finally {
    store.close()
  }
}
