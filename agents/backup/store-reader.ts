import { findInArchive, understood } from '#backup/transfer/find-in-archive.ts'
import { restoreWindow, storedBackups, type LookedInto } from '#backup/transfer/stored-backups.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { backupFolderOf } from '#failover/protocol/backup-store.ts'
import type { Answers, Word } from '#failover/protocol/word.ts'
import type { Parts } from '../instance/parts.ts'
import type { StoresPort } from '../ports/backup-port.ts'
import { requireAccess } from './access.ts'

/** The longest time of one answer of a search; the caller asks again for the rest. */
const searchMs = 10_000
const mostFound = 1_000
/** An agent is small: a transaction of more bytes, compressed, is passed over. */
const longestPayload = 4_194_304

/** Reads the store for people: their machines have neither login nor key. One caller reads at a time. */
export class StoreReader {
  readonly #parts: Pick<Parts, 'config' | 'world'>
  readonly #port: StoresPort | null
  readonly #stop = new AbortController()
  #reads = false

  constructor(parts: Pick<Parts, 'config' | 'world'>, port: StoresPort | null) {
    this.#parts = parts
    this.#port = port
  }

  /** Tells the backups of the store. Each answer here throws `REGENT_BUSY`, `REGENT_REFUSED`, and as the store does. */
  backups(asked: Word<'storedBackups'>): Promise<Answers['storedBackups']> {
    return this.#reading(asked, storedBackups)
  }

  window(asked: Word<'restoreWindow'>): Promise<Answers['restoreWindow']> {
    return this.#reading(asked, restoreWindow)
  }

  async find(asked: Word<'findInArchive'>): Promise<Answers['findInArchive']> {
    const { clock } = this.#parts.world
    understood(asked)
    const beganMs = clock.monotonicMs()
    const isEnough = (found: number) => found >= mostFound || clock.monotonicMs() - beganMs >= searchMs
    return this.#reading(asked, (from) =>
      findInArchive(from, asked, { isEnough, longestPayload, signal: this.#stop.signal }),
    )
  }

  stop(): void {
    this.#stop.abort(new Error('the agent is stopping'))
  }

  async #reading<T>(asked: Word<'storedBackups'>, read: (from: LookedInto) => Promise<T>): Promise<T> {
    const { instance } = this.#parts.config
    const port = requireAccess(this.#port, instance)
    if (this.#reads)
      throw new RegentError('REGENT_BUSY', say`${instance} reads the store of backups for somebody already`)
    this.#reads = true
    try {
      const { store, key } = await port.open(asked.store)
      try {
        return await read({ store, key, cluster: backupFolderOf(asked) })
      } finally {
        store.close()
      }
    } finally {
      this.#reads = false
    }
  }
}
