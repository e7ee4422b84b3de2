import { codeOf, described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { World } from '#common/ports/ports.ts'
import { aborted } from '#common/process/signals.ts'
import type { Leadership } from '../leader/leadership.ts'

/** Something that runs until it is told to end, and then ends what it has begun. */
export interface Runnable {
  readonly name: string
  /** Rejects when it fails; then everything is stopped. May end by itself. */
  run(signal: AbortSignal): Promise<void>
  /** Resolves once that may start which needs it: a server listens, a cache has synced. */
  ready?(signal: AbortSignal): Promise<unknown>
}

/** A runnable that may run in one process only. */
export interface LeaderRunnable {
  readonly name: string
  run(signal: AbortSignal, leadership: Leadership): Promise<void>
}

/** In the order in which they start. */
export interface RunnableGroups {
  readonly http?: readonly Runnable[]
  readonly webhooks?: readonly Runnable[]
  readonly informers?: readonly Runnable[]
  readonly others?: readonly Runnable[]
  readonly leaders?: readonly LeaderRunnable[]
}

/** Waits until this process leads, calls `lead`, and gives leadership back once that has ended. */
export interface Election {
  run(signal: AbortSignal, lead: (leadership: Leadership) => Promise<void>): Promise<'lost' | 'stopped'>
}

export interface RunParts {
  readonly groups: RunnableGroups
  readonly election: Election
  readonly world: Pick<World, 'clock' | 'timers'>
  /** All must be ready in this time; 2 minutes unless given. */
  readonly startDeadlineMs?: number
  /** All must have ended in this time after the word to stop; 30 s unless given. */
  readonly graceMs?: number
}

const defaultStartDeadlineMs = 120_000
const defaultGraceMs = 30_000
const startOrder = ['http', 'webhooks', 'informers', 'others'] as const
/** Groups that act; leadership is given back only when they have ended. */
const actors = ['others', 'leaders'] as const
/** Groups that the actors need to the end; a group that needs others comes first. */
const servants = ['informers', 'webhooks', 'http'] as const

/**
 * Starts everything in order, each group once the one before is ready, and the leaders when this process leads; when
 * `signal` is aborted or something fails, stops everything in order: others, leaders, then leadership is given back,
 * informers, webhooks, HTTP servers.
 *
 * Rejects with the first failure; with `REGENT_TIMED_OUT` when something did not get ready or did not end in time, and
 * then leadership is not given back while somebody may still act on it. Rejects with `REGENT_NOT_LEADER` at once,
 * without waiting for anybody, when leadership is lost: another leads already, so the process must end.
 */
export function runAll(parts: RunParts, signal: AbortSignal): Promise<void> {
  return new Run(parts).untilStopped(signal)
}

class Run {
  readonly #parts: RunParts
  readonly #groups = {
    http: new Group(),
    webhooks: new Group(),
    informers: new Group(),
    others: new Group(),
    leaders: new Group(),
  }
  /** Aborted when everything is to stop. */
  readonly #halt = new AbortController()
  readonly #actorsEnded = Promise.withResolvers<void>()
  readonly #lost = Promise.withResolvers<never>()
  #election: Promise<void> = Promise.resolve()
  #failure: RegentError | undefined

  constructor(parts: RunParts) {
    this.#parts = parts
    this.#lost.promise.catch(() => undefined)
  }

  async untilStopped(signal: AbortSignal): Promise<void> {
    const told = () => this.#halt.abort()
    signal.addEventListener('abort', told, { once: true })
    if (signal.aborted) told()
    try {
      await Promise.race([this.#startAndStop(), this.#lost.promise])
    } finally {
      signal.removeEventListener('abort', told)
    }
    if (this.#failure) throw this.#failure
  }

  async #startAndStop(): Promise<void> {
    await this.#start()
    await aborted(this.#halt.signal)
    await this.#stop()
  }

  async #start(): Promise<void> {
    for (const group of startOrder) {
      if (this.#halt.signal.aborted) return
      const runnables = this.#parts.groups[group] ?? []
      for (const runnable of runnables)
        this.#launch(this.#groups[group], runnable.name, (signal) => runnable.run(signal))
      await Promise.all(runnables.map((runnable) => this.#ready(runnable)))
    }
    if (!this.#halt.signal.aborted) this.#elect()
  }

  #launch(group: Group, name: string, run: (signal: AbortSignal) => Promise<void>): void {
    group.start(name, run, (error) => this.#fail(name, error))
  }

  async #ready(runnable: Runnable): Promise<void> {
    if (!runnable.ready) return
    const { timers } = this.#parts.world
    const deadlineMs = this.#parts.startDeadlineMs ?? defaultStartDeadlineMs
    const over = new AbortController()
    const tooLate = timers.sleep(deadlineMs, over.signal).then(() => {
      throw new RegentError('REGENT_TIMED_OUT', say`it was not ready after ${deadlineMs} ms`)
    })
    try {
      await Promise.race([
        runnable.ready(AbortSignal.any([this.#halt.signal, over.signal])),
        aborted(this.#halt.signal),
        tooLate,
      ])
    } catch (error) {
      this.#fail(runnable.name, error)
    } finally {
      over.abort(new Error('no longer waited for'))
    }
  }

  #elect(): void {
    this.#election = this.#parts.election
      .run(this.#halt.signal, (leadership) => this.#lead(leadership))
      .then(
        () => undefined,
        (error: unknown) => this.#fail('leader election', error),
      )
  }

  async #lead(leadership: Leadership): Promise<void> {
    const { leaders } = this.#groups
    const lose = () => this.#lose(leadership.lost.reason)
    leadership.lost.addEventListener('abort', lose, { once: true })
    if (leadership.lost.aborted) lose()
    if (!this.#halt.signal.aborted) {
      for (const runnable of this.#parts.groups.leaders ?? [])
        this.#launch(leaders, runnable.name, (signal) => runnable.run(signal, leadership))
    }
    await Promise.race([this.#actorsEnded.promise, aborted(leadership.lost).then(() => leaders.ended())])
    // What happens to a leadership that is given back is no loss.
    leadership.lost.removeEventListener('abort', lose)
  }

  #lose(reason: unknown): void {
    for (const group of Object.values(this.#groups)) group.tell()
    this.#halt.abort()
    this.#lost.reject(
      new RegentError('REGENT_NOT_LEADER', say`leadership was lost: ${described(reason)}`, { cause: reason }),
    )
  }

  #fail(name: string, error: unknown): void {
    // A runnable that is told to stop may well say so by rejecting with the reason it was given.
    if (error !== this.#halt.signal.reason)
      this.#failure ??= new RegentError(codeOf(error), say`${name}: ${described(error)}`, { cause: error })
    this.#halt.abort()
  }

  async #stop(): Promise<void> {
    const graceMs = this.#parts.graceMs ?? defaultGraceMs
    const deadlineMs = this.#parts.world.clock.monotonicMs() + graceMs
    const late: string[] = []
    const end = async (name: keyof RunnableGroups) => {
      const group = this.#groups[name]
      group.tell()
      // A group that is told only when the time is up had none to be late with.
      if (!(await this.#inTime(group.ended(), deadlineMs))) late.push(...group.names)
    }
    for (const name of actors) await end(name)
    if (actors.every((name) => this.#groups[name].isEmpty)) {
      this.#actorsEnded.resolve()
      if (!(await this.#inTime(this.#election, deadlineMs))) late.push('leader election')
    }
    for (const name of servants) await end(name)
    if (late.length > 0)
      this.#failure ??= new RegentError(
        'REGENT_TIMED_OUT',
        say`${late.join(', ')}: still running ${graceMs} ms after the word to stop`,
      )
  }

  /** @returns false where there was time, and it has run out; when there is none, nobody is waited for. */
  async #inTime(ending: Promise<void>, deadlineMs: number): Promise<boolean> {
    const { clock, timers } = this.#parts.world
    const leftMs = deadlineMs - clock.monotonicMs()
    if (leftMs <= 0) return true
    const over = new AbortController()
    const inTime = await Promise.race([ending.then(() => true), timers.sleep(leftMs, over.signal).then(() => false)])
    over.abort(new Error('no longer waited for'))
    return inTime
  }
}

class Group {
  readonly #told = new AbortController()
  readonly #running = new Map<object, { readonly name: string; readonly ended: Promise<void> }>()

  get isEmpty(): boolean {
    return this.#running.size === 0
  }

  /** Names of the runnables that run. */
  get names(): string[] {
    return [...this.#running.values()].map((each) => each.name)
  }

  start(name: string, run: (signal: AbortSignal) => Promise<void>, failed: (error: unknown) => void): void {
    const { signal } = this.#told
    const id = {}
    // Through an async function, so that what is thrown at once is a rejection too.
    const running = async () => run(signal)
    const ended = running()
      .catch((error: unknown) => {
        if (!signal.aborted || error !== signal.reason) failed(error)
      })
      .finally(() => this.#running.delete(id))
    this.#running.set(id, { name, ended })
  }

  tell(): void {
    this.#told.abort()
  }

  async ended(): Promise<void> {
    await Promise.all([...this.#running.values()].map((each) => each.ended))
  }
}
