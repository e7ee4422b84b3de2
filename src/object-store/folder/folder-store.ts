import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { link, lstat, mkdir, open, realpath, rename, rm, rmdir, stat, unlink, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { writeFully } from '#common/files/write-fully.ts'
import { syncFolder } from '#common/files/sync-folder.ts'
import { requireRange } from '../byte-range.ts'
import { folderError, reasonOf } from './folder-errors.ts'
import { filesIn } from './folder-walk.ts'
import { missingObject } from '../missing-object.ts'
import { requireKey, requireKeyBeginning } from '../object-key.ts'
import type { ByteRange, Interruptible, ObjectStore, PutOptions, StoredObject } from '../object-store.ts'
import { marked, SourceFailure } from '../source-failure.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'

const chunkBytes = 262_144

/** How an object comes to the disk. */
export interface FolderDisk {
  readonly makeFolder: (path: string) => Promise<void>
  readonly write: (file: FileHandle, chunk: Uint8Array) => Promise<void>
  readonly sync: (file: FileHandle) => Promise<void>
  /** How a draft gets the name of its object. */
  readonly link: (draft: string, path: string) => Promise<void>
  readonly rename: (draft: string, path: string) => Promise<void>
  readonly remove: (draft: string) => Promise<void>
  readonly syncFolder: (path: string) => Promise<void>
}

export const folderDisk: FolderDisk = {
  makeFolder: (path) => mkdir(path, { mode: 0o700 }),
  write: (file, chunk) => writeFully(file, chunk),
  sync: (file) => file.sync(),
  link,
  rename,
  remove: (draft) => rm(draft, { force: true }),
  syncFolder,
}

interface Draft {
  readonly draft: string
  readonly file: FileHandle
  readonly path: string
  readonly bytes: number
}

interface Root {
  readonly root: string
  /** Device and number of that folder. */
  readonly identity: string
}

/**
 * A store in a folder of a local or mounted file system. An object is a file. A draft has a name that no key can have
 * (`~` in it), and gets its own by rename or link after fsync.
 * @param folder absolute; must be there: where a disk is not mounted, its folder must not be filled unnoticed
 */
export class FolderStore implements ObjectStore {
  readonly address: string
  readonly #root: string
  /** Device and number of the folder. */
  readonly #identity: string
  readonly #disk: FolderDisk

  private constructor(address: string, { root, identity }: Root, disk: FolderDisk) {
    this.address = address
    this.#root = root
    this.#identity = identity
    this.#disk = disk
  }

  static async open(folder: string, disk: FolderDisk = folderDisk): Promise<FolderStore> {
    try {
      const root = await realpath(folder)
      return new FolderStore(folder, { root, identity: await identityOf(root) }, disk)
    } catch (error) {
      throw folderError(folder, say`cannot be opened`, error)
    }
  }

  async put(key: string, content: AsyncIterable<Uint8Array>, options: PutOptions = {}): Promise<number> {
    return this.#doing(say`object ${requireKey(key)} was not stored`, options, async () => {
      let bytes = 0
      await this.#place(key, marked(content), options, async ({ draft, file, path, bytes: written }) => {
        bytes = written
        await this.#disk.rename(draft, path).catch(async (error: unknown) => {
          if (!(await isNameOf(file, path))) throw error
        })
      })
      return bytes
    })
  }

  async putIfAbsent(key: string, content: Uint8Array, options: Interruptible = {}): Promise<boolean> {
    return this.#doing(say`object ${requireKey(key)} was not stored`, options, async () => {
      let isFirst = true
      await this.#place(key, [content], options, async ({ draft, file, path }) => {
        await this.#disk.link(draft, path).catch(async (error: unknown) => {
          if (await isNameOf(file, path)) return
          if (reasonOf(error) !== 'EEXIST') throw error
          isFirst = false
        })
        await this.#disk.remove(draft)
      })
      return isFirst
    })
  }

  async *get(key: string, range?: ByteRange, options: Interruptible = {}): AsyncIterable<Uint8Array> {
    const { from, to } = requireRange(range)
    let file: FileHandle | undefined
    try {
      await this.#requireRoot()
      file = await this.#openObject(requireKey(key))
      const end = Math.min(to, (await file.stat()).size)
      for (let at = from; at < end;) {
        options.signal?.throwIfAborted()
        const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, end - at))
        const { bytesRead } = await file.read(chunk, 0, chunk.length, at)
        if (bytesRead === 0) throw new Error(`the file ended at byte ${at}, and had ${end}`)
        at += bytesRead
        yield chunk.subarray(0, bytesRead)
      }
    } catch (error) {
      throw this.#failure(say`object ${key} cannot be read`, error, options)
    } finally {
      await file?.close()
    }
  }

  async *list(prefix: string, options: Interruptible = {}): AsyncIterable<StoredObject> {
    requireKeyBeginning(prefix)
    try {
      await this.#requireRoot()
      for await (const { key, isDraft, ...object } of filesIn(this.#root, prefix)) {
        options.signal?.throwIfAborted()
        if (!isDraft) yield { key, ...object }
      }
    } catch (error) {
      throw this.#failure(say`objects ${prefix}… cannot be listed`, error, options)
    }
  }

  async delete(keys: readonly string[], options: Interruptible = {}): Promise<readonly string[]> {
    for (const key of keys.map(requireKey)) {
      await this.#doing(say`object ${key} was not deleted`, options, () => this.#remove(join(this.#root, key)))
    }
    return []
  }

  async dropUnfinished(prefix: string, beforeMs: number, options: Interruptible = {}): Promise<number> {
    requireKeyBeginning(prefix)
    return this.#doing(say`drafts of objects ${prefix}… were not removed`, options, async () => {
      let dropped = 0
      for await (const { path, isDraft, modifiedMs } of filesIn(this.#root, prefix)) {
        options.signal?.throwIfAborted()
        if (!isDraft || modifiedMs >= beforeMs) continue
        await rm(path, { force: true })
        dropped += 1
      }
      return dropped
    })
  }

  close(): void {
    // Nothing stays open between calls.
  }

  /** A draft of the content, durable, which `settle` gives its name. */
  async #place(
    key: string,
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { signal }: Interruptible,
    settle: (draft: Draft) => Promise<void>,
  ): Promise<void> {
    const path = join(this.#root, key)
    const draft = `${path}~${randomBytes(8).toString('hex')}`
    const file = await this.#openDraft(draft)
    try {
      try {
        const bytes = await this.#writeAll(file, content, signal)
        await this.#disk.sync(file)
        await settle({ draft, file, path, bytes })
      } finally {
        await file.close()
      }
      await this.#disk.syncFolder(dirname(path))
    } catch (error) {
      await rm(draft, { force: true }).catch(() => undefined)
      throw error
    }
  }

  async #writeAll(
    file: FileHandle,
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    let bytes = 0
    for await (const chunk of content) {
      signal?.throwIfAborted()
      await this.#disk.write(file, chunk)
      bytes += chunk.length
    }
    signal?.throwIfAborted()
    return bytes
  }

  /** Another process that deletes the last object of a folder removes the folder, also right after it was made. */
  async #openDraft(draft: string): Promise<FileHandle> {
    for (let attempt = 1; ; attempt += 1) {
      await this.#makeFolders(dirname(draft))
      try {
        return await open(draft, 'wx', 0o600)
      } catch (error) {
        if (reasonOf(error) !== 'ENOENT' || attempt === 10) throw error
      }
    }
  }

  /** With their names on disk, also of those that another writer made a moment ago. */
  async #makeFolders(folder: string): Promise<void> {
    if (folder !== this.#root) {
      await this.#makeFolders(dirname(folder))
      await this.#disk.makeFolder(folder).catch((error: unknown) => {
        if (reasonOf(error) !== 'EEXIST') throw error
      })
      await this.#disk.syncFolder(dirname(folder))
    }
    await this.#requireInside(folder)
  }

  async #openObject(key: string): Promise<FileHandle> {
    const path = join(this.#root, key)
    try {
      await this.#requireInside(dirname(path))
      // Without NONBLOCK a named pipe would wait for somebody who writes.
      const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
      if ((await file.stat()).isFile()) return file
      await file.close()
    } catch (error) {
      if (!['ENOENT', 'ENOTDIR'].includes(reasonOf(error))) throw error
    }
    throw missingObject(this.address, key)
  }

  /** A symbolic link in the store could lead to any file of this machine. */
  async #requireInside(folder: string): Promise<void> {
    const real = await realpath(folder)
    if (real !== folder) throw new Error(`${folder} is a symbolic link to ${real}, and no link is followed`)
  }

  async #remove(path: string): Promise<void> {
    try {
      await this.#requireInside(dirname(path))
      await unlink(path)
      await syncFolder(dirname(path))
    } catch (error) {
      if (!['ENOENT', 'ENOTDIR'].includes(reasonOf(error))) throw error
    }
    await this.#removeEmptyFolders(dirname(path))
  }

  async #removeEmptyFolders(folder: string): Promise<void> {
    for (let empty = folder; empty !== this.#root; empty = dirname(empty)) {
      try {
        await rmdir(empty)
      } catch (error) {
        // What is in the way belongs to somebody: ENOTEMPTY most often.
        if (reasonOf(error) !== 'ENOENT') return
      }
    }
  }

  async #doing<T>(what: Sayable, options: Interruptible, task: () => Promise<T>): Promise<T> {
    options.signal?.throwIfAborted()
    try {
      await this.#requireRoot()
      return await task()
    } catch (error) {
      throw this.#failure(what, error, options)
    }
  }

  #failure(what: Sayable, error: unknown, { signal }: Interruptible): unknown {
    if (error instanceof SourceFailure) return error.cause
    return signal?.aborted === true ? signal.reason : folderError(this.address, what, error)
  }

  /** Where a disk is unmounted, an empty folder comes to light: nothing may be written or missed there. */
  async #requireRoot(): Promise<void> {
    if ((await identityOf(this.#root)) === this.#identity) return
    throw new Error('the folder is another than before: mount its disk again, or start the process anew')
  }
}

/**
 * Whether a name is of this very file. On a mounted folder an answer may be lost, and the file system tries again what
 * was done already: a link says that the name exists, and a rename that there is no draft.
 */
async function isNameOf(file: FileHandle, path: string): Promise<boolean> {
  const own = await file.stat({ bigint: true })
  const there = await lstat(path, { bigint: true }).catch((error: unknown) => {
    if (reasonOf(error) !== 'ENOENT') throw error
    return null
  })
  return there !== null && there.dev === own.dev && there.ino === own.ino
}

async function identityOf(folder: string): Promise<string> {
  const facts = await stat(folder, { bigint: true })
  if (!facts.isDirectory()) throw Object.assign(new Error('no folder'), { code: 'ENOTDIR' })
  return `${facts.dev}:${facts.ino}`
}
