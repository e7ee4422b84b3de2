import { say } from '#common/sentence/sentence.ts'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { described } from '#common/errors/errors.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import { unreadable } from '#binlog/events.ts'
import { serverLife, type Parts } from '../instance/parts.ts'
import { syncFolder } from '#common/files/sync-folder.ts'
import { writeSynced } from '#common/files/write-synced.ts'

/** In the data folder itself: a copy that takes the place of that folder brings no note of another server. */
const fileName = 'regent-purged-gtids'

/**
 * What a server executed and no binlog of it names (`gtid_purged`), as it was when the server was last seen up. After a
 * CLONE that is everything that was copied: the server knows it from its table `mysql.gtid_executed`, which nobody can
 * read once the server is dead. '' where nothing was noted.
 */
export async function readPurgedNote(dataDir: string): Promise<GtidSet> {
  const path = join(dataDir, fileName)
  try {
    return GtidSet.parse(await readFile(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return GtidSet.empty
    throw unreadable(say`${path} cannot be read: ${described(error)}`)
  }
}

/** On the disk once it resolves. An agent that dies in the middle leaves the note before. */
export async function writePurgedNote(dataDir: string, gtids: GtidText): Promise<void> {
  const path = join(dataDir, fileName)
  await writeSynced(path, gtids, 0o666)
  await syncFolder(dataDir)
}

interface Noted {
  /** `serverLife`. */
  readonly server: string
  readonly gtids: GtidText
}

/** Notes what the running server has purged whenever that is something else, beside everything else that goes on. */
export class PurgedNote {
  readonly #parts: Pick<Parts, 'notices' | 'observer' | 'process' | 'volume'>
  #noted: Noted | null = null
  #writing = false

  constructor(parts: Pick<Parts, 'notices' | 'observer' | 'process' | 'volume'>) {
    this.#parts = parts
  }

  /** To be called whenever the server has answered. */
  look(): void {
    if (!this.#writing && this.#due() !== null) void this.#write()
  }

  #due(): Noted | null {
    const { observer } = this.#parts
    const server = serverLife(this.#parts)
    if (server === null || observer.server === null) return null
    const seen = { server, gtids: observer.server.purged }
    return this.#noted?.server === seen.server && this.#noted.gtids === seen.gtids ? null : seen
  }

  async #write(): Promise<void> {
    this.#writing = true
    try {
      for (let due = this.#due(); due !== null; due = this.#due()) {
        await this.#parts.volume.notePurged(due.gtids)
        this.#noted = due
      }
    } catch (error) {
      // A full disk: tried again with the next look.
      this.#parts.notices.failed('PurgedNotNoted', say`transactions that no binlog names could not be noted`, error)
    } finally {
      this.#writing = false
    }
  }
}
