import type { Timer, Timers } from '#common/ports/ports.ts'
import { describeError } from '#common/errors/errors.ts'
import { collectOutput, collectTail } from './output.ts'
import type { Command, CommandEnded, ProcessGroups, Started } from './process-groups.ts'

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

/** Bytes of standard error that go into a message. */
const stderrBytes = 64 * 1024
/** A killed group closes its pipes at once. A process that has them open later is out of reach. */
const afterKillMs = 500

/**
 * Runs a command to its end: empty standard input, both outputs collected, the whole process group killed at the
 * deadline, past the output limit, and when the agent stops. Never rejects.
 */
export async function runCommand(command: Command, limits: CommandLimits, world: CommandWorld): Promise<CommandEnd> {
  if (limits.signal.aborted) return { is: 'stopped' }
  const started = world.groups.start(command, 'output')
  if (typeof started === 'string') return { is: 'notStarted', why: started }
  const killing = new Killing(started, limits, world)
  const output = collectOutput(started.output, limits.outputBytes, () => killing.kill('tooMuchOutput'))
  const stderr = collectTail(started.errors, stderrBytes)
  try {
    const end = await started.closed
    return killing.endFor(stderr.text()) ?? endOf(end, output.bytes(), stderr.text())
  } catch (error) {
    return { is: 'notStarted', why: describeError(error) }
  } finally {
    killing.disarm()
  }
}

function endOf({ code, by }: CommandEnded, output: Buffer, stderr: string): CommandEnd {
  return by === null ? { is: 'exited', code: code ?? -1, output, stderr } : { is: 'signalled', by, stderr }
}

type Reason = 'timedOut' | 'tooMuchOutput' | 'stopped'

/** Kills a command at its deadline, when the agent stops, and when told to; keeps why. */
class Killing {
  readonly #started: Started
  readonly #limits: CommandLimits
  readonly #world: CommandWorld
  readonly #deadline: Timer | undefined
  readonly #stop = (): void => this.kill('stopped')
  #reason: Reason | undefined
  #hasEnded = false
  #leftBehind = false

  constructor(started: Started, limits: CommandLimits, world: CommandWorld) {
    this.#started = started
    this.#limits = limits
    this.#world = world
    const { deadlineMs, signal } = limits
    this.#deadline = deadlineMs === null ? undefined : world.timers.after(deadlineMs, () => this.kill('timedOut'))
    signal.addEventListener('abort', this.#stop, { once: true })
    started.ended.then(
      () => (this.#hasEnded = true),
      () => undefined,
    )
  }

  kill(reason: Reason): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#leftBehind = this.#hasEnded
    this.#world.groups.kill(this.#started)
    this.#world.timers.after(afterKillMs, () => this.#started.closePipes())
  }

  /** How a command ended that was killed; undefined where it was not. */
  endFor(stderr: string): CommandEnd | undefined {
    switch (this.#reason) {
      case 'timedOut':
        return { is: 'timedOut', leftBehind: this.#leftBehind, stderr }
      case 'tooMuchOutput':
        return { is: 'tooMuchOutput', limitBytes: this.#limits.outputBytes }
      case 'stopped':
        return { is: 'stopped' }
      case undefined:
        return undefined
    }
  }

  disarm(): void {
    this.#deadline?.cancel()
    this.#limits.signal.removeEventListener('abort', this.#stop)
  }
}
