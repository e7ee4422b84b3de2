import { AnswerTooLarge } from './kube-api-error.ts'
import type { KubeClient, ListOptions, ObjectList, RequestOptions, Selection } from './kube-client.ts'
import type { NamespaceBudget } from './namespace-budget.ts'
import { keyOf, keyText, type KubeObject, type Resource } from '../objects/objects.ts'

export interface PagesOptions<Kind extends KubeObject>
  extends Selection, Pick<RequestOptions, 'signal' | 'deadlineMs'> {
  /** What of an object is kept; the rest is dropped page by page. Undefined: nothing of it. */
  readonly keep?: (object: Kind) => Kind | undefined
  /** Of this list alone: what is over it is dropped. */
  readonly budget?: NamespaceBudget<Kind>
  /** Objects in a page at most; 500 unless given. */
  readonly pageSize?: number
  /** As in ListOptions, for the first page. */
  readonly resourceVersion?: string
}

export interface Pages<Kind extends KubeObject> {
  readonly objects: readonly Kind[]
  readonly resourceVersion: string
}

/** Anybody may write objects of 1 MB, and an answer takes a multiple of its bytes while it is read. */
const pageBytes = 8 * 1024 * 1024
const shrink = 8
const grow = 2

/**
 * All objects of a kind, in pages that fit into memory whatever strangers wrote: a page that is too large is asked for
 * again with fewer objects. What the API server has in its cache comes in one piece there, whatever limit is given, so
 * such a list is read from etcd then.
 */
export async function listInPages<Kind extends KubeObject>(
  client: Pick<KubeClient, 'list'>,
  resource: Resource<Kind>,
  options: PagesOptions<Kind> = {},
): Promise<Pages<Kind>> {
  const { keep = (object) => object, budget, pageSize = 500, resourceVersion: begin = '', ...selection } = options
  const found = new Found<Kind>(budget)
  const ask = (at: Place) => pageAt(client, resource, { ...selection, ...at })
  let at: Place = { limit: pageSize, resourceVersion: begin }
  let version: string | undefined
  for (;;) {
    const page = await ask(at)
    if (page === undefined) {
      at = smaller(at)
      continue
    }
    version ??= page.resourceVersion
    for (const object of page.items) found.add(keep(object))
    if (page.continue === undefined) return { objects: found.all(), resourceVersion: version }
    // Later pages take no version: it is in the token.
    at = { limit: Math.min(pageSize, at.limit * grow), continue: page.continue }
  }
}

/** How many objects are asked for, and from where. */
type Place = { readonly limit: number } & ({ readonly resourceVersion: string } | { readonly continue: string })

/** Undefined where it is too large, and fewer objects may be asked for. */
async function pageAt<Kind extends KubeObject>(
  client: Pick<KubeClient, 'list'>,
  resource: Resource<Kind>,
  options: ListOptions & { readonly limit: number },
): Promise<ObjectList<Kind> | undefined> {
  const isOne = options.limit === 1
  try {
    return await client.list(resource, { ...options, ...(!isOne && { mostBytes: pageBytes }) })
  } catch (error) {
    if (isOne || !(error instanceof AnswerTooLarge)) throw error
    return undefined
  }
}

function smaller(at: Place): Place {
  if ('resourceVersion' in at && at.resourceVersion !== '') return { ...at, resourceVersion: '' }
  return { ...at, limit: Math.max(1, Math.floor(at.limit / shrink)) }
}

/** What the pages before brought, within the budget. */
class Found<Kind extends KubeObject> {
  readonly #budget: NamespaceBudget<Kind> | undefined
  readonly #objects = new Map<string, Kind>()

  constructor(budget: NamespaceBudget<Kind> | undefined) {
    this.#budget = budget
  }

  add(object: Kind | undefined): void {
    if (object === undefined) return
    this.#objects.set(keyText(keyOf(object)), object)
    for (const text of this.#budget?.take(object) ?? []) this.#objects.delete(text)
  }

  all(): readonly Kind[] {
    return [...this.#objects.values()]
  }
}
