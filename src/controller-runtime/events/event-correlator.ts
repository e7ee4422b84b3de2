import type { Clock } from '#common/ports/ports.ts'
import { microTimeOf } from '../objects/lease.ts'
import { LruMap } from './lru-map.ts'
import type { KubeObject } from '../objects/objects.ts'

/** Something that happened to an object, for `kubectl describe` and `kubectl events`. */
export interface Happening {
  readonly regarding: KubeObject
  readonly related?: KubeObject
  readonly type: 'Normal' | 'Warning'
  /** Why, as one word for programs: `FailedOver`. */
  readonly reason: string
  /** What was done or not done about it, as one word: `Promote`. */
  readonly action: string
  /** A sentence for people. */
  readonly note: string
}

/** The same happening again and again: one Event object with a count. */
export interface EventSeries {
  readonly happening: Happening
  /** MicroTimes. */
  readonly firstAt: string
  lastAt: string
  count: number
  /** The name of the Event object. */
  name: string | undefined
  /** Whether that object is there. */
  written: boolean
}

export interface CorrelatorLimits {
  /**
   * So many different notes for the same object, type, reason and action are told one by one; further ones become one
   * series.
   */
  readonly similar: number
  /** A series, and what counts as similar, ends when nothing of it happened for so long. */
  readonly quietMs: number
  /**
   * So many in a row may be written about one object for one reason: what happens all the time does not keep what
   * happens once from being told …
   */
  readonly burst: number
  /** … and then one more per so long. */
  readonly refillMs: number
  /** How many objects, series and kinds of event are remembered. */
  readonly remembered: number
}

/** client-go's, which has one allowance for all reasons together. */
export const defaultLimits: CorrelatorLimits = {
  similar: 10,
  quietMs: 600_000,
  burst: 25,
  refillMs: 300_000,
  remembered: 4_096,
}

const combinedMark = '(combined from similar events): '

interface Bucket {
  tokens: number
  filledMs: number
}

interface Similar {
  readonly notes: Set<string>
  lastMs: number
}

/** Keeps a flood of happenings from becoming a flood of Event objects, of which etcd would hold each for an hour. */
export class EventCorrelator {
  readonly #clock: Clock
  readonly #limits: CorrelatorLimits
  readonly #similar: LruMap<string, Similar>
  readonly #series: LruMap<string, { series: EventSeries; lastMs: number }>
  readonly #buckets: LruMap<string, Bucket>

  constructor(clock: Clock, limits: CorrelatorLimits = defaultLimits) {
    this.#clock = clock
    this.#limits = limits
    this.#similar = new LruMap(limits.remembered)
    this.#series = new LruMap(limits.remembered)
    this.#buckets = new LruMap(limits.remembered)
  }

  /**
   * The series that the happening belongs to now, to be written; undefined where it was one too many, and is only
   * counted.
   */
  observe(happening: Happening): EventSeries | undefined {
    const object = identityOf(happening.regarding)
    const series = this.#isOneTooMany(object, happening)
      ? this.#count([object, happening.type, happening.reason, happening.action], {
          ...happening,
          note: `${combinedMark}${happening.note}`,
        })
      : this.#count([object, happening.type, happening.reason, happening.action, happening.note], happening)
    return this.#mayWrite(JSON.stringify([object, happening.reason])) ? series : undefined
  }

  /** Whether there were too many such already, each with another note: then one series stands for all further ones. */
  #isOneTooMany(object: string, { type, reason, action, note }: Happening): boolean {
    const nowMs = this.#clock.monotonicMs()
    const key = JSON.stringify([object, type, reason, action])
    const known = this.#similar.get(key)
    const similar =
      known && nowMs - known.lastMs <= this.#limits.quietMs ? known : { notes: new Set<string>(), lastMs: nowMs }
    similar.lastMs = nowMs
    this.#similar.set(key, similar)
    if (similar.notes.has(note)) return false
    if (similar.notes.size >= this.#limits.similar) return true
    similar.notes.add(note)
    return false
  }

  #count(of: readonly string[], happening: Happening): EventSeries {
    const nowMs = this.#clock.monotonicMs()
    const at = microTimeOf(this.#clock)
    const key = JSON.stringify(of)
    const known = this.#series.get(key)
    if (known && nowMs - known.lastMs <= this.#limits.quietMs) {
      known.lastMs = nowMs
      known.series.lastAt = at
      known.series.count++
      return known.series
    }
    const series: EventSeries = { happening, firstAt: at, lastAt: at, count: 1, name: undefined, written: false }
    this.#series.set(key, { series, lastMs: nowMs })
    return series
  }

  #mayWrite(kind: string): boolean {
    const nowMs = this.#clock.monotonicMs()
    const { burst, refillMs } = this.#limits
    const bucket = this.#buckets.get(kind) ?? { tokens: burst, filledMs: nowMs }
    bucket.tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.filledMs) / refillMs)
    bucket.filledMs = nowMs
    this.#buckets.set(kind, bucket)
    if (bucket.tokens < 1) return false
    bucket.tokens--
    return true
  }
}

/** An object that was deleted and made again under its name is another one. */
function identityOf({ apiVersion, kind, metadata }: KubeObject): string {
  return JSON.stringify([apiVersion, kind, metadata.namespace, metadata.name, metadata.uid])
}
