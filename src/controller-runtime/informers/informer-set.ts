import type { Logger } from '#common/log/logger.ts'
import type { World } from '#common/ports/ports.ts'
import type { AbsentNamespaces } from './absent-namespaces.ts'
import type { Indexes } from './indexer.ts'
import { Informer } from './informer.ts'
import type { KubeClient } from '../client/kube-client.ts'
import type { BudgetOptions } from '../client/namespace-budget.ts'
import type { KubeObject, Resource } from '../objects/objects.ts'
import type { ReflectorTimings } from './reflector-timings.ts'
import { StartLine } from './start-line.ts'

export interface InformerSetParts {
  readonly client: Pick<KubeClient, 'list' | 'watch'>
  readonly world: World
  readonly logger: Logger
  /** Namespaces that are watched; all where none is named. */
  readonly namespaces?: readonly string[]
  /** Which of these are not there; without it the first list of each is waited for. */
  readonly absence?: Pick<AbsentNamespaces, 'isAbsent' | 'appeared'>
  readonly resyncMs?: number
  readonly timings?: ReflectorTimings
}

export interface InformerChoice<Kind extends KubeObject> {
  readonly indexes?: Indexes<Kind>
  /** See InformerParts. */
  readonly keep?: (object: Kind) => Kind
  readonly budget?: BudgetOptions<Kind>
  readonly labelSelector?: string
  readonly fieldSelector?: string
  /** Tells several informers of one kind apart, each with a selection of its own; also who asks later names it. */
  readonly as?: string
}

/** An informer for each kind, whoever asks for the kind: one list, one watch and one copy in memory. */
export class InformerSet {
  readonly #parts: InformerSetParts
  readonly #informers = new Map<string, Informer<KubeObject>>()
  readonly #startLine = new StartLine()
  #running: { readonly signal: AbortSignal; readonly runs: Promise<void>[] } | undefined

  constructor(parts: InformerSetParts) {
    this.#parts = parts
  }

  /**
   * The informer of a kind. The first caller says what is indexed and selected; a later caller takes the informer as it
   * is, and must say nothing about that, but for `as`. An informer that is first asked for while the set runs starts at
   * once.
   */
  of<Kind extends KubeObject>(resource: Resource<Kind>, choice?: InformerChoice<Kind>): Informer<Kind> {
    const { as = '', indexes, keep, budget, ...selection } = choice ?? {}
    const name = `${resource.group}/${resource.version}/${resource.plural} ${as}`
    const known = this.#informers.get(name)
    if (known !== undefined) {
      if (indexes !== undefined || Object.keys(selection).length > 0)
        throw new TypeError(`the informer of ${known.name} exists already: its indexes and selectors cannot change`)
      return known as unknown as Informer<Kind>
    }
    const made = new Informer<Kind>({
      ...this.#parts,
      startLine: this.#startLine,
      resource,
      selection,
      ...(indexes === undefined ? {} : { indexes }),
      ...(keep === undefined ? {} : { keep }),
      ...(budget === undefined ? {} : { budget }),
    })
    this.#informers.set(name, made as unknown as Informer<KubeObject>)
    this.#running?.runs.push(made.run(this.#running.signal))
    return made
  }

  /** Until the signal is aborted and all have ended. */
  async run(signal: AbortSignal): Promise<void> {
    const runs = [...this.#informers.values()].map((informer) => informer.run(signal))
    this.#running = { signal, runs }
    // More may join while these run.
    for (let ended = 0; ended < runs.length; ended++) await runs[ended]
    this.#running = undefined
  }

  hasSynced(): boolean {
    return this.unsynced().length === 0
  }

  /** Names of those whose first list is not in yet: what to say when it takes too long. */
  unsynced(): readonly string[] {
    return [...this.#informers.values()].filter((informer) => !informer.hasSynced()).map(({ name }) => name)
  }

  /** Resolves once all there are now have synced; rejects with the signal's reason. */
  async synced(signal?: AbortSignal): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.synced(signal)))
  }
}
