import { keyIdOf } from './data-key.ts'

/** The keys that a person keeps for a store, at least one, in the order of their file: the newest first. */
export class KeyRing {
  /** The key that new objects are encrypted with. */
  readonly first: Buffer
  /** Whether objects that are not encrypted are taken too: they are older than the key. */
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

  /** The same keys, and no plain objects. */
  get strict(): KeyRing {
    return new KeyRing([this.first, ...this.#byId.values()])
  }

  withId(id: string): Buffer | undefined {
    return this.#byId.get(id)
  }
}
