import { open, writeFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'

const bufferBytes = 1_048_576

/**
 * The relay logs of one channel in a data folder, and their index, as a server would have written them. Not synced to
 * the disk: they are gone before a copy is used, and needed no more once a server has applied them.
 */
export class RelayLogFiles {
  readonly channel: string
  readonly #folder: string
  readonly #prefix: string
  readonly #names: string[] = []
  #file: FileHandle | null = null
  #held: Buffer[] = []
  #heldBytes = 0
  #bytes = 0

  /** @param of the channel, and with what the names of all relay logs of its server begin */
  constructor(folder: string, of: { readonly base: string; readonly channel: string }) {
    this.#folder = folder
    this.#prefix = of.base
    this.channel = of.channel
  }

  get bytes(): number {
    return this.#bytes
  }

  get firstFile(): string {
    return this.#nameOf(1)
  }

  async begin(head: Buffer): Promise<void> {
    await this.close()
    const name = this.#nameOf(this.#names.length + 1)
    this.#file = await open(join(this.#folder, name), 'w', 0o640)
    this.#names.push(name)
    await this.write(head)
  }

  async write(bytes: Buffer): Promise<void> {
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    this.#bytes += bytes.length
    if (this.#heldBytes >= bufferBytes) await this.#flush()
  }

  /** From now on a server may apply them. */
  async finish(): Promise<void> {
    await this.close()
    const lines = this.#names.map((name) => `./${name}\n`).join('')
    if (lines !== '') await writeFile(join(this.#folder, `${this.#base}.index`), lines, { mode: 0o640 })
  }

  async close(): Promise<void> {
    if (this.#file === null) return
    await this.#flush()
    await this.#file.close()
    this.#file = null
  }

  get #base(): string {
    return `${this.#prefix}-${this.channel}`
  }

  #nameOf(number: number): string {
    return `${this.#base}.${String(number).padStart(6, '0')}`
  }

  async #flush(): Promise<void> {
    const held = this.#held
    this.#held = []
    this.#heldBytes = 0
    if (held.length > 0) await this.#file?.appendFile(Buffer.concat(held))
  }
}
