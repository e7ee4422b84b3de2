import type { Logger } from '#common/log/logger.ts'
import { seldom } from '#common/log/repeats.ts'
import type { Timer, World } from '#common/ports/ports.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import { fractionOf } from '../client/backoff.ts'
import type { AbsentNamespaces } from './absent-namespaces.ts'
import { deepFrozen, Indexer, type Indexes } from './indexer.ts'
import type { KubeClient, Selection } from '../client/kube-client.ts'
import { firstMade, NamespaceBudget, type BudgetOptions } from '../client/namespace-budget.ts'
import { keyOf, keyText, type KubeObject, type ObjectKey, type Resource } from '../objects/objects.ts'
import { Reflector } from './reflector.ts'
import type { StartLine } from './start-line.ts'
import { timingsFor, type ReflectorTimings } from './reflector-timings.ts'

/** Told of every change, in order, at once; must not wait and need not change anything. */
export interface InformerHandler<Kind extends KubeObject> {
  /** `initial`: it was there before, and is only new to this handler. */
  added?(object: Kind, initial: boolean): void
  /** Also at a resync, with the same object twice. */
  updated?(before: Kind, after: Kind): void
  /** `missed`: the end itself was not seen, so this is the last state known and perhaps not the last there was. */
  deleted?(object: Kind, missed: boolean): void
}

export interface InformerParts<Kind extends KubeObject> {
  readonly client: Pick<KubeClient, 'list' | 'watch'>
  readonly resource: Resource<Kind>
  /**
   * Namespaces to look at; all where none is named. Each is listed and watched by itself, as a role for single
   * namespaces demands.
   */
  readonly namespaces?: readonly string[]
  /** Namespaces that are not there are waited for by themselves, and hold nobody up. */
  readonly absence?: Pick<AbsentNamespaces, 'isAbsent' | 'appeared'>
  /** The start of all kinds whose objects in a namespace belong together. */
  readonly startLine?: StartLine
  readonly selection?: Omit<Selection, 'namespace'>
  readonly world: World
  readonly logger: Logger
  readonly indexes?: Indexes<Kind>
  /** What of an object anybody reads; all but `managedFields` unless given. */
  readonly keep?: (object: Kind) => Kind
  /** What the objects of one namespace may take of this process, and which stay; 32 MiB and the oldest unless given. */
  readonly budget?: BudgetOptions<Kind>
  /**
   * How often handlers are given every object again, ±10 %; 10 h unless given, never where 0. No substitute for a timer
   * of one's own.
   */
  readonly resyncMs?: number
  readonly timings?: ReflectorTimings
}

const defaultResyncMs = 36_000_000
const defaultBudget: BudgetOptions<KubeObject> = { bytesPerNamespace: 32 * 1024 * 1024, rank: firstMade }

/**
 * A cache of one kind that is kept up to date, shared by all who read it or want to hear of changes. Objects it gives
 * out are frozen, and may be a moment old: whoever commits to something asks the API server.
 */
export class Informer<Kind extends KubeObject> {
  readonly resource: Resource<Kind>
  readonly #parts: InformerParts<Kind>
  readonly #indexer: Indexer<Kind>
  readonly #sayOver: (sentence: Sentence) => void
  readonly #budget: NamespaceBudget<Kind>
  readonly #handlers = new Set<InformerHandler<Kind>>()
  readonly #firstList = Promise.withResolvers<void>()
  /** Namespaces whose first list is in; undefined stands for all of them. */
  readonly #listed = new Set<string | undefined>()
  /** Namespaces that were not there at the start. */
  readonly #late = new Set<string | undefined>()
  #resync: Timer | undefined

  constructor(parts: InformerParts<Kind>) {
    this.resource = parts.resource
    this.#parts = parts
    this.#indexer = new Indexer(parts.indexes)
    this.#sayOver = seldom(parts.world.clock, (line) => parts.logger.warn({ resource: this.name }, line))
    this.#budget = this.#newBudget()
  }

