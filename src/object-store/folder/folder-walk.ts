import type { Dirent } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { reasonOf } from './folder-errors.ts'
import { complaintAboutKey } from '../object-key.ts'
import type { StoredObject } from '../object-store.ts'

export interface WalkedFile extends StoredObject {
  readonly path: string
  /** An upload that has not got its name; `key` is that of the object it was to be. */
  readonly isDraft: boolean
}

const draftName = /~[0-9a-f]{16}$/

/**
 * The files under `root` whose key begins with `prefix`, in the order of their keys; what vanishes meanwhile is left
 * out. Symbolic links are neither followed nor given, nor is any file whose name is no key.
 */
export async function* filesIn(root: string, prefix: string, folder = ''): AsyncIterable<WalkedFile> {
  for (const entry of await entriesOf(join(root, folder))) {
    const name = `${folder}${entry.name}`
    if (entry.isDirectory()) {
      const below = `${name}/`
      if (below.startsWith(prefix) || prefix.startsWith(below)) yield* filesIn(root, prefix, below)
      continue
    }
    const file = entry.isFile() ? await fileAt(root, name) : undefined
    if (file?.key.startsWith(prefix) === true) yield file
  }
}

/** Undefined where its name is that of no object and no draft. */
async function fileAt(root: string, name: string): Promise<WalkedFile | undefined> {
  const key = name.replace(draftName, '')
  if (complaintAboutKey(key) !== undefined) return undefined
  const path = join(root, name)
  const facts = await lstat(path).catch(ignoreVanished)
  if (facts?.isFile() !== true) return undefined
  return { key, path, isDraft: key !== name, bytes: facts.size, modifiedMs: Math.floor(facts.mtimeMs) }
}

/** In the order of keys: that of a folder goes on with `/`. */
async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  const entries = (await readdir(folder, { withFileTypes: true }).catch(ignoreVanished)) ?? []
  const sortable = (entry: Dirent) => (entry.isDirectory() ? `${entry.name}/` : entry.name)
  return entries.toSorted((one, other) => (sortable(one) < sortable(other) ? -1 : 1))
}

function ignoreVanished(error: unknown): undefined {
  if (!['ENOENT', 'ENOTDIR'].includes(reasonOf(error))) throw error
}
