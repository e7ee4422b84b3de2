import { appendFile, readdir, rm, stat, truncate } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { realCopyDisk, type CopyDisk, type FilledFile } from '#agents/lifecycle/copy/copy-disk.ts'
import type { Life } from './testing-life.ts'

/** The disk of a copy, each step to which may be the last one of an agent, or of its machine. Nothing is synced. */
export class MortalDisk implements CopyDisk {
  readonly #life: Life
  /** How much of a file is on the disk. */
  readonly #synced = new Map<string, number>()
  /** Files and folders whose name is on the disk. */
  readonly #named = new Set<string>()
  readonly #open = new Set<FilledFile>()
  readonly #underWay = new Set<Promise<unknown>>()

  /** @param before the same disk, in the life of the agent before */
  constructor(life: Life, before?: MortalDisk) {
    this.#life = life
    if (before === undefined) return
    for (const [path, bytes] of before.#synced) this.#synced.set(path, bytes)
    for (const path of before.#named) this.#named.add(path)
  }

  makeFolder = (path: string) => this.#step(() => realCopyDisk.makeFolder(path))
  create = (path: string) => this.#step(async () => this.#file(path, await realCopyDisk.create(path), 0))

  cut = (path: string, bytes: number) =>
    this.#step(async () => {
      await realCopyDisk.cut(path, bytes)
      this.#synced.set(path, Math.min(this.#synced.get(path) ?? 0, bytes))
    })

  remove = (path: string) =>
    this.#step(async () => {
      await realCopyDisk.remove(path)
      for (const known of [this.#synced, this.#named])
        for (const each of known.keys()) if (each === path || each.startsWith(`${path}/`)) known.delete(each)
    })

  goOn = (path: string) => this.#step(async () => this.#file(path, await realCopyDisk.goOn(path), await sizeOf(path)))

  append = (path: string, text: string) =>
    this.#step(async () => {
      await appendFile(path, text)
      this.#synced.set(path, Infinity)
    })

  syncFolder = (path: string) =>
    this.#step(async () => {
      for (const name of await readdir(path)) this.#named.add(join(path, name))
    })

  /** Nothing is written any more by an agent that died. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay)
    for (const file of this.#open) await file.close()
  }

  /** The machine loses what it had not synced of a copy. */
  async crash(folder: string, journal: string): Promise<void> {
    if (!this.#named.has(journal)) await rm(journal, { force: true })
    if (!this.#named.has(folder)) await rm(folder, { recursive: true, force: true })
    const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
    for (const entry of found) {
      const path = join(entry.parentPath, entry.name)
      const isNamed = this.#named.has(path) && (dirname(path) === folder || this.#named.has(dirname(path)))
      if (!isNamed) await rm(path, { recursive: true, force: true })
      else if (entry.isFile()) await truncate(path, Math.min(this.#synced.get(path) ?? 0, await sizeOf(path)))
    }
  }

  #file(path: string, file: FilledFile, bytes: number): FilledFile {
    let written = bytes
    this.#open.add(file)
    const sync = () =>
      this.#step(async () => {
        const until = written
        // What is written meanwhile is not synced.
        await turn()
        this.#synced.set(path, Math.max(this.#synced.get(path) ?? 0, until))
      })
    return {
      write: (...what) =>
        this.#step(async () => {
          const done = await file.write(...what)
          written += done.bytesWritten
          return done
        }),
      ...{ datasync: sync, sync },
      close: () => {
        this.#open.delete(file)
        return file.close()
      },
    }
  }

  #step<T>(step: () => Promise<T>): Promise<T> {
    return this.#life.step(() => {
      const doing = step()
      this.#underWay.add(doing)
      const end = () => void this.#underWay.delete(doing)
      doing.then(end, end)
      return doing
    })
  }
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path)).size
}
