import { readFile } from 'node:fs/promises'
import type { Random } from '#common/ports/ports.ts'
import { writeNote } from './note.ts'

/**
 * The `server_uuid` of a far server: whatever else answers at its address is another server. A server whose data are
 * replaced gets another one, as near ones do: numbers that its errant transactions had are never given again. Both are
 * noted before the host has the new one.
 */
export class FarIdentity {
  readonly #file: string
  readonly #random: Random
  #uuids: readonly string[]
  /** What the last session saw; null before the first one. */
  #now: string | null = null

  private constructor(file: string, random: Random, uuids: readonly string[]) {
    this.#file = file
    this.#random = random
    this.#uuids = uuids
  }

  /** @param adopted what the server had when it was adopted */
  static async read(file: string, adopted: string, random: Random): Promise<FarIdentity> {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    return new FarIdentity(
      file,
      random,
      text === null ? [adopted] : (JSON.parse(text) as { uuids: readonly string[] }).uuids,
    )
  }

  get uuids(): readonly string[] {
    return this.#uuids
  }

  /** Whether a session may go on with a server that has this uuid. */
  allows(uuid: string): boolean {
    if (!this.#uuids.includes(uuid)) return false
    this.#now = uuid
    return true
  }

  /**
   * What the server is to have from its next start on. A uuid that was noted since the server was last seen stays: the
   * host may have that uuid, and never get the new one.
   */
  async renew(): Promise<string> {
    const next = this.#random.uuid()
    const seenAt = this.#now === null ? 0 : Math.max(0, this.#uuids.indexOf(this.#now))
    const uuids = [...this.#uuids.slice(seenAt), next]
    await writeNote(this.#file, { uuids })
    this.#uuids = uuids
    return next
  }
}
