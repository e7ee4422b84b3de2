import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Logs of replication at the top of a data folder: CLONE copies none of them. */
const log = /^(?:binlog|relay-bin)[.-]/
/** A temporary file that went away in between. */
const gone = 0

/**
 * Bytes that a copy of a running server takes, as its data folder shows them at this moment. A file that is sparse
 * counts whole: so it comes out of a copy.
 */
export async function dataBytes(dataDir: string): Promise<number> {
  const found = await readdir(dataDir, { recursive: true, withFileTypes: true })
  const files = found.filter((entry) => entry.isFile() && !(entry.parentPath === dataDir && log.test(entry.name)))
  const sizes = files.map(async (entry) =>
    stat(join(entry.parentPath, entry.name)).then(
      ({ size }) => size,
      () => gone,
    ),
  )
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}