  /** Whether everything that existed at the start is in and told to the handlers. */
  hasSynced(): boolean {
    return this.#scopes().every((scope) => this.#listed.has(scope) || this.#late.has(scope))
  }

  /** For messages: `widgets.example.org`. */
  get name(): string {
    const { group, plural } = this.resource
    return group === '' ? plural : `${plural}.${group}`
  }

  /** Resolves once it `hasSynced()`; rejects with the signal's reason. */
  async synced(signal?: AbortSignal): Promise<void> {
    if (signal === undefined) return this.#firstList.promise
    signal.throwIfAborted()
    const given = Promise.withResolvers<never>()
    const abort = (): void => given.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    return Promise.race([this.#firstList.promise, given.promise]).finally(() =>
      signal.removeEventListener('abort', abort),
    )
  }

  get(key: ObjectKey): Kind | undefined {
    return this.#indexer.get(key)
  }

  /** All, or those of one namespace. */
  list(namespace?: string): readonly Kind[] {
    return this.#indexer.list(namespace)
  }

  byIndex(index: string, value: string): readonly Kind[] {
    return this.#indexer.byIndex(index, value)
  }

  /** A handler that comes late is told of all there is, before this returns. Gives back how to take it off again. */
  addHandler(handler: InformerHandler<Kind>): () => void {
    this.#handlers.add(handler)
    for (const object of this.#indexer.list()) this.#guard(() => handler.added?.(object, true))
    return () => void this.#handlers.delete(handler)
  }

  /** Until the signal is aborted; never rejects. What is in the cache stays readable. */
  async run(signal: AbortSignal): Promise<void> {
    this.#planResync()
    try {
      await Promise.all(this.#scopes().map((scope) => this.#follow(scope, signal)))
    } finally {
      this.#resync?.cancel()
    }
  }

  #scopes(): readonly (string | undefined)[] {
    const { namespaces = [] } = this.#parts
    return namespaces.length === 0 ? [undefined] : [...new Set(namespaces)]
  }

  async #follow(scope: string | undefined, signal: AbortSignal): Promise<void> {
    const { absence, startLine } = this.#parts
    if (scope === undefined || absence === undefined || !(await absence.isAbsent(scope)))
      return this.#reflector(scope).run(signal)
    this.#late.add(scope)
    startLine?.join(scope)
    this.#tellSynced()
    await absence.appeared(scope, signal)
    let isFirst = true
    const admitted = async (): Promise<void> => {
      if (isFirst) await startLine?.arrive(scope, signal)
      isFirst = false
    }
    await this.#reflector(scope, admitted).run(signal)
  }

  #tellSynced(): void {
    if (this.hasSynced()) this.#firstList.resolve()
  }

  #reflector(namespace: string | undefined, admitted?: () => Promise<void>): Reflector<Kind> {
    const { client, resource, selection, world, logger, timings, keep } = this.#parts
    const target = {
      replace: (objects: readonly Kind[]) => this.#replace(objects, namespace),
      put: (object: Kind) => this.#put(object, false),
      remove: (object: Kind) => this.#remove(object),
    }
    const scoped = { ...selection, ...(namespace === undefined ? {} : { namespace }) }
    return new Reflector({
      client,
      resource,
      target,
      keep: (object) => keep?.(withoutManagedFields(object)) ?? withoutManagedFields(object),
      budget: () => this.#newBudget(),
      world,
      logger,
      selection: scoped,
      timings: timings ?? timingsFor(this.#scopes().length),
      ...(admitted !== undefined && { admitted }),
    })
  }

  #replace(objects: readonly Kind[], namespace: string | undefined): void {
    const present = new Set(objects.map((object) => keyText(keyOf(object))))
    for (const known of this.#indexer.list(namespace)) if (!present.has(keyText(keyOf(known)))) this.#forget(known)
    for (const object of objects) this.#put(object, !this.#listed.has(namespace))
    this.#listed.add(namespace)
    this.#tellSynced()
  }

