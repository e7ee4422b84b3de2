import { describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Logger } from '#common/log/logger.ts'
import type { World } from '#common/ports/ports.ts'
import { Backoff, fractionOf } from '../client/backoff.ts'
import { AnswerTooLarge, isExpired } from '../client/kube-api-error.ts'
import type { KubeClient, Selection, WatchEvent } from '../client/kube-client.ts'
import { listInPages, type Pages } from '../client/list-pages.ts'
import type { NamespaceBudget } from '../client/namespace-budget.ts'
import type { KubeObject, Resource } from '../objects/objects.ts'
import { timingsFor, type ReflectorTimings } from './reflector-timings.ts'

/** Where a reflector puts what it sees. */
export interface ReflectorTarget<Kind extends KubeObject> {
  /** The objects are all there are now: whatever is known besides them is gone. */
  replace(objects: readonly Kind[]): void
  put(object: Kind): void
  remove(object: Kind): void
}

/**
 * So many watches in a row that brought nothing, and the version they begin from is doubted: a restored etcd has gone
 * back behind it.
 */
const fruitlessWatches = 5

export interface ReflectorParts<Kind extends KubeObject> {
  readonly client: Pick<KubeClient, 'list' | 'watch'>
  readonly resource: Resource<Kind>
  readonly selection?: Selection
  readonly target: ReflectorTarget<Kind>
  /** What of an object anybody reads; the rest is dropped before the next one is looked at. */
  readonly keep: (object: Kind) => Kind
  /** For a list, so that what the target would not keep is not gathered first. */
  readonly budget: () => NamespaceBudget<Kind>
  readonly world: World
  readonly logger: Logger
  readonly timings?: ReflectorTimings
  /** What is waited for between a list and its way to the target. */
  readonly admitted?: (signal: AbortSignal) => Promise<void>
}

/**
 * Keeps its target equal to what the API server has of one kind: lists once, then watches from there, and lists again
 * only where that is no longer possible. No failure ends it: a cache that stopped would look like a quiet cluster.
 */
export class Reflector<Kind extends KubeObject> {
  readonly #parts: ReflectorParts<Kind>
  readonly #timings: ReflectorTimings
  readonly #backoff: Backoff
  /** What the target has seen; undefined where a list must say. */
  #version: string | undefined
  #everListed = false
  #listedAtMs = -Infinity
  /** When something was known of all there is: by a list, an event or a bookmark. */
  #heardAtMs = -Infinity
  #inPages = true
  #fruitless = 0

  constructor(parts: ReflectorParts<Kind>) {
    this.#parts = parts
    this.#timings = parts.timings ?? timingsFor(1)
    this.#backoff = new Backoff(this.#timings.backoff, parts.world)
  }

