import type { Readable, Writable } from 'node:stream'
import { describeError } from '#common/errors/errors.ts'
import { collectTail } from './output.ts'
import type { Command, CommandEnded, Started } from './process-groups.ts'
import type { CommandWorld } from './run-command.ts'

/** How a streaming command ended; `stderr` is its last words. */
export type StreamEnd = { readonly ok: true } | { readonly ok: false; readonly why: string; readonly stderr: string }

export interface StreamLimits {
  /** Null for no limit: a large copy takes hours. */
  readonly deadlineMs: number | null
  /** Aborted when the agent stops: the command is killed then. */
  readonly signal: AbortSignal
}

/** A command whose standard output, or input, is a stream of data. */
export interface StreamingCommand<Data> {
  readonly data: Data
  /** Resolves when the command has ended and its pipes are closed. Never rejects. */
  readonly ended: Promise<StreamEnd>
  /** Kills the process group. `why` is told as the end of the command. */
  kill(why: string): void
}

const stderrBytes = 4_096
const afterKillMs = 500

/** Starts a command that others read from. The result is a text that says why where the start fails at once. */
export function streamFrom(
  command: Command,
  limits: StreamLimits,
  world: CommandWorld,
): StreamingCommand<Readable> | string {
  const started = world.groups.start(command, 'output')
  return typeof started === 'string' ? started : streaming(started, started.output, { limits, world })
}

/** Starts a command that others write to; the command’s own output is thrown away. */
export function streamInto(
  command: Command,
  limits: StreamLimits,
  world: CommandWorld,
): StreamingCommand<Writable> | string {
  const started = world.groups.start(command, 'input')
  return typeof started === 'string' ? started : streaming(started, started.input, { limits, world })
}

interface Parts {
  readonly limits: StreamLimits
  readonly world: CommandWorld
}

function streaming<Data>(
  started: Started,
  data: Data | null,
  { limits: { deadlineMs, signal }, world }: Parts,
): StreamingCommand<Data> | string {
  if (data === null) return 'it has no pipe'
  const stderr = collectTail(started.errors, stderrBytes)
  let killedFor: string | undefined
  const kill = (why: string): void => {
    killedFor ??= why
    world.groups.kill(started)
    world.timers.after(afterKillMs, () => started.closePipes())
  }
  const stop = (): void => kill('the agent is stopping')
  const late = (): void => kill(`it took longer than ${(deadlineMs ?? 0) / 1_000} s`)
  const deadline = deadlineMs === null ? undefined : world.timers.after(deadlineMs, late)
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  const ended = started.closed
    .then(
      (end) => killedFor ?? complaintAbout(end),
      (error: unknown) => `it could not be started: ${describeError(error)}`,
    )
    .then((why): StreamEnd => {
      deadline?.cancel()
      signal.removeEventListener('abort', stop)
      return why === undefined ? { ok: true } : { ok: false, why, stderr: stderr.text() }
    })
  return { data, ended, kill }
}

function complaintAbout({ code, by }: CommandEnded): string | undefined {
  if (by !== null) return `it was killed by ${by}`
  return code === 0 ? undefined : `it ended with exit code ${code}`
}
