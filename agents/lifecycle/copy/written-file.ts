import { writeFully } from '#common/files/write-fully.ts'
import type { FilledFile } from './copy-disk.ts'

/** So much is written before the disk is asked to begin. */
const usualSyncBytes = 67_108_864

/**
 * A file that is filled, and durable once it was closed. The disk begins while the rest still comes: Linux keeps
 * gigabytes in memory until a sync, which would then be waited for with nothing else to do.
 */
export class WrittenFile {
  readonly #file: FilledFile
  readonly #syncBytes: number
  #unsynced = 0
  /** The sync of what was written some time ago. Never rejects. */
  #syncing: Promise<void> | null = null
  #failure: { readonly error: unknown } | null = null

  constructor(file: FilledFile, syncBytes = usualSyncBytes) {
    this.#file = file
    this.#syncBytes = syncBytes
  }

  /** Rejects as the disk does, also for what was written before. */
  async write(chunk: Uint8Array): Promise<void> {
    await writeFully(this.#file, chunk)
    if (this.#failure !== null) throw this.#failure.error
    this.#unsynced += chunk.length
    if (this.#unsynced < this.#syncBytes || this.#syncing !== null) return
    this.#begin(this.#file.datasync())
  }

  /** Makes durable what was written so far; more may be written meanwhile. */
  async syncSoFar(): Promise<void> {
    const before = this.#syncing
    // Also where the file is closed meanwhile: that waits.
    this.#begin(before === null ? this.#file.datasync() : before.then(() => this.#file.datasync()))
    await this.#syncing
    if (this.#failure !== null) throw this.#failure.error
  }

  #begin(sync: Promise<void>): void {
    this.#unsynced = 0
    const syncing = sync
      .catch((error: unknown) => void (this.#failure ??= { error }))
      .finally(() => {
        if (this.#syncing === syncing) this.#syncing = null
      })
    this.#syncing = syncing
  }

  /** Makes all of it durable. */
  async sync(): Promise<void> {
    await this.#syncing
    if (this.#failure !== null) throw this.#failure.error
    await this.#file.sync()
  }

  async close(): Promise<void> {
    await this.#syncing
    await this.#file.close()
  }
}
