import { keyOf, keyText, type KubeObject } from '../objects/objects.ts'

export interface BudgetOptions<Kind extends KubeObject> {
  /** What the objects of one namespace may take of this process. */
  readonly bytesPerNamespace: number
  /** Where a namespace has more, those stay that rank highest: by what the API server wrote, or strangers choose. */
  readonly rank: (object: Kind) => number
}

interface Entry {
  readonly bytes: number
  readonly rank: number
}

interface Spent {
  bytes: number
  readonly entries: Map<string, Entry>
}

/** So much of the budget is free after a namespace was over it: else each further object would be weighed with all. */
const freeAfter = 0.25

/**
 * How much memory the objects of each namespace take, and which of them leave where that is too much. A client that may
 * write in one namespace may write there without end: what that costs is taken from that very namespace.
 */
export class NamespaceBudget<Kind extends KubeObject> {
  readonly #options: BudgetOptions<Kind>
  readonly #over: (namespace: string) => void
  readonly #spent = new Map<string, Spent>()

  /** @param over told each time that something leaves */
  constructor(options: BudgetOptions<Kind>, over: (namespace: string) => void = () => undefined) {
    this.#options = options
    this.#over = over
  }

  /** @returns the keys (`keyText`) of those that leave; the object itself may be among them */
  take(object: Kind): readonly string[] {
    const { namespace } = keyOf(object)
    const spent = this.#spent.get(namespace) ?? { bytes: 0, entries: new Map<string, Entry>() }
    this.#spent.set(namespace, spent)
    const text = keyText(keyOf(object))
    const bytes = roughBytes(object)
    spent.bytes += bytes - (spent.entries.get(text)?.bytes ?? 0)
    spent.entries.set(text, { bytes, rank: this.#options.rank(object) })
    if (spent.bytes <= this.#options.bytesPerNamespace) return []
    this.#over(namespace)
    return this.#shed(spent)
  }

  drop(object: KubeObject): void {
    const { namespace } = keyOf(object)
    const spent = this.#spent.get(namespace)
    const text = keyText(keyOf(object))
    const entry = spent?.entries.get(text)
    if (spent === undefined || entry === undefined) return
    spent.entries.delete(text)
    spent.bytes -= entry.bytes
    if (spent.entries.size === 0) this.#spent.delete(namespace)
  }

  #shed(spent: Spent): readonly string[] {
    const target = this.#options.bytesPerNamespace * (1 - freeAfter)
    const lowestFirst = [...spent.entries].sort(([, one], [, other]) => one.rank - other.rank)
    const leaving: string[] = []
    for (const [text, { bytes }] of lowestFirst) {
      if (spent.bytes <= target) break
      spent.entries.delete(text)
      spent.bytes -= bytes
      leaving.push(text)
    }
    return leaving
  }
}

/** The last written ranks highest. */
export function lastWritten({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion ?? 0)
}

/** What was there first ranks highest: whoever floods a namespace comes later than what runs there. */
export function firstMade({ metadata }: KubeObject): number {
  return -Date.parse(metadata.creationTimestamp ?? '') || 0
}

const perField = 32

/** What a value takes of the heap, at most: text may need two bytes a letter. */
export function roughBytes(value: unknown): number {
  if (typeof value === 'string') return perField + 2 * value.length
  if (typeof value !== 'object' || value === null) return perField
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + roughBytes(item), perField)
  return Object.entries(value).reduce((sum, [name, item]) => sum + 2 * name.length + roughBytes(item), perField)
}
