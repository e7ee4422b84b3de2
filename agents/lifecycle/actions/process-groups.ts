import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { describeError } from '#common/errors/errors.ts'
import { killGroup, whyNotStarted } from '#common/process/process-group.ts'
import { guarded, whole } from './guard.ts'
import { Pipes, type GuardedPipe, type Pipe } from './pipes.ts'

export interface Command {
  /** Program and arguments; no shell reads them. */
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** What of a command is read, or written to; the rest is empty or thrown away. Standard error is always read. */
export type Wish = 'output' | 'input'

export interface CommandEnded {
  readonly code: number | null
  /** The signal that killed the command. */
  readonly by: string | null
}

/** A command that was started. */
export interface Started {
  /** Standard output, where that is the wish. */
  readonly output: Readable | null
  /** Standard input, where that is the wish. */
  readonly input: Writable | null
  readonly errors: Readable | null
  /** Rejects with a sentence where the command could not be started; resolves when the command has ended. */
  readonly ended: Promise<CommandEnded>
  /** As `ended`, when besides nobody has its outputs open any more. They must be read meanwhile. */
  readonly closed: Promise<CommandEnded>
  /** Closes this side, whatever process has the outputs open. */
  closePipes(): void
}

/**
 * The process groups of this agent's commands. Each command leads a group of its own, so that a SIGKILL reaches what
 * the command started too. A process that made itself a session (`setsid`) is out of reach.
 */
export class ProcessGroups {
  /** By what was started, the pid of the leader, which is the number of the group. */
  readonly #leaders = new Map<Started, number>()
  readonly #pipes: Pipes | undefined

  /** Without `pipes` a command has sockets, as Node gives them. */
  constructor(pipes: Pipes | undefined) {
    this.#pipes = pipes
  }

  /** Starts a command. The result is the command, or why there is none. */
  start({ argv, environment }: Command, wish: Wish): Started | string {
    const ends = this.#endsFor(wish)
    const pipes = [ends.input, ends.output, ends.errors].filter((end) => typeof end === 'object')
    const guard = typeof ends.input === 'object' ? ends.input.guardFd : undefined
    const [file = '', ...parameters] = guard === undefined ? argv : guarded(argv)
    try {
      const stdio = [ends.input, ends.output, ends.errors].map((end) => (typeof end === 'object' ? end.commandFd : end))
      const more = guard === undefined ? [] : ['pipe' as const, guard]
      const child = spawn(file, parameters, { env: { ...environment }, stdio: [...stdio, ...more], detached: true })
      return this.#keep(child, startedAs(file, child, ends))
    } catch (error) {
      // Node throws for a command that cannot be started at all, such as one with a NUL, and emits an error else.
      for (const { stream } of pipes) stream.destroy()
      return describeError(error)
    } finally {
      for (const { commandFd } of pipes) closeSync(commandFd)
      if (guard !== undefined) closeSync(guard)
    }
  }

  /** Gives up the pipes that no command has. */
  close(): void {
    this.#pipes?.close()
  }

  #endsFor(wish: Wish): Ends {
    return {
      input: wish === 'input' ? (this.#pipes?.toCommand() ?? 'pipe') : 'ignore',
      output: wish === 'output' ? (this.#pipes?.fromCommand() ?? 'pipe') : 'ignore',
      errors: this.#pipes?.fromCommand() ?? 'pipe',
    }
  }

  /** Kills all processes of a command's group. */
  kill(started: Started): void {
    killGroup(this.#leaders.get(started))
  }

  /** How many commands have not ended. */
  get running(): number {
    return this.#leaders.size
  }

  #keep(child: ChildProcess, started: Started): Started {
    const { pid } = child
    if (pid === undefined) return started
    // While a group has members, nobody else is given its number: the command that had the number before is gone.
    for (const [other, known] of this.#leaders) if (known === pid) this.#leaders.delete(other)
    this.#leaders.set(started, pid)
    const forget = (): void => void this.#leaders.delete(started)
    started.closed.then(forget, forget)
    return started
  }
}

/** A pipe of our own, one as Node gives, or none. */
type End = Pipe | 'pipe' | 'ignore'

interface Ends {
  readonly input: GuardedPipe | 'pipe' | 'ignore'
  readonly output: End
  readonly errors: End
}

function startedAs(file: string, child: ChildProcess, ends: Ends): Started {
  const input = typeof ends.input === 'object' ? ends.input.stream : child.stdin
  const output = typeof ends.output === 'object' ? ends.output.stream : child.stdout
  const errors = typeof ends.errors === 'object' ? ends.errors.stream : child.stderr
  // A command that reads no more is told by its end.
  input?.on('error', () => undefined)
  const ended = new Promise<CommandEnded>((resolve, reject) => {
    child.once('exit', (code, by) => resolve({ code, by }))
    child.once('error', (error) => reject(new Error(whyNotStarted(file, error))))
  })
  const closed = Promise.all([ended, ...[output, errors].map(closing)]).then(([end]) => end)
  // A caller may wait for one of them only.
  for (const promise of [ended, closed]) promise.catch(() => undefined)
  if (typeof ends.input === 'object') releaseGuard(child, { input: ends.input.stream, ended })
  const closePipes = (): void => {
    for (const stream of [input, output, errors]) stream?.destroy()
  }
  ended.catch(closePipes)
  return { input, output, errors, ended, closed, closePipes }
}

/** The guard of a command's input is told that all of the input was written, or that the command has ended. */
function releaseGuard(
  child: ChildProcess,
  { input, ended }: { readonly input: Writable; readonly ended: Promise<unknown> },
): void {
  const guard = child.stdio[3] as Writable | null | undefined
  guard?.on('error', () => undefined)
  const release = (): void => void guard?.end(whole)
  input.once('finish', release)
  ended.then(release, release)
}

function closing(stream: Readable | null): Promise<void> {
  return new Promise((resolve) => {
    if (stream === null || stream.closed) resolve()
    else stream.once('close', () => resolve())
  })
}
