import { open, rename } from 'node:fs/promises'

/**
 * Puts a whole file in place in one rename: a process that dies leaves the old content or the new one. The content is
 * on the disk before the rename; the rename is once `syncFolder` was called for the folder. The file has one writer at
 * a time.
 */
export async function writeSynced(path: string, text: string, mode = 0o600): Promise<void> {
  const draft = `${path}.new`
  {
    await using file = await open(draft, 'w', mode)
    await file.writeFile(text)
    await file.sync()
  }
  await rename(draft, path)
}
