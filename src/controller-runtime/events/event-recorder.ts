import { eventName, longestNoteBytes, writePatiently, type Patience } from '#common/events/event-writing.ts'
import type { World } from '#common/ports/ports.ts'
import {
  defaultLimits,
  EventCorrelator,
  type CorrelatorLimits,
  type EventSeries,
  type Happening,
} from './event-correlator.ts'
import { isAlreadyExists, isNotFound, KubeApiError } from '../client/kube-api-error.ts'
import type { KubeClient } from '../client/kube-client.ts'
import { apiVersionOf, type KubeObject, type Resource } from '../objects/objects.ts'

/** What an Event says about the object it is about. */
interface ObjectReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
}

/** An Event of `events.k8s.io/v1`. All but `series` can never be changed. */
export interface KubeEvent extends KubeObject {
  readonly eventTime: string
  readonly reportingController: string
  readonly reportingInstance: string
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly action: string
  readonly note: string
  readonly regarding: ObjectReference
  readonly related?: ObjectReference
  readonly series?: { readonly count: number; readonly lastObservedTime: string }
}

export const events: Resource<KubeEvent> = {
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
}

export interface EventRecorderParts {
  readonly client: Pick<KubeClient, 'create' | 'patch'>
  readonly world: World
  /** The reporter, with a domain: `regent.example.org/manager`. */
  readonly controller: string
  /** Which of its processes: the pod's name. */
  readonly instance: string
  /** Told of what could not be written. Must not throw. */
  readonly failed: (happening: Happening, error: unknown) => void
  readonly limits?: CorrelatorLimits
  /**
   * Milliseconds before the first of several writes: what is worth an Event may have better use for the API server
   * while it goes on. 0 unless given.
   */
  readonly settleMs?: number
}

/** While the API server does not answer or is unwell; client-go's. */
const patience: Patience = { attempts: 12, pauseMs: 10_000, isFinal }
/** So many series may wait for a write. */
const mostPending = 1_000

/** The API server's limit. */
const longestWordBytes = 128

/**
 * Writes what happened as Events, one after the other in the background. Nobody waits for them and nobody fails by
 * them: an Event is a courtesy, and what it tells about is more important.
 */
export class EventRecorder {
  readonly #parts: EventRecorderParts
  readonly #correlator: EventCorrelator
  readonly #pending = new Set<EventSeries>()
  readonly #closed = new AbortController()
  #closing = false
  #writing: Promise<void> | undefined

  constructor(parts: EventRecorderParts) {
    this.#parts = parts
    this.#correlator = new EventCorrelator(parts.world.clock, parts.limits ?? defaultLimits)
  }

  record(happening: Happening): void {
    if (this.#closing) return
    const series = this.#correlator.observe(happening)
    if (!series) return
    if (this.#pending.size >= mostPending && !this.#pending.has(series)) {
      return this.#parts.failed(happening, new Error(`${mostPending} events wait to be written already`))
    }
    this.#pending.add(series)
    this.#writing ??= this.#writeAll().finally(() => (this.#writing = undefined))
  }

  /** Takes nothing any more, and gives what waits `deadlineMs` to be written. */
  async close(deadlineMs: number): Promise<void> {
    this.#closing = true
    const over = new AbortController()
    const tooLate = this.#parts.world.timers.sleep(deadlineMs, over.signal)
    await Promise.race([this.#writing, tooLate])
    over.abort(new Error('no longer waited for'))
    this.#closed.abort(new Error('the process stops'))
  }

  async #writeAll(): Promise<void> {
    const { world, settleMs = 0 } = this.#parts
    if (settleMs > 0) await world.timers.sleep(settleMs, this.#closed.signal).catch(() => undefined)
    for (const series of this.#pending) {
      // Removed first: what is counted from here on needs another write.
      this.#pending.delete(series)
      try {
        await writePatiently(() => this.#write(series), patience, { timers: world.timers, signal: this.#closed.signal })
      } catch (error) {
        this.#parts.failed(series.happening, error)
      }
    }
  }

  async #write(series: EventSeries): Promise<void> {
    if (series.written && (await this.#recount(series))) return
    // The same name at each try: the answer to a successful try may have been lost. The name begins with the time:
    // lists are in the order of names, and kubectl describe keeps that order.
    const { clock, random } = this.#parts.world
    series.name ??= eventName(
      series.happening.regarding.metadata.name,
      `${clock.wallMs().toString(16).padStart(11, '0')}${random.hex(8)}`,
    )
    try {
      await this.#parts.client.create(events, this.#eventOf(series, series.name), { signal: this.#closed.signal })
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
    }
    series.written = true
  }

  /** @returns false where the Event is gone: the API server keeps each for an hour. */
  async #recount(series: EventSeries): Promise<boolean> {
    const key = { namespace: namespaceOf(series.happening.regarding), name: series.name ?? '' }
    const patch = { series: { count: series.count, lastObservedTime: series.lastAt } }
    try {
      await this.#parts.client.patch(events, key, patch, { signal: this.#closed.signal })
      return true
    } catch (error) {
      if (!isNotFound(error)) throw error
      series.name = undefined
      series.written = false
      return false
    }
  }

  #eventOf(series: EventSeries, name: string): KubeEvent {
    const { controller, instance } = this.#parts
    const { regarding, related, type, reason, action, note } = series.happening
    return {
      apiVersion: apiVersionOf(events),
      kind: events.kind,
      metadata: { name, namespace: namespaceOf(regarding) },
      eventTime: series.firstAt,
      reportingController: controller,
      reportingInstance: cut(instance, longestWordBytes),
      type,
      reason: cut(reason, longestWordBytes),
      action: cut(action, longestWordBytes),
      note: cut(note, longestNoteBytes),
      regarding: referenceTo(regarding),
      ...(related ? { related: referenceTo(related) } : {}),
      // A series of one is refused.
      ...(series.count > 1 ? { series: { count: series.count, lastObservedTime: series.lastAt } } : {}),
    }
  }
}

/** An answer that another try would get again. */
function isFinal(error: unknown): boolean {
  return error instanceof KubeApiError && error.status < 500 && error.status !== 429
}

function namespaceOf(object: KubeObject): string {
  return object.metadata.namespace ?? 'default'
}

function referenceTo({ apiVersion, kind, metadata }: KubeObject): ObjectReference {
  const { name, namespace, uid, resourceVersion } = metadata
  return {
    apiVersion,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  }
}

/** At most so many bytes of UTF-8, no character cut in two. */
function cut(text: string, mostBytes: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= mostBytes) return text
  let end = mostBytes - 3
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return `${bytes.subarray(0, end).toString()}…`
}
