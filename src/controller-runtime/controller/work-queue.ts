import type { Clock, Timer, Timers } from '#common/ports/ports.ts'
import type { RateLimiter } from './rate-limiter.ts'

/** What a queue tells about itself. */
export interface QueueRecorder {
  /** A key was put in and was not in yet. */
  added(): void
  /** A worker took a key that had waited this long. */
  taken(waitedMs: number): void
  /** A worker is done with a key after this long. */
  worked(ms: number): void
  /** A key is to come again: after a failure, or at a time that was asked for. */
  retried(): void
}

export interface WorkQueueParts {
  readonly clock: Clock
  readonly timers: Timers
  readonly rateLimiter: RateLimiter
  readonly recorder?: QueueRecorder
}

/**
 * Keys that wait for a worker, each at most once, namespace after namespace: who fills one namespace with work keeps
 * those of the others waiting for one key, and no longer. A key that is added while it waits is dropped; one that is
 * added while a worker has it waits until that worker is done. So no two workers ever have the same key, any number of
 * additions during a run gives exactly one more run, and an addition after a run began is never lost.
 */
export class WorkQueue {
  readonly #parts: WorkQueueParts
  /** With the time they came. */
  readonly #waiting = new Map<string, number>()
  /** The same by namespace, in the order of turns; in each the order in which they came. */
  readonly #turns = new Map<string, Set<string>>()
  /** Keys that need a run: all that wait, and those that were added while a worker has them. */
  readonly #dirty = new Set<string>()
  /** Keys that a worker has, with the time it took them. */
  readonly #processing = new Map<string, number>()
  readonly #later = new Map<string, Later>()
  readonly #takers: ((key: string | undefined) => void)[] = []
  readonly #drained: (() => void)[] = []
  #closed = false

  constructor(parts: WorkQueueParts) {
    this.#parts = parts
  }

  /** Keys that wait for a worker. */
  get depth(): number {
    return this.#waiting.size
  }

  /** How often the key failed since it was last forgotten. */
  failures(key: string): number {
    return this.#parts.rateLimiter.failures(key)
  }

  /** How long each key that a worker has now has been with it, in milliseconds. */
  runningMs(): readonly number[] {
    const nowMs = this.#parts.clock.monotonicMs()
    return [...this.#processing.values()].map((sinceMs) => nowMs - sinceMs)
  }

  add(key: string): void {
    if (this.#closed || this.#dirty.has(key)) return
    this.#dirty.add(key)
    this.#parts.recorder?.added()
    if (!this.#processing.has(key)) this.#enqueue(key)
  }

  /** Adds the key once `ms` have passed. The earliest of several pending times of a key counts. */
  addAfter(key: string, ms: number): void {
    if (this.#closed) return
    this.#parts.recorder?.retried()
    // NaN too: a time that nobody can tell must not be never.
    if (!(ms > 0)) return this.add(key)
    const atMs = this.#parts.clock.monotonicMs() + ms
    const pending = this.#later.get(key)
    if (pending && pending.atMs <= atMs) return
    pending?.timer.cancel()
    this.#arm(key, atMs)
  }

  /** Adds the key once its rate limiter allows. */
  addRateLimited(key: string): void {
    if (this.#closed) return
    this.addAfter(key, this.#parts.rateLimiter.nextDelayMs(key))
  }

  /** The key's failures no longer count. What is pending for it stays pending. */
  forget(key: string): void {
    this.#parts.rateLimiter.forget(key)
  }

  /** The next key, as soon as there is one; undefined once the queue is shut down. `done` must follow. */
  get(): Promise<string | undefined> {
    const next = this.#next()
    if (next !== undefined) return Promise.resolve(this.#take(next))
    if (this.#closed && this.#dirty.size === 0) return Promise.resolve(undefined)
    return new Promise((resolve) => this.#takers.push(resolve))
  }

  /** The worker that has the key is done with it. */
  done(key: string): void {
    const sinceMs = this.#processing.get(key)
    if (sinceMs === undefined) return
    this.#processing.delete(key)
    this.#parts.recorder?.worked(this.#parts.clock.monotonicMs() - sinceMs)
    if (this.#dirty.has(key)) this.#enqueue(key)
    this.#settleClosing()
  }

  /** Takes nothing any more, drops what waits, and sends the workers home. What they have they finish. */
  shutDown(): void {
    this.#close()
    this.#waiting.clear()
    this.#turns.clear()
    this.#dirty.clear()
    this.#settleClosing()
  }

  /**
   * Takes nothing any more, but gives out what waits; resolves when the workers are done with all of it. What was to be
   * added later is dropped. `shutDown` cuts it short except for what a worker has.
   */
  drain(): Promise<void> {
    this.#close()
    return new Promise((resolve) => {
      this.#drained.push(resolve)
      this.#settleClosing()
    })
  }

  /** The first of the namespace whose turn it is, which then comes after the others. */
  #next(): string | undefined {
    const [turn] = this.#turns
    if (turn === undefined) return undefined
    const [namespace, keys] = turn
    const [key] = keys
    this.#turns.delete(namespace)
    this.#turns.set(namespace, keys)
    return key
  }

  #enqueue(key: string): void {
    this.#waiting.set(key, this.#parts.clock.monotonicMs())
    const keys = this.#turns.get(namespaceOf(key)) ?? new Set()
    this.#turns.set(namespaceOf(key), keys.add(key))
    const taker = this.#takers.shift()
    if (taker) taker(this.#take(key))
  }

  /** Marked as taken before the worker's own turn comes, so that nothing added meanwhile slips in between. */
  #take(key: string): string {
    const nowMs = this.#parts.clock.monotonicMs()
    this.#parts.recorder?.taken(nowMs - (this.#waiting.get(key) ?? nowMs))
    this.#waiting.delete(key)
    const keys = this.#turns.get(namespaceOf(key))
    keys?.delete(key)
    if (keys?.size === 0) this.#turns.delete(namespaceOf(key))
    this.#dirty.delete(key)
    this.#processing.set(key, nowMs)
    return key
  }

  /** Timers may fire early (the longest that Node can set is 25 days): the clock decides. */
  #arm(key: string, atMs: number): void {
    const { clock, timers } = this.#parts
    const timer = timers.after(atMs - clock.monotonicMs(), () => {
      if (clock.monotonicMs() < atMs) return this.#arm(key, atMs)
      this.#later.delete(key)
      this.add(key)
    })
    this.#later.set(key, { atMs, timer })
  }

  #close(): void {
    this.#closed = true
    for (const { timer } of this.#later.values()) timer.cancel()
    this.#later.clear()
  }

  #settleClosing(): void {
    if (!this.#closed || this.#dirty.size > 0) return
    // A key that a worker has can no longer become dirty, so nothing will ever come for those who ask.
    for (const taker of this.#takers.splice(0)) taker(undefined)
    if (this.#processing.size === 0) for (const drained of this.#drained.splice(0)) drained()
  }
}

interface Later {
  readonly atMs: number
  readonly timer: Timer
}

/** The namespace of a key as `keyText` writes it; '' for what belongs to none. */
function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')))
}
