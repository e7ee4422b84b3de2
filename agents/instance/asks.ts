import type { AskAnswer } from '#failover/protocol/word.ts'
import type { Timer, World } from '#common/ports/ports.ts'
import type { Ask, AskedFor } from '#topology/snapshot/observation.ts'

/** So long something is asked for where the caller says no limit. */
export const longestAskMs = 600_000

export type Answered = Pick<AskAnswer, 'outcome' | 'sentence'>

interface Open {
  readonly wanted: AskedFor
  readonly untilMs: number
  readonly timer: Timer
  readonly end: (answer: Answered | null) => void
}

/**
 * What this agent asks of the manager that leads, for its own callers. An agent calls no manager: asks are shown in the
 * observation, and answered by an order. Nothing is kept on disk: a caller whose agent died asks again.
 */
export class Asks {
  readonly #world: Pick<World, 'clock' | 'timers' | 'random'>
  readonly #changed: () => void
  readonly #open = new Map<string, Open>()

  constructor(world: Pick<World, 'clock' | 'timers' | 'random'>, changed: () => void) {
    this.#world = world
    this.#changed = changed
  }

  get shown(): readonly Ask[] {
    const nowMs = this.#world.clock.monotonicMs()
    return [...this.#open].map(([id, { wanted, untilMs }]) => ({
      id,
      remainingMs: Math.max(0, Math.round(untilMs - nowMs)),
      ...wanted,
    }))
  }

  /**
   * The manager's answer; null where none came in time, or the caller's signal ended the wait.
   *
   * @param deadlineMs null for ten minutes
   */
  ask(
    wanted: AskedFor,
    { deadlineMs, signal }: { readonly deadlineMs: number | null; readonly signal: AbortSignal },
  ): Promise<Answered | null> {
    if (signal.aborted) return Promise.resolve(null)
    const { clock, timers, random } = this.#world
    const { promise, resolve } = Promise.withResolvers<Answered | null>()
    const id = random.hex(16)
    const forMs = deadlineMs ?? longestAskMs
    const end = (answer: Answered | null): void => {
      this.#open.get(id)?.timer.cancel()
      if (!this.#open.delete(id)) return
      signal.removeEventListener('abort', stop)
      resolve(answer)
      this.#changed()
    }
    const stop = (): void => end(null)
    signal.addEventListener('abort', stop)
    const timer = timers.after(forMs, stop)
    this.#open.set(id, { wanted, untilMs: clock.monotonicMs() + forMs, timer, end })
    this.#changed()
    return promise
  }

  /** An answer that comes twice, or late, is nobody's. */
  answer(id: string, { outcome, sentence }: Answered): void {
    this.#open.get(id)?.end({ outcome, sentence })
  }
}
