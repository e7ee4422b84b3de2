import type { Clock, Timer, Timers, World } from '#common/ports/ports.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { VirtualTime } from './virtual-time.ts'

/** The clock of one machine: begun at another moment than others, and a little too fast or too slow. */
export interface MachineClock {
  offsetMs: number
  rate: number
  /** By how much somebody has set the wall clock. */
  wallStepMs: number
}

/** From now on the clock goes at another rate. It never goes back. */
export function drift(clock: MachineClock, time: VirtualTime, rate: number): void {
  clock.offsetMs += time.nowMs * (clock.rate - rate)
  clock.rate = rate
}

/** Of a call of a port: nothing has happened yet · the world has acted, and the program has not heard of that. */
export type CallMoment = 'before' | 'acted'

/** Told of each call that a program makes, while the watcher is there: a fault may come right at this moment. */
export type CallWatcher = (verb: string, moment: CallMoment) => void

type Call = (...given: unknown[]) => unknown

/** These answer at once: nothing is awaited. */
const immediate = new Set(['onChange', 'lookEvery', 'oldestStatementMs', 'eventChanges', 'disconnect'])

/**
 * A program that runs, is frozen (SIGSTOP, a paused machine), or has died. What the program awaits comes back only
 * while the program runs.
 */
export class ProcessLife {
  readonly #time: VirtualTime
  readonly #held: (() => void)[] = []
  #state: 'running' | 'frozen' | 'dead' = 'running'
  readonly world: World
  readonly watchers = new Set<CallWatcher>()

  constructor(time: VirtualTime, random: SeededRandom, machine: MachineClock) {
    this.#time = time
    this.world = { clock: clockOf(time, machine), timers: this.#timers(machine), random }
  }

  get isDead(): boolean {
    return this.#state === 'dead'
  }

  get runs(): boolean {
    return this.#state === 'running'
  }

  die(): void {
    this.#state = 'dead'
    this.#held.length = 0
  }

  freeze(): void {
    if (this.#state === 'running') this.#state = 'frozen'
  }

  thaw(): void {
    if (this.#state !== 'frozen') return
    this.#state = 'running'
    for (const task of this.#held.splice(0)) this.enter(task)
  }

  /** Runs `task` in this program: now, when it goes on, or never. */
  enter(task: () => void): void {
    if (this.#state === 'running') task()
    else if (this.#state === 'frozen') this.#held.push(task)
  }

  /** What the world answers, as this program hears of it. `verb` names the call for those who watch. */
  hear<T>(answer: Promise<T>, verb = ''): Promise<T> {
    return new Promise((resolve, reject) => {
      const heard = (task: () => void): void => {
        if (verb !== '') this.#tell(verb, 'acted')
        this.enter(task)
      }
      answer.then(
        (value) => heard(() => resolve(value)),
        (error: unknown) => heard(() => reject(error instanceof Error ? error : new Error(String(error)))),
      )
    })
  }

  /** A call is about to be made. A program that died right there makes no call, a frozen one makes the call later. */
  call<T>(verb: string, make: () => Promise<T>): Promise<T> {
    this.#tell(verb, 'before')
    if (this.runs) return this.hear(make(), verb)
    return new Promise((resolve, reject) => {
      this.enter(() => void this.hear(make(), verb).then(resolve, reject))
    })
  }

  #tell(verb: string, moment: CallMoment): void {
    if (this.watchers.size === 0 || this.isDead) return
    for (const watcher of this.watchers) watcher(verb, moment)
  }

  /** The whole port as this program uses it: from its death on it does nothing and answers nothing. */
  port<Port extends object>(port: Port): Port {
    const calls = new Map<PropertyKey, Call>()
    return new Proxy(port, {
      get: (target, name) => {
        const known = calls.get(name)
        if (known !== undefined) return known
        const member: unknown = Reflect.get(target, name, target)
        if (typeof member !== 'function') return member
        const call = this.#callOf(target, String(name), member as Call)
        calls.set(name, call)
        return call
      },
    })
  }

  /** A port's functions stay what they are, so that each is made into a call once. */
  #callOf(port: object, verb: string, member: Call): Call {
    const isImmediate = immediate.has(verb)
    return (...given) => {
      if (this.isDead) return new Promise(() => undefined)
      if (isImmediate) return Reflect.apply(member, port, given)
      return this.call(verb, async () => Reflect.apply(member, port, given))
    }
  }

  #timers(machine: MachineClock): Timers {
    const after = (ms: number, task: () => void): Timer => this.#time.after(ms / machine.rate, () => this.enter(task))
    const every = (ms: number, task: () => void): Timer => {
      let timer: Timer
      let cancelled = false
      const next = (): void => {
        timer = after(ms, () => {
          if (cancelled) return
          next()
          task()
        })
      }
      next()
      return {
        cancel: () => {
          cancelled = true
          timer.cancel()
        },
      }
    }
    const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
      new Promise((resolve, reject) => {
        const ended = (): void => reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted'))
        if (signal?.aborted) return ended()
        const timer = after(ms, () => {
          signal?.removeEventListener('abort', stop)
          resolve()
        })
        const stop = (): void => {
          timer.cancel()
          ended()
        }
        signal?.addEventListener('abort', stop, { once: true })
      })
    return { after, every, sleep }
  }
}

/** Wall clocks begin on 2001-09-09, and differ as the machines' clocks do. */
function clockOf(time: VirtualTime, machine: MachineClock): Clock {
  const monotonicMs = (): number => machine.offsetMs + time.nowMs * machine.rate
  return { monotonicMs, wallMs: () => 1_000_000_000_000 + Math.round(monotonicMs() + machine.wallStepMs) }
}
