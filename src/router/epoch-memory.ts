import { sha256Of } from '#common/files/sha256.ts'
import { described, RegentError } from '#common/errors/errors.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { anyText, exactly, integer, objectWith, type Shaped } from '#common/input/shapes.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import { refuseNewer } from '#local/files/file-version.ts'
import { replaceJson } from '#local/files/durable-file.ts'
import { readJsonIfThere } from '#local/files/input-file.ts'

/** The highest epoch that a router was ever told of. The memory outlives the router. */
export interface EpochMemory {
  /** 0 for none. */
  readonly highest: number
  /** The router notes an epoch again and again: a write that failed is tried again then. */
  note(epoch: number): void
  /** Called where the epoch does not belong to these volumes. */
  forget(): void
}

export interface EpochFileParts {
  readonly path: string
  /**
   * A secret that no other cluster has, not even a later cluster of the same name. The file has only a digest of the
   * secret.
   */
  readonly secret: string
  readonly warn: (sentence: Sentence) => void
  readonly write?: (path: string, value: unknown) => Promise<void>
}

const fileShape = objectWith({
  version: exactly(1),
  /** A digest of the cluster's secret. */
  cluster: anyText,
  epoch: integer(1, Number.MAX_SAFE_INTEGER - 1),
})

const what = say`the epoch that this router led by before`

/**
 * Keeps the epoch in a file. Sessions are led also where the file cannot be read or written: a disk that is full,
 * read-only or stuck must not keep a failover from clients.
 */
export class EpochFile implements EpochMemory {
  readonly #parts: EpochFileParts
  #highest: number
  #written: number
  #isWriting = false

  private constructor(parts: EpochFileParts, found: number) {
    this.#parts = parts
    this.#highest = found
    this.#written = found
  }

  static async open(parts: EpochFileParts): Promise<EpochFile> {
    return new EpochFile(parts, await readFound(parts))
  }

  get highest(): number {
    return this.#highest
  }

  note(epoch: number): void {
    this.#highest = Math.max(this.#highest, epoch)
    if (this.#highest > this.#written && !this.#isWriting) void this.#write()
  }

  forget(): void {
    this.#highest = 0
    this.#written = 0
  }

  async #write(): Promise<void> {
    const { path, secret, warn, write = replaceJson } = this.#parts
    this.#isWriting = true
    try {
      while (this.#highest > this.#written) {
        const epoch = this.#highest
        await write(path, { version: 1, cluster: digestOf(secret), epoch })
        // An epoch that was forgotten meanwhile is in the file, and must be written over.
        if (this.#highest >= epoch) this.#written = epoch
      }
    } catch (error) {
      warn(say`the epoch by which this router leads is not written down: ${described(error)}`)
    }
    this.#isWriting = false
  }
}

async function readFound({ path, secret, warn }: EpochFileParts): Promise<number> {
  try {
    const said = await readJsonIfThere(path, what)
    if (said === undefined) return 0
    refuseNewer(path, said, 1)
    const complaint = complaintAbout(fileShape, said)
    if (complaint !== undefined) throw new RegentError('REGENT_BAD_FILE', say`${what}, ${path}: ${complaint}`)
    const { cluster, epoch } = said as Shaped<typeof fileShape>
    return cluster === digestOf(secret) ? epoch : 0
  } catch (error) {
    warn(say`this router begins as if it had never led: ${described(error)}`)
    return 0
  }
}

function digestOf(secret: string): string {
  return sha256Of(Buffer.from(`epoch of a router ${secret}`)).slice(0, 32)
}
