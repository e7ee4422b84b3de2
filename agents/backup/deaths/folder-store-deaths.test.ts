import { mkdir, readdir, rm, stat, writeFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aFolder } from '#agents/backup/testing-backups.ts'
import { contentOf, inChunks, listed } from '#object-store/contract.ts'
import { folderDisk, FolderStore, type FolderDisk } from '#object-store/folder/folder-store.ts'
import { atEachStep, Life } from './testing-life.ts'

/** What is on the disk of a store: the folders as they were synced, with what was synced of their files. */
class Platter {
  readonly #root: string
  /** By the number of the file. */
  readonly #synced = new Map<number, Buffer>()
  /** Names in each folder; null for a folder. */
  readonly #folders = new Map<string, ReadonlyMap<string, Buffer | null>>()
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #written = new Map<FileHandle, Uint8Array[]>()

  constructor(root: string) {
    this.#root = root
  }

  /** Each step may be the last one of the writer, or of the machine. */
  disk(life: Life): FolderDisk {
    const step = <T>(what: () => Promise<T>): Promise<T> =>
      life.step(() => {
        const doing = what()
        this.#underWay.add(doing)
        return doing
      })
    return {
      makeFolder: (path) => step(() => folderDisk.makeFolder(path)),
      write: (file, chunk) => {
        this.#written.set(file, [...(this.#written.get(file) ?? []), chunk])
        return step(() => folderDisk.write(file, chunk))
      },
      sync: (file) =>
        step(async () => {
          this.#synced.set((await file.stat()).ino, Buffer.concat(this.#written.get(file) ?? []))
        }),
      link: (draft, path) => step(() => folderDisk.link(draft, path)),
      rename: (draft, path) => step(() => folderDisk.rename(draft, path)),
      remove: (draft) => step(() => folderDisk.remove(draft)),
      syncFolder: (path) => step(() => this.#sync(path)),
    }
  }

  /** All that was not synced is gone. */
  async crash(): Promise<void> {
    await Promise.allSettled(this.#underWay)
    for (const file of this.#written.keys()) await file.close()
    for (const name of await readdir(this.#root)) await rm(join(this.#root, name), { recursive: true })
    await this.#restore(this.#root)
  }

  async #sync(folder: string): Promise<void> {
    const names = new Map<string, Buffer | null>()
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const { ino } = await stat(join(folder, entry.name))
      names.set(entry.name, entry.isDirectory() ? null : (this.#synced.get(ino) ?? Buffer.alloc(0)))
    }
    this.#folders.set(folder, names)
  }

  async #restore(folder: string): Promise<void> {
    for (const [name, bytes] of this.#folders.get(folder) ?? []) {
      const path = join(folder, name)
      if (bytes !== null) await writeFile(path, bytes)
      else {
        await mkdir(path)
        await this.#restore(path)
      }
    }
  }
}

const texts = { name: 'the first run', part: 'a part', again: 'the part once more' }
const chunks = (text: string) => inChunks(Buffer.from(text), 4)

it('A store in a folder whose machine dies at any step has each object whole, and all that it had told of', async () => {
  const deaths = await atEachStep(true, async (life, at) => {
    const root = await aFolder()
    const platter = new Platter(root)
    const told: string[] = []
    const end = await life.lives(async () => {
      const store = await FolderStore.open(root, platter.disk(life))
      expect(await store.putIfAbsent('shop/base/begun.json', Buffer.from(texts.name))).toBe(true)
      told.push(texts.name)
      await store.put('shop/base/part', chunks(texts.part))
      told.push(texts.part)
      await store.put('shop/base/part', chunks(texts.again))
      told.push(texts.again)
    })
    await platter.crash()
    const store = await FolderStore.open(root)
    const there = new Map<string, string>()
    for (const { key } of await listed(store, '')) there.set(key, (await contentOf(store, key)).toString())
    expect([undefined, texts.name], `death ${at}`).toContain(there.get('shop/base/begun.json'))
    expect([undefined, texts.part, texts.again], `death ${at}`).toContain(there.get('shop/base/part'))
    if (told.includes(texts.name)) expect(there.get('shop/base/begun.json')).toBe(texts.name)
    if (told.includes(texts.part)) expect(there.has('shop/base/part')).toBe(true)
    if (told.includes(texts.again)) expect(there.get('shop/base/part')).toBe(texts.again)
    // Who comes next is the second one exactly where the first one's name is there.
    const isFirst = await store.putIfAbsent('shop/base/begun.json', Buffer.from('the second run'))
    expect(isFirst).toBe(!there.has('shop/base/begun.json'))
    await store.put('shop/base/part', chunks(texts.again))
    await store.dropUnfinished('', Date.now() + 60_000)
    expect((await readdir(join(root, 'shop/base'))).toSorted()).toEqual(['begun.json', 'part'])
    expect((await contentOf(store, 'shop/base/part')).toString()).toBe(texts.again)
    return end
  })
  expect(deaths).toBeGreaterThan(20)
})
