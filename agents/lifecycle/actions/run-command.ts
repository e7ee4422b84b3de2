import type { ChildProcess } from 'node:child_process'
import type { Timers } from '../../../src/common/ports/ports.ts'
import { collectOutput, collectTail } from './output.ts'
import { whyNotStarted, type Command, type ProcessGroups } from './process-groups.ts'

export interface CommandLimits {
  /** Null for no limit. */
  readonly deadlineMs: number | null
  /** Standard output; a command that writes more is killed. */
  readonly outputBytes: number
  /** Aborted when the agent stops: the command is killed then. */
  readonly signal: AbortSignal
}

/** How a command ended. */
export type CommandEnd =
  | { readonly is: 'notStarted'; readonly why: string }
  | { readonly is: 'exited'; readonly code: number; readonly output: Buffer; readonly stderr: string }
  | { readonly is: 'signalled'; readonly by: string; readonly stderr: string }
  /** `leftBehind`: the command itself had ended, and a process that it had started held its output open. */
  | { readonly is: 'timedOut'; readonly leftBehind: boolean; readonly stderr: string }
  | { readonly is: 'tooMuchOutput'; readonly limitBytes: number }
  | { readonly is: 'stopped' }

export interface CommandWorld {
  readonly groups: ProcessGroups
  readonly timers: Timers
}

/** Of standard error so much goes into a message. */
const stderrBytes = 64 * 1024
/** A killed group closes its pipes at once; who does not is out of reach, and is not waited for. */
const afterKillMs = 500

/**
 * Runs a command to its end: empty standard input, both outputs collected, the whole process group killed at the
 * deadline, past the output limit, and when the agent stops. Never rejects.
 */
export function runCommand(command: Command, limits: CommandLimits, world: CommandWorld): Promise<CommandEnd> {
  if (limits.signal.aborted) return Promise.resolve({ is: 'stopped' })
  const child = world.groups.start(command, ['ignore', 'pipe', 'pipe'])
  if (typeof child === 'string') return Promise.resolve({ is: 'notStarted', why: child })
  return new Promise((resolve) => new Run(child, limits, world).begin(command.argv[0] ?? '', resolve))
}

/** One command under way. */
class Run {
  readonly #child: ChildProcess
  readonly #limits: CommandLimits
  readonly #world: CommandWorld
  /** Why the group was killed. */
  #killedFor: 'timedOut' | 'tooMuchOutput' | 'stopped' | undefined
  #leaderEnded = false
  #settled = false

  constructor(child: ChildProcess, limits: CommandLimits, world: CommandWorld) {
    this.#child = child
    this.#limits = limits
    this.#world = world
  }

  begin(file: string, resolve: (end: CommandEnd) => void): void {
    const [child, { deadlineMs, outputBytes, signal }] = [this.#child, this.#limits]
    const output = collectOutput(child.stdout, outputBytes, () => this.#kill('tooMuchOutput'))
    const stderr = collectTail(child.stderr, stderrBytes)
    const stop = (): void => this.#kill('stopped')
    const deadline =
      deadlineMs === null ? undefined : this.#world.timers.after(deadlineMs, () => this.#kill('timedOut'))
    signal.addEventListener('abort', stop, { once: true })
    const settle = (end: CommandEnd): void => {
      this.#settled = true
      deadline?.cancel()
      signal.removeEventListener('abort', stop)
      resolve(end)
    }
    child.once('error', (error) => {
      if (child.pid === undefined) settle({ is: 'notStarted', why: whyNotStarted(file, error) })
    })
    child.once('exit', () => (this.#leaderEnded = true))
    child.once('close', (code: number | null, by: string | null) => {
      if (child.pid !== undefined) settle(this.#endOf({ code, by, output: output.bytes(), stderr: stderr.text() }))
    })
  }

  #kill(why: 'timedOut' | 'tooMuchOutput' | 'stopped'): void {
    if (this.#killedFor !== undefined || this.#settled) return
    this.#killedFor = why
    const leftBehind = this.#leaderEnded
    this.#leftBehind = leftBehind
    this.#world.groups.kill(this.#child)
    this.#world.timers.after(afterKillMs, () => {
      this.#child.stdout?.destroy()
      this.#child.stderr?.destroy()
    })
  }

  #leftBehind = false

  #endOf(seen: { code: number | null; by: string | null; output: Buffer; stderr: string }): CommandEnd {
    const { code, by, output, stderr } = seen
    switch (this.#killedFor) {
      case 'timedOut':
        return { is: 'timedOut', leftBehind: this.#leftBehind, stderr }
      case 'tooMuchOutput':
        return { is: 'tooMuchOutput', limitBytes: this.#limits.outputBytes }
      case 'stopped':
        return { is: 'stopped' }
      case undefined:
        return by === null ? { is: 'exited', code: code ?? -1, output, stderr } : { is: 'signalled', by, stderr }
    }
  }
}
