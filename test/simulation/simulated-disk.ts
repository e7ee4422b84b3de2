import type { Disk } from '#common/ports/ports.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { VirtualTime } from './virtual-time.ts'

interface Write {
  readonly path: string
  readonly offset: number
  readonly bytes: Uint8Array
}

/**
 * The disk of an agent's own files. A write is whole once the write has resolved; until then a part of it may be there.
 */
export class SimulatedDisk implements Disk {
  readonly #time: VirtualTime
  readonly #random: SeededRandom
  readonly #files = new Map<string, Uint8Array>()
  readonly #underWay = new Set<Write>()
  /** Called before each write begins: a fault may come right there. */
  beforeWrite: () => void = () => undefined
  afterWrite: () => void = () => undefined
  /** How often something came to the disk. */
  writes = 0

  constructor(time: VirtualTime, random: SeededRandom) {
    this.#time = time
    this.#random = random
  }

  async read(path: string): Promise<Uint8Array | undefined> {
    return this.#files.get(path)?.slice()
  }

  /** What is there now, without a copy and without waiting. */
  peek(path: string): Uint8Array | undefined {
    return this.#files.get(path)
  }

  async allocate(path: string, size: number): Promise<void> {
    this.#files.set(path, new Uint8Array(size))
  }

  async writeAt(path: string, offset: number, bytes: Uint8Array): Promise<void> {
    this.beforeWrite()
    const write: Write = { path, offset, bytes: bytes.slice() }
    this.#underWay.add(write)
    await new Promise<void>((resolve) => {
      this.#time.after(this.#random.between(0.2, 6), () => {
        // The power went before.
        if (!this.#underWay.delete(write)) return
        this.#put(write, bytes.length)
        this.afterWrite()
        resolve()
      })
    })
  }

  /** Of what is under way a part may be there, or nothing, or everything: also where only the program has died. */
  tear(): void {
    for (const write of this.#underWay) this.#put(write, this.#random.below(write.bytes.length + 1))
    this.#underWay.clear()
  }

  /** All files as they are now. */
  snapshot(): ReadonlyMap<string, Uint8Array> {
    return new Map([...this.#files].map(([path, bytes]) => [path, bytes.slice()]))
  }

  /** Instead of all that is there: an empty disk, or an older one. */
  replaceBy(files: ReadonlyMap<string, Uint8Array>): void {
    this.#underWay.clear()
    this.#files.clear()
    for (const [path, bytes] of files) this.#files.set(path, bytes.slice())
    this.writes += 1
  }

  #put({ path, offset, bytes }: Write, length: number): void {
    const file = this.#files.get(path)
    if (file === undefined) throw new Error(`${path} does not exist`)
    file.set(bytes.subarray(0, length), offset)
    this.writes += 1
  }
}
