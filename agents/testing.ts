import type { Disk } from '../src/common/ports.ts'

/** A disk in memory whose writes take a turn of the event loop, and which can lose the rest of a write. */
export class MemoryDisk implements Disk {
  readonly #files = new Map<string, Uint8Array>()
  #tear = false

  async read(path: string): Promise<Uint8Array | undefined> {
    return this.#files.get(path)?.slice()
  }

  async writeAt(path: string, offset: number, bytes: Uint8Array): Promise<void> {
    await Promise.resolve()
    const file = this.#files.get(path)
    if (file === undefined) throw new Error(`${path} does not exist`)
    const torn = this.#tear
    this.#tear = false
    file.set(torn ? bytes.subarray(0, 60) : bytes, offset)
    if (torn) throw new Error('died in the middle of a write')
  }

  async allocate(path: string, size: number): Promise<void> {
    this.#files.set(path, new Uint8Array(size))
  }

  /** Of the next write only the first bytes reach the disk. */
  tearNextWrite(): void {
    this.#tear = true
  }

  /** Everything in the file is something else. */
  damage(path: string): void {
    this.#files.get(path)?.fill(1)
  }
}
