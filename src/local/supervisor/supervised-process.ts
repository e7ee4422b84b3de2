import { describeError } from '#common/errors/errors.ts'
import type { ProcessIdentity } from '#common/process/process-stat.ts'
import type { Child, Children, Command } from './child.ts'
import { endProcess } from '../processes/process-identity.ts'

/** `running` · `waiting` to be started again · `stopped` on purpose. */
export type SupervisedState = 'running' | 'waiting' | 'stopped'

export interface SupervisedStatus {
  readonly name: string
  readonly state: SupervisedState
  readonly identity: ProcessIdentity | null
  /** How often it ended by itself since the supervisor began. */
  readonly ends: number
  /** How it ended last; '' when it never did. */
  readonly lastEnd: string
}

export interface SupervisedOptions {
  readonly name: string
  readonly command: Command
  readonly children: Children
  /** True when somebody marked it as stopped: then it is left alone. */
  readonly isMarkedStopped: () => Promise<boolean>
  /** Called after each change, with a sentence for the log. */
  readonly changed: (sentence: string) => void
  /** Time to end by itself after SIGTERM before SIGKILL. */
  readonly graceMs: number
}

const firstDelayMs = 1_000
const longestDelayMs = 30_000
/** What ran this long has proved itself: its next end counts as a first one. */
const provenMs = 60_000

/** How long to wait after the `ends`-th end in a row: 1 s, then twice as long each time, 30 s at most. */
export function restartDelayMs(ends: number): number {
  return Math.min(longestDelayMs, firstDelayMs * 2 ** Math.max(0, ends - 1))
}

/** A process that is started again whenever it ends by itself: after a second, then with growing delays. */
export class SupervisedProcess {
  #options: SupervisedOptions
  #child: Child | undefined
  #state: SupervisedState = 'stopped'
  #ends = 0
  #endsInARow = 0
  #lastEnd = ''
  #startedAt = 0
  /** False once somebody stopped it. */
  #wanted = false
  #launching: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: SupervisedOptions) {
    this.#options = options
  }

  get status(): SupervisedStatus {
    return {
      name: this.#options.name,
      state: this.#state,
      identity: this.#child?.identity ?? null,
      ends: this.#ends,
      lastEnd: this.#lastEnd,
    }
  }

  /** Takes over what an earlier supervisor started, or else starts it, unless it is marked as stopped. */
  async begin(earlier: ProcessIdentity | undefined): Promise<void> {
    const child = earlier && (await this.#options.children.adopt(earlier))
    if (child !== undefined) {
      this.#wanted = true
      return this.#follow(child, 'found running')
    }
    if (await this.#options.isMarkedStopped()) return
    await this.start()
  }

  /** Starts it at once if it does not run; a start that fails is tried again like an end. */
  async start(): Promise<void> {
    this.#wanted = true
    clearTimeout(this.#timer)
    if (this.#child !== undefined) return
    this.#launching ??= this.#launch().finally(() => (this.#launching = undefined))
    await this.#launching
  }

  /** Ends it for good: SIGTERM, then SIGKILL. Resolves when it is gone. */
  async stop(): Promise<void> {
    this.#wanted = false
    clearTimeout(this.#timer)
    await this.#launching
    this.#state = 'stopped'
    const child = this.#child
    if (child === undefined) return
    await endProcess(child.identity, this.#options.graceMs)
    await child.ended
  }

  async #launch(): Promise<void> {
    try {
      this.#follow(await this.#options.children.launch(this.#options.command), 'started')
    } catch (error) {
      this.#restartLater(`cannot be started: ${describeError(error)}`)
    }
  }

  #follow(child: Child, how: string): void {
    this.#child = child
    this.#state = 'running'
    this.#startedAt = performance.now()
    this.#options.changed(`${this.#options.name} ${how} with pid ${child.identity.pid}`)
    void child.ended.then((end) => this.#hasEnded(end))
  }

  async #hasEnded(end: string): Promise<void> {
    this.#child = undefined
    if (this.#wanted && (await this.#options.isMarkedStopped())) this.#wanted = false
    if (this.#wanted) return this.#restartLater(end)
    this.#state = 'stopped'
    this.#options.changed(`${this.#options.name} ended (${end}) and is left alone`)
  }

  #restartLater(end: string): void {
    if (!this.#wanted) return
    const proven = this.#startedAt > 0 && performance.now() - this.#startedAt >= provenMs
    this.#endsInARow = proven ? 1 : this.#endsInARow + 1
    this.#ends += 1
    this.#lastEnd = end
    this.#state = 'waiting'
    const delayMs = restartDelayMs(this.#endsInARow)
    this.#timer = setTimeout(() => void this.start(), delayMs)
    this.#options.changed(`${this.#options.name} ended (${end}); it is started again in ${delayMs / 1000} s`)
  }
}
