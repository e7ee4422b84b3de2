import { RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { ErrorCode } from '#common/errors/error-catalogue.ts'
import type { World } from '#common/ports/ports.ts'
import type { Source } from './controller-sources.ts'
import { keyText, type ObjectKey } from '../objects/objects.ts'
import { exponentialRateLimiter, type BackOff } from './rate-limiter.ts'
import type { ControllerRecorder, ReconcileOutcome, RuntimeMetrics } from './runtime-metrics.ts'
import { WorkQueue } from './work-queue.ts'

/**
 * Brings one object closer to what it should be. A run is given the key alone and reads the object itself, so no run
 * acts on a state that was current when the key was enqueued. A run may end in four ways:
 * - an error is thrown: the key is tried again, later each time;
 * - a `TerminalError` is thrown: the key is not tried again until something changes;
 * - `{ requeueAfterMs }` is given: the key runs again then at the latest;
 * - nothing is given: the key runs again when something changes.
 *
 * @param signal aborted when the controller stops or the run's deadline has passed.
 */
export type Reconcile = (key: ObjectKey, signal: AbortSignal) => Promise<ReconcileResult | void>

export interface ReconcileResult {
  readonly requeueAfterMs?: number
}

/** Says that trying again is of no use before something changes. */
export class TerminalError extends RegentError {
  constructor(code: ErrorCode, message: Sentence, options?: { cause?: unknown }) {
    super(code, message, options)
    this.name = 'TerminalError'
  }
}

export interface ReconcileFailure {
  readonly key: ObjectKey
  readonly error: unknown
  /** How often in a row, this time included. */
  readonly failures: number
  readonly willRetry: boolean
}

export interface ControllerOptions {
  /** In metrics and messages. */
  readonly name: string
  readonly sources: readonly Source[]
  readonly reconcile: Reconcile
  readonly world: Pick<World, 'clock' | 'timers'>
  /** Told of every run that threw, unless the controller was stopping. Must not throw itself. */
  readonly failed: (failure: ReconcileFailure) => void
  /** How many keys are worked on at once; 1 unless given. */
  readonly workers?: number
  readonly backOff?: BackOff
  /** The sources must have synced within this time; 2 minutes unless given. */
  readonly syncDeadlineMs?: number
  /** A run is told to end after this time; none unless given. Its key stays with its worker until it really ends. */
  readonly reconcileDeadlineMs?: number
  readonly metrics?: Pick<RuntimeMetrics, 'forController'>
}

const defaultSyncDeadlineMs = 120_000
const syncPollMs = 50
/**
 * Runs that wait for nothing follow each other in one turn of the event loop, and would keep the renewal of a lease out
 * of it.
 */
const longestTurnMs = 10

/** Runs `reconcile` for every key that its sources name, until it is told to stop. */
export class Controller {
  readonly name: string
  readonly #options: ControllerOptions
  readonly #queue: WorkQueue
  readonly #recorder: ControllerRecorder | undefined

  constructor(options: ControllerOptions) {
    this.name = options.name
    this.#options = options
    this.#recorder = options.metrics?.forController(options.name, this.#workers, {
      depth: () => this.#queue.depth,
      runningMs: () => this.#queue.runningMs(),
    })
    this.#queue = new WorkQueue({
      ...options.world,
      rateLimiter: exponentialRateLimiter(options.backOff),
      ...(this.#recorder ? { recorder: this.#recorder.queue } : {}),
    })
  }

  get #workers(): number {
    return this.#options.workers ?? 1
  }

  /** Asks for a run of the key, as a change of its object would. */
  enqueue(key: ObjectKey): void {
    this.#queue.add(keyText(key))
  }

  /** Asks for a run after this time at the latest: a run that comes sooner counts for this request, too. */
  enqueueWithin(key: ObjectKey, ms: number): void {
    this.#queue.addAfter(keyText(key), ms)
  }

  /**
   * Waits until the sources have synced (a reconciler that sees half of the objects makes the other half anew), then
   * works until `signal` is aborted; resolves once the runs that were under way have ended. Once only. Rejects with
   * `REGENT_TIMED_OUT` when a source does not sync in time.
   */
  async run(signal: AbortSignal): Promise<void> {
    const ends = this.#options.sources.map((each) => each.start((key) => this.enqueue(key)))
    const stop = () => this.#queue.shutDown()
    signal.addEventListener('abort', stop, { once: true })
    try {
      await this.#synced(signal)
      if (signal.aborted) return
      await Promise.all(Array.from({ length: this.#workers }, () => this.#work(signal)))
    } finally {
      signal.removeEventListener('abort', stop)
      for (const end of ends) end()
      stop()
    }
  }

  async #synced(signal: AbortSignal): Promise<void> {
    const { sources, world, syncDeadlineMs = defaultSyncDeadlineMs } = this.#options
    const deadlineMs = world.clock.monotonicMs() + syncDeadlineMs
    for (let missing = unsynced(sources); missing.length > 0 && !signal.aborted; missing = unsynced(sources)) {
      if (world.clock.monotonicMs() >= deadlineMs) {
        throw new RegentError(
          'REGENT_TIMED_OUT',
          say`controller ${this.name} has waited ${syncDeadlineMs} ms for ${missing.join(', ')} to be listed: look whether it may list and watch them`,
        )
      }
      await world.timers.sleep(syncPollMs, signal).catch(() => undefined)
    }
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { clock, timers } = this.#options.world
    let yieldedMs = clock.monotonicMs()
    for (let text = await this.#queue.get(); text !== undefined; text = await this.#queue.get()) {
      const beganMs = clock.monotonicMs()
      this.#recorder?.began()
      const outcome = await this.#runOnce(text, signal)
      this.#recorder?.ended(outcome, clock.monotonicMs() - beganMs)
      this.#queue.done(text)
      if (this.#queue.depth > 0 && clock.monotonicMs() - yieldedMs >= longestTurnMs) {
        await timers.sleep(0)
        yieldedMs = clock.monotonicMs()
      }
    }
  }

  /** Never rejects: a run that fails must not end its worker. */
  async #runOnce(text: string, signal: AbortSignal): Promise<ReconcileOutcome> {
    try {
      return this.#succeeded(text, await this.#reconcile(keyFrom(text), signal))
    } catch (error) {
      return this.#failed(text, error, signal)
    }
  }

  #succeeded(text: string, { requeueAfterMs = 0 }: ReconcileResult): ReconcileOutcome {
    // Told as a failure, else it would come again at once for ever.
    if (Number.isNaN(requeueAfterMs))
      throw new RegentError('REGENT_INTERNAL', say`requeueAfterMs of ${text} is not a number`)
    this.#queue.forget(text)
    if (requeueAfterMs <= 0) return 'success'
    this.#queue.addAfter(text, requeueAfterMs)
    return 'requeue_after'
  }

  #failed(text: string, error: unknown, signal: AbortSignal): ReconcileOutcome {
    const willRetry = !(error instanceof TerminalError)
    if (willRetry) this.#queue.addRateLimited(text)
    if (!signal.aborted) {
      this.#options.failed({
        key: keyFrom(text),
        error,
        failures: this.#queue.failures(text) + (willRetry ? 0 : 1),
        willRetry,
      })
    }
    return willRetry ? 'error' : 'terminal_error'
  }

  async #reconcile(key: ObjectKey, signal: AbortSignal): Promise<ReconcileResult> {
    const { reconcile, reconcileDeadlineMs: deadlineMs, world } = this.#options
    if (deadlineMs === undefined) return (await reconcile(key, signal)) ?? {}
    const deadline = new AbortController()
    const timer = world.timers.after(deadlineMs, () =>
      deadline.abort(
        new RegentError('REGENT_TIMED_OUT', say`${this.name} has worked on ${keyText(key)} for ${deadlineMs} ms`),
      ),
    )
    try {
      return (await reconcile(key, AbortSignal.any([signal, deadline.signal]))) ?? {}
    } finally {
      timer.cancel()
    }
  }
}

function unsynced(sources: readonly Source[]): string[] {
  return sources.filter((each) => !each.hasSynced()).map((each) => each.name)
}

/** The other way round of `keyText`. */
function keyFrom(text: string): ObjectKey {
  const slash = text.indexOf('/')
  return slash < 0 ? { namespace: '', name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) }
}
