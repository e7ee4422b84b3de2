import type { Clock, Random, Timer, Timers, World } from '../common/ports.ts'

interface Due {
  readonly atMs: number
  readonly task: () => void
}

/** A world for tests whose time passes only when told, and whose dice fall as told. */
export class VirtualWorld implements World {
  /** What `fractionOf` gives next, from 0 up to 1; the middle unless set. */
  fraction = 0.5
  #nowMs = 0
  #issued = 0
  readonly #due = new Set<Due>()

  readonly clock: Clock = { monotonicMs: () => this.#nowMs, wallMs: () => Date.UTC(2030, 0, 1) + this.#nowMs }

  readonly timers: Timers = {
    after: (ms, task) => this.#plan(ms, task),
    every: (ms, task) => {
      let timer: Timer
      const again = (): void => {
        timer = this.#plan(ms, again)
        task()
      }
      timer = this.#plan(ms, again)
      return { cancel: () => timer.cancel() }
    },
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const abort = (): void => {
          timer.cancel()
          reject(signal?.reason as Error)
        }
        const timer = this.#plan(ms, () => {
          signal?.removeEventListener('abort', abort)
          resolve()
        })
        if (signal?.aborted) abort()
        else signal?.addEventListener('abort', abort, { once: true })
      }),
  }

  readonly random: Random = {
    hex: (length) => Math.floor(this.fraction * 2 ** 32).toString(16).padStart(8, '0').repeat(Math.ceil(length / 8)).slice(0, length),
    uuid: () => `00000000-0000-4000-8000-${String(++this.#issued).padStart(12, '0')}`,
  }

  /** Timers that wait. */
  get waiting(): number {
    return this.#due.size
  }

  /** Lets time pass, running what falls due in its order, each with what it promised to do at once. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms
    await settle()
    for (let next = this.#earliest(untilMs); next !== undefined; next = this.#earliest(untilMs)) {
      this.#due.delete(next)
      this.#nowMs = Math.max(this.#nowMs, next.atMs)
      next.task()
      await settle()
    }
    this.#nowMs = untilMs
  }

  /** Time passes and no timer runs: what a frozen process finds when it thaws. */
  freeze(ms: number): void {
    this.#nowMs += ms
  }

  #plan(ms: number, task: () => void): Timer {
    const due = { atMs: this.#nowMs + Math.max(0, ms), task }
    this.#due.add(due)
    return { cancel: () => void this.#due.delete(due) }
  }

  #earliest(untilMs: number): Due | undefined {
    let found: Due | undefined
    for (const due of this.#due) if (due.atMs <= untilMs && (found === undefined || due.atMs < found.atMs)) found = due
    return found
  }
}

/** Everything that waits for nothing but promises has run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
}
