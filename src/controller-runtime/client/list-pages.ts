import { AnswerTooLarge } from './kube-api-error.ts'
import type { KubeClient, ListOptions, ObjectList, RequestOptions, Selection } from './kube-client.ts'
import type { NamespaceBudget } from './namespace-budget.ts'
import { keyOf, keyText, type KubeObject, type Resource } from '../objects/objects.ts'

export interface PagesOptions<Kind extends KubeObject>
  extends Selection, Pick<RequestOptions, 'signal' | 'deadlineMs'> {
  /** What of an object is kept; the rest is dropped page by page. Undefined: nothing of it. */
  readonly keep?: (object: Kind) => Kind | undefined
  /** The budget of this list alone: what is over it is dropped. */
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
const pageBytes = 4 * 1024 * 1024
/** What the API server gives from its cache is usually all there is, and costs the API server least. */
const cachedBytes = 16 * 1024 * 1024

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
  const ask = (at: ListOptions) => pageAt(client, resource, { ...selection, ...at })
  const size = new PageSize(pageSize)
  let from: From = { resourceVersion: begin }
  let version: string | undefined
  for (;;) {
    const page: ObjectList<Kind> | undefined = await ask({ ...from, limit: size.now })
    if (page === undefined) {
      from = smaller(from, size)
      continue
    }
    size.fits()
    version ??= page.resourceVersion
    for (const object of page.items) found.add(keep(object))
    if (page.continue === undefined) return { objects: found.all(), resourceVersion: version }
    // Later pages take no version: it is in the token.
    from = { continue: page.continue }
  }
}

type From = { readonly resourceVersion: string } | { readonly continue: string }

function isOfCache({ resourceVersion = '' }: ListOptions): boolean {
  return resourceVersion !== ''
}

function smaller(from: From, size: PageSize): From {
  if (isOfCache(from)) return { resourceVersion: '' }
  size.tooLarge()
  return from
}

/** Undefined where it is too large, and fewer objects may be asked for. */
async function pageAt<Kind extends KubeObject>(
  client: Pick<KubeClient, 'list'>,
  resource: Resource<Kind>,
  options: ListOptions,
): Promise<ObjectList<Kind> | undefined> {
  const isOne = options.limit === 1
  const mostBytes = isOfCache(options) ? cachedBytes : pageBytes
  try {
    return await client.list(resource, { ...options, ...(!isOne && { mostBytes }) })
  } catch (error) {
    if (isOne || !(error instanceof AnswerTooLarge)) throw error
    return undefined
  }
}

/** So many pages fit before larger ones are tried again. */
const patience = 8

/** How many objects a page may have: far fewer once one was too large, and more again after a while. */
class PageSize {
  readonly #most: number
  #now: number
  #ceiling: number
  #fitted = 0

  constructor(most: number) {
    this.#most = most
    this.#now = most
    this.#ceiling = most
  }

  get now(): number {
    return this.#now
  }

  tooLarge(): void {
    this.#ceiling = Math.max(1, Math.floor(this.#now / 2))
    this.#now = Math.max(1, Math.floor(this.#now / 8))
    this.#fitted = 0
  }

  fits(): void {
    this.#fitted += 1
    if (this.#now === this.#ceiling && this.#fitted % patience === 0)
      this.#ceiling = Math.min(this.#most, 2 * this.#ceiling)
    this.#now = Math.min(this.#ceiling, 2 * this.#now)
  }
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