  /** Resolves when the signal is aborted, and never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waitMs = this.#version === undefined ? await this.#list(signal) : await this.#watch(this.#version, signal)
      if (waitMs > 0) await this.#parts.world.timers.sleep(waitMs, signal).catch(() => undefined)
    }
  }

  /** @returns how long to wait before what comes next, in milliseconds. */
  async #list(signal: AbortSignal): Promise<number> {
    try {
      const { objects, resourceVersion } = await this.#listPages(signal)
      await this.#parts.admitted?.(signal)
      if (signal.aborted) return 0
      this.#parts.target.replace(objects)
      this.#version = resourceVersion
      this.#everListed = true
      this.#inPages = true
      this.#fruitless = 0
      this.#listedAtMs = this.#now()
      this.#heardAtMs = this.#listedAtMs
      return 0
    } catch (error) {
      // A page came too late, so the next attempt asks for all of it at once; where that is too much, in pages again.
      if (isExpired(error)) this.#inPages = false
      if (error instanceof AnswerTooLarge) this.#inPages = true
      return this.#failed('list', error, signal)
    }
  }

  async #listPages(signal: AbortSignal): Promise<Pages<Kind>> {
    const { client, resource, selection, keep, budget } = this.#parts
    const { pageSize, listDeadlineMs } = this.#timings
    // At the start what the API server has in its cache will do: the watch brings the rest. Later that cache may be
    // behind what was seen already.
    const resourceVersion = this.#everListed || !this.#inPages ? '' : '0'
    const common = { ...selection, deadlineMs: listDeadlineMs, signal, resourceVersion }
    if (this.#inPages) return listInPages(client, resource, { ...common, keep, budget: budget(), pageSize })
    const { items, resourceVersion: version } = await client.list(resource, common)
    return { objects: items.map(keep), resourceVersion: version }
  }

  /** @returns how long to wait before what comes next, in milliseconds. */
  async #watch(version: string, signal: AbortSignal): Promise<number> {
    const startedMs = this.#now()
    this.#fruitless += 1
    let failure: unknown
    try {
      await this.#follow(version, signal)
    } catch (error) {
      failure = error
    }
    if (signal.aborted) return 0
    return isExpired(failure) ? this.#expired(failure, signal) : this.#watched(failure, this.#now() - startedMs, signal)
  }

  #expired(failure: unknown, signal: AbortSignal): number {
    this.#version = undefined
    return this.#now() - this.#listedAtMs >= this.#timings.settledMs ? 0 : this.#failed('watch', failure, signal)
  }

  #watched(failure: unknown, livedMs: number, signal: AbortSignal): number {
    const settled = livedMs >= this.#timings.settledMs
    // Not a word for as long as that, though bookmarks were due: behind a restored etcd the API server waits like this
    // until a version from the future comes.
    const isMute = this.#now() - this.#heardAtMs >= this.#timings.muteMs
    if (settled) this.#fruitless = 0
    if (isMute || this.#fruitless >= fruitlessWatches) this.#version = undefined
    if (failure === undefined) return settled ? 0 : this.#backoff.next()
    const waitMs = this.#failed('watch', failure, signal)
    return settled ? 0 : waitMs
  }

  async #follow(version: string, signal: AbortSignal): Promise<void> {
    const { client, resource, selection, world } = this.#parts
    const { shortestWatchMs, longestWatchMs } = this.#timings
    const ending = new AbortController()
    const end = (): void => ending.abort(signal.reason)
    signal.addEventListener('abort', end, { once: true })
    const timeoutSeconds = Math.round(
      (shortestWatchMs + (longestWatchMs - shortestWatchMs) * fractionOf(world.random)) / 1_000,
    )
    const events = client
      .watch(resource, { ...selection, resourceVersion: version, timeoutSeconds, signal: ending.signal })
      [Symbol.asyncIterator]()
    try {
      for (
        let next = await this.#orIdle(events.next(), ending);
        !next.done;
        next = await this.#orIdle(events.next(), ending)
      )
        this.#take(next.value)
    } finally {
      signal.removeEventListener('abort', end)
      ending.abort(new Error('the watch ended'))
      // Not awaited: it may be what hangs.
      events.return?.().catch(() => undefined)
    }
  }

  #take(event: WatchEvent<Kind>): void {
    const { target, keep } = this.#parts
    this.#fruitless = 0
    this.#heardAtMs = this.#now()
    if (event.type === 'BOOKMARK') {
      this.#version = event.resourceVersion
      return
    }
    const object = keep(event.object)
    if (event.type === 'DELETED') target.remove(object)
    else target.put(object)
    this.#version = event.object.metadata.resourceVersion ?? this.#version
  }

  /** The next event; rejects where none comes in time, whether or not the stream notices that it is given up. */
  #orIdle<Value>(next: Promise<Value>, ending: AbortController): Promise<Value> {
    const { idleMs } = this.#timings
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        timer.cancel()
        reject(ending.signal.reason as Error)
      }
      const timer = this.#parts.world.timers.after(idleMs, () => {
        ending.abort(
          new RegentError(
            'REGENT_KUBE_UNREACHABLE',
            say`the watch of ${this.#parts.resource.plural} was silent for ${idleMs} ms`,
          ),
        )
      })
      ending.signal.addEventListener('abort', abort, { once: true })
      if (ending.signal.aborted) abort()
      void next.then(resolve, reject).finally(() => {
        timer.cancel()
        ending.signal.removeEventListener('abort', abort)
      })
    })
  }

  #failed(verb: 'list' | 'watch', error: unknown, signal: AbortSignal): number {
    if (signal.aborted) return 0
    const waitMs = Math.round(this.#backoff.next())
    this.#parts.logger.warn(
      { resource: this.#parts.resource.plural, verb, nextTryMs: waitMs, err: error },
      `cannot ${verb} ${this.#parts.resource.plural}: ${describeError(error)}`,
    )
    return waitMs
  }

  #now(): number {
    return this.#parts.world.clock.monotonicMs()
  }
}
