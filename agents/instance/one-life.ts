import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Timers } from '#common/ports/ports.ts'

/** Longer than any attempt goes on that nothing cuts short. */
const mostMs = 60_000

/** Something of an agent that has ended still goes on: no other one may begin on its volume in this process. */
export class UnendedLife extends RegentError {}

type Call = (...given: unknown[]) => Promise<unknown>

/**
 * The life of an agent from its begin to its end, where its process goes on after that. An agent writes to disks
 * through its life only. So an agent that has ended writes nothing more, and another agent on the same volume begins
 * once nothing is being written.
 */
export class OneLife {
  readonly #underWay = new Set<Promise<unknown>>()
  #isOver = false

  /** Rejects once this life is over: then nothing is begun. */
  async do<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isOver) throw new RegentError('REGENT_INTERNAL', say`this agent has ended`)
    const running = work()
    this.#underWay.add(running)
    try {
      return await running
    } finally {
      this.#underWay.delete(running)
    }
  }

  /** The same port as this agent uses it. Each of its functions must give a promise. */
  port<Port extends object>(port: Port): Port {
    return new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target)
        if (typeof member !== 'function') return member
        return (...given: unknown[]) => this.do(async () => Reflect.apply(member as Call, target, given))
      },
    })
  }

  /** Resolves once nothing is under way. Rejects with an `UnendedLife` where something goes on and on. */
  async end(timers: Pick<Timers, 'after'>): Promise<void> {
    this.#isOver = true
    const late = Promise.withResolvers<never>()
    const timer = timers.after(mostMs, () =>
      late.reject(new UnendedLife('REGENT_TIMED_OUT', say`something of this agent goes on after ${mostMs / 1_000} s`)),
    )
    try {
      await Promise.race([Promise.allSettled([...this.#underWay]), late.promise])
    } finally {
      timer.cancel()
    }
  }
}
