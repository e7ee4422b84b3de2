import { keyOf, keyText, type KubeObject, type ObjectKey } from '../objects/objects.ts'

/** The values under which an object is found; none where it has no place in the index. */
export type IndexFunction<Kind extends KubeObject> = (object: Kind) => readonly string[]

export type Indexes<Kind extends KubeObject> = Readonly<Record<string, IndexFunction<Kind>>>

/** Objects by key and by whatever else they are looked up by. What it gives out is frozen: everybody shares it. */
export class Indexer<Kind extends KubeObject> {
  readonly #functions: Indexes<Kind>
  readonly #objects = new Map<string, Kind>()
  /** Index, value, keys. */
  readonly #keys = new Map<string, Map<string, Set<string>>>()

  constructor(indexes: Indexes<Kind> = {}) {
    this.#functions = indexes
    for (const name of Object.keys(indexes)) this.#keys.set(name, new Map())
  }

  get size(): number {
    return this.#objects.size
  }

  get(key: ObjectKey): Kind | undefined {
    return this.#objects.get(keyText(key))
  }

  /** All, or those of one namespace. */
  list(namespace?: string): readonly Kind[] {
    const all = [...this.#objects.values()]
    return namespace === undefined ? all : all.filter(({ metadata }) => (metadata.namespace ?? '') === namespace)
  }

  /** Throws for an index that was never declared: an empty answer would look like a fact. */
  byIndex(index: string, value: string): readonly Kind[] {
    const keys = this.#keys.get(index)
    if (keys === undefined)
      throw new TypeError(`there is no index "${index}"; there are ${[...this.#keys.keys()].join(', ') || 'none'}`)
    return [...(keys.get(value) ?? [])].flatMap((key) => this.#objects.get(key) ?? [])
  }

  /** @returns the object that it replaces. */
  put(object: Kind): Kind | undefined {
    const key = keyText(keyOf(object))
    const before = this.#objects.get(key)
    if (before !== undefined) this.#unindex(key, before)
    this.#objects.set(key, deepFrozen(object))
    for (const [name, values] of this.#keys)
      for (const value of this.#functions[name]?.(object) ?? []) keysUnder(values, value).add(key)
    return before
  }

  /** @returns the object that is gone. */
  remove(of: ObjectKey): Kind | undefined {
    const key = keyText(of)
    const before = this.#objects.get(key)
    if (before === undefined) return undefined
    this.#unindex(key, before)
    this.#objects.delete(key)
    return before
  }

  #unindex(key: string, before: Kind): void {
    for (const [name, values] of this.#keys)
      for (const value of this.#functions[name]?.(before) ?? []) drop(values, value, key)
  }
}

/** Objects by the uid of each of their owners. */
export function ownerUids(object: KubeObject): readonly string[] {
  return (object.metadata.ownerReferences ?? []).map(({ uid }) => uid)
}

/** Objects by the value of a label. */
export function labelValue(label: string): IndexFunction<KubeObject> {
  return ({ metadata }) => {
    const value = metadata.labels?.[label]
    return value === undefined ? [] : [value]
  }
}

/** The very object, with everything in it, made unchangeable. */
export function deepFrozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) deepFrozen(part)
  return Object.freeze(value)
}

function keysUnder(values: Map<string, Set<string>>, value: string): Set<string> {
  const keys = values.get(value) ?? new Set<string>()
  values.set(value, keys)
  return keys
}

function drop(values: Map<string, Set<string>>, value: string, key: string): void {
  const keys = values.get(value)
  keys?.delete(key)
  // Values come and go for ever; empty sets would pile up.
  if (keys?.size === 0) values.delete(value)
}
