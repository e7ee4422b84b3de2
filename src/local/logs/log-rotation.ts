import { copyFile, readdir, rename, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from '../files/input-file.ts'

/** A log longer than this is put aside; `.1` and `.2` are kept, so that one process takes 30 MB at most. */
const logLimitBytes = 10 * 1024 * 1024

/**
 * Puts logs that grew past the limit aside. The content is copied and the file truncated, not renamed: processes write
 * to it themselves, in append mode, so that they go on when the supervisor is gone. A line written between the copy and
 * the truncation is lost.
 */
export async function rotateLogs(folder: string, limitBytes = logLimitBytes): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.endsWith('.log')) await rotate(join(folder, name), limitBytes)
  }
}

async function rotate(path: string, limitBytes: number): Promise<void> {
  if ((await stat(path)).size <= limitBytes) return
  await rename(`${path}.1`, `${path}.2`).catch((error: unknown) => {
    if (!isMissing(error)) throw error
  })
  await copyFile(path, `${path}.1`)
  await truncate(path)
}
