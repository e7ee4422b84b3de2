import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describeError } from '#common/errors/errors.ts'
import { dictionaryFile } from '../copy/pack-folder.ts'
import type { Unpacked } from '../copy/unpack.ts'
import { syncFolder } from '#common/files/sync-folder.ts'
import { writeSynced } from '#common/files/write-synced.ts'

/** What `regent-loaded.json` says, in a data folder that a worker filled. */
export interface LoadedNote {
  readonly version: 1
  /** UID of the task, so that a worker that is started again knows its own load. */
  readonly task: string
  readonly from: string
  readonly files: number
  readonly bytes: number
  /** Whether the source vouched for every byte. */
  readonly isVerified: boolean
  /** What the copied server had executed, where the source said so. */
  readonly atLeast?: string
  readonly atMost?: string
}

/** Here a copy grows. No dot in front: `mysqld --initialize` refuses a folder with this in it. */
const stagingName = 'regent-load.partial'
const loadedName = 'regent-loaded.json'
/** The server's group reads too. */
const noteMode = 0o640
/** In the staging folder. */
const [markerName, dataName, movingName] = ['unfinished.txt', 'data', 'moving.json']
/**
 * What a server leaves that somebody started on an unfinished load, and that ended at once (seen on 9.7): none of it is
 * data.
 */
const ofFailedStart = /^(?:auto\.cnf|[^/]*\.index|#ib_\d+_\d+\.b?dblwr|ibtmp1|#innodb_temp)$/
/** What a new file system has. */
const notData: ReadonlySet<string> = new Set(['lost+found'])

/**
 * What does not travel from one server to another: `auto.cnf` holds the `server_uuid`, which no two servers may share;
 * what an earlier load left behind belongs to the source.
 */
export const staysBehind: ReadonlySet<string> = new Set(['auto.cnf', loadedName, stagingName, ...notData])

/** Without these no mysqld of 8.0 or newer starts. */
const needed = [dictionaryFile, 'ibdata1'] as const

/**
 * A data folder that is filled by one copy, or not at all. All that comes goes into a staging folder first. The staged
 * files take their places once the copy is whole, checked and synced, `mysql.ibd` last: no mysqld starts on a folder
 * that lacks this file. So a folder in which a load failed, or died, at whatever point, is not usable, and looks it.
 */
export class LoadFolder {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Where a copy is to be unpacked. */
  get stage(): string {
    return join(this.#staging, dataName)
  }

  get #staging(): string {
    return join(this.#folder, stagingName)
  }

  /**
   * Clears away what an earlier load left, and makes an empty stage. Gives the note of the load where the same task has
   * loaded this folder already. Rejects where the folder has data of anybody else.
   */
  async prepare(task: string): Promise<LoadedNote | undefined> {
    await mkdir(this.#folder, { recursive: true, mode: 0o750 })
    await this.#clear()
    const names = await this.#names()
    if (names.includes(dictionaryFile)) {
      const note = await this.#loaded()
      if (note?.task === task) return note
    }
    if (names.length > 0)
      throw new Error(
        `${this.#folder} has data already (${names.slice(0, 3).join(', ')}${names.length > 3 ? ' …' : ''}), ` +
          'and a load overwrites nothing: empty the folder, or name another',
      )
    await mkdir(this.stage, { recursive: true, mode: 0o700 })
    await this.#mark('A copy of a MySQL server is being loaded here.')
    return undefined
  }

  /** Throws where the staged copy is no data folder of a MySQL server. */
  async check(): Promise<void> {
    const names = await readdir(this.stage)
    const missing = needed.filter((name) => !names.includes(name))
    if (missing.length > 0)
      throw new Error(
        `the copy has no ${missing.join(' and no ')} at its top: it is no data folder of MySQL 8.0 or newer`,
      )
  }

  /** Moves the staged copy to its place. What dies in the middle of this is cleared away by the next `prepare`. */
  async finish(task: string, from: string, { files, bytes, note, isVerified }: Unpacked & { isVerified: boolean }) {
    const loaded: LoadedNote = {
      version: 1,
      task,
      from,
      files,
      bytes,
      isVerified,
      ...(note && { atLeast: note.atLeast, atMost: note.atMost }),
    }
    await writeSynced(join(this.stage, loadedName), `${JSON.stringify(loaded)}\n`, noteMode)
    await syncFolder(this.stage)
    const names = (await readdir(this.stage)).filter((name) => name !== dictionaryFile)
    await writeSynced(join(this.#staging, movingName), JSON.stringify(names), noteMode)
    await syncFolder(this.#staging)
    for (const name of names) await this.#move(name)
    await syncFolder(this.#folder)
    await this.#move(dictionaryFile)
    await syncFolder(this.#folder)
    await rm(this.#staging, { recursive: true })
  }

  /** Gives up: frees the space, and leaves the marker, with the reason. */
  async fail(error: unknown): Promise<void> {
    await rm(this.stage, { recursive: true, force: true })
    await this.#takeBack()
    await this.#mark(`A copy of a MySQL server was to be loaded here, and that failed: ${describeError(error)}`)
  }

  async #move(name: string): Promise<void> {
    await rename(join(this.stage, name), join(this.#folder, name))
  }

  async #mark(sentence: string): Promise<void> {
    const text = `${sentence}\nUntil a load has succeeded this folder is not usable by a server. The next load begins from nothing.\n`
    await writeSynced(join(this.#staging, markerName), text, noteMode)
    await syncFolder(this.#staging)
    await syncFolder(this.#folder)
  }

  /**
   * Removes the staging folder of an earlier load. Files that this load had moved already are removed too, and what a
   * server left that was started there, unless the load had come to its end.
   */
  async #clear(): Promise<void> {
    const names = await readdir(this.#folder)
    if (!names.includes(stagingName)) return
    await this.#takeBack()
    if (!names.includes(dictionaryFile))
      for (const name of names.filter((each) => ofFailedStart.test(each)))
        await rm(join(this.#folder, name), { recursive: true, force: true })
    await rm(this.#staging, { recursive: true })
    await syncFolder(this.#folder)
  }

  /** Removes what a load had begun to move to its place. With the dictionary in its place the load is complete. */
  async #takeBack(): Promise<void> {
    const moving = join(this.#staging, movingName)
    const text = await readOrNothing(moving)
    if (text === undefined || (await this.#names()).includes(dictionaryFile)) return
    for (const name of JSON.parse(text) as readonly string[])
      await rm(join(this.#folder, name), { recursive: true, force: true })
    await syncFolder(this.#folder)
    await rm(moving)
  }

  async #loaded(): Promise<LoadedNote | undefined> {
    const text = await readOrNothing(join(this.#folder, loadedName))
    return text === undefined ? undefined : (JSON.parse(text) as LoadedNote)
  }

  async #names(): Promise<readonly string[]> {
    return (await readdir(this.#folder)).filter((name) => !notData.has(name)).toSorted()
  }
}

async function readOrNothing(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}
