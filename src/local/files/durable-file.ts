import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder } from '#common/files/sync-folder.ts'

/**
 * Puts a whole file in place in one rename, fsynced before and after: a reader sees the old content or the new one,
 * also after a power cut. `mode` is the file's permission bits.
 */
export async function replaceFile(path: string, text: string, mode = 0o600): Promise<void> {
  await replace(path, text, { mode, synced: true })
  await syncFolder(dirname(path))
}

export async function replaceJson(path: string, value: unknown): Promise<void> {
  await replaceFile(path, textOf(value))
}

/**
 * The same without a wait for the disk: after a power cut the file may be the old one, or damaged. For what is derived
 * from another file, and written again.
 */
export async function replaceDerivedJson(path: string, value: unknown): Promise<void> {
  await replace(path, textOf(value), { mode: 0o600, synced: false })
}

const textOf = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

interface Writing {
  readonly mode: number
  readonly synced: boolean
}

async function replace(path: string, text: string, writing: Writing): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}.new`
  try {
    await write(temporary, text, writing)
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

async function write(path: string, text: string, { mode, synced }: Writing): Promise<void> {
  const file = await open(path, 'wx', mode)
  try {
    await file.writeFile(text)
    if (synced) await file.sync()
  } finally {
    await file.close()
  }
}