  #put(object: Kind, initial: boolean): void {
    const known = this.#indexer.get(keyOf(object))
    if (known !== undefined && isSame(known, object)) return
    const leaving = this.#budget.take(object)
    for (const text of leaving) this.#leave(text)
    if (leaving.includes(keyText(keyOf(object)))) return
    this.#indexer.put(object)
    if (known !== undefined && known.metadata.uid === object.metadata.uid) {
      this.#tellAll((handler) => handler.updated?.(known, object))
      return
    }
    // Another uid is another object, whatever it is called: the end of the first went by unseen.
    if (known !== undefined) this.#tellAll((handler) => handler.deleted?.(known, true))
    this.#tellAll((handler) => handler.added?.(object, initial))
  }

  #remove(object: Kind): void {
    const known = this.#indexer.get(keyOf(object))
    if (known === undefined || known.metadata.uid !== object.metadata.uid) return
    this.#indexer.remove(keyOf(object))
    this.#budget.drop(object)
    this.#tellAll((handler) => handler.deleted?.(deepFrozen(object), false))
  }

  /** Its end was not seen, or it is over the budget. */
  #forget(known: Kind): void {
    this.#indexer.remove(keyOf(known))
    this.#budget.drop(known)
    this.#tellAll((handler) => handler.deleted?.(known, true))
  }

  #leave(text: string): void {
    const [name = '', namespace = ''] = text.split('/').reverse()
    const known = this.#indexer.get({ namespace, name })
    if (known !== undefined) this.#forget(known)
  }

  #newBudget(): NamespaceBudget<Kind> {
    const options = this.#parts.budget ?? defaultBudget
    return new NamespaceBudget(options, (namespace) =>
      this.#sayOver(overBudget(this.resource.kind, namespace, options.bytesPerNamespace)),
    )
  }

  #planResync(): void {
    const { world, resyncMs = defaultResyncMs } = this.#parts
    if (resyncMs <= 0) return
    // Resyncs of many informers must not all come at once.
    this.#resync = world.timers.after(resyncMs * (0.9 + 0.2 * fractionOf(world.random)), () => {
      for (const object of this.#indexer.list()) this.#tellAll((handler) => handler.updated?.(object, object))
      this.#planResync()
    })
  }

  #tellAll(what: (handler: InformerHandler<Kind>) => void): void {
    for (const handler of [...this.#handlers]) this.#guard(() => what(handler))
  }

  /** A handler's mistake must not keep the others, or the cache, from the change. */
  #guard(what: () => void): void {
    try {
      what()
    } catch (error) {
      this.#parts.logger.error({ resource: this.name, err: error }, `a handler of ${this.name} failed`)
    }
  }
}

function overBudget(kind: string, namespace: string, bytes: number): Sentence {
  const where = namespace === '' ? say`no namespace` : say`namespace ${namespace}`
  const what = say`objects of kind ${kind} of ${where} take more than ${bytes / 1024 / 1024} MiB of this manager`
  return say`${what}: some of them are not looked at. Find out who writes them, and delete what nobody needs`
}

/**
 * Half of an object's bytes, of use to nobody here. An update without them leaves those of the API server as they are.
 */
function withoutManagedFields<Kind extends KubeObject>(object: Kind): Kind {
  if (!('managedFields' in object.metadata)) return object
  const { managedFields, ...metadata } = object.metadata
  return { ...object, metadata }
}

/** A list tells again what a watch has told. */
function isSame(known: KubeObject, object: KubeObject): boolean {
  return (
    known.metadata.uid === object.metadata.uid &&
    known.metadata.resourceVersion !== undefined &&
    known.metadata.resourceVersion === object.metadata.resourceVersion
  )
}
