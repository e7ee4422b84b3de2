import { keyIdOf } from './data-key.ts'

/** The keys that a person keeps for a store, one at least: of a file, the newest first. */
export class KeyRing {
  /** What is written is encrypted with it. */
  readonly first: Buffer
  /** What is not encrypted is taken too: it lies there since before there was a key. */
  readonly takesPlain: boolean
  readonly #byId: ReadonlyMap<string, Buffer>

  constructor(keys: readonly [Buffer, ...Buffer[]], { takesPlain = false } = {}) {
    this.first = keys[0]
    this.takesPlain = takesPlain
    this.#byId = new Map(keys.map((key) => [keyIdOf(key), key]))
  }

  get ids(): readonly string[] {
    return [...this.#byId.keys()]
  }

  /** The same keys, and nothing plain. */
  get strict(): KeyRing {
    return new KeyRing([this.first, ...this.#byId.values()])
  }

  withId(id: string): Buffer | undefined {
    return this.#byId.get(id)
  }
}
