import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { describeError } from '../../../src/common/errors/errors.ts'

export interface Command {
  /** Program and arguments; no shell reads them. */
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
}

/**
 * The process groups of this agent's commands. Each command leads a group of its own, so that a SIGKILL reaches what
 * the command started too. A process that made itself a session (`setsid`) is out of reach.
 */
export class ProcessGroups {
  /** By the pid of the leader, which is the number of the group. */
  readonly #leaders = new Map<number, ChildProcess>()

  /** Starts a command. The result is the child, or why there is none. */
  start({ argv, environment }: Command, stdio: StdioOptions): ChildProcess | string {
    const [file = '', ...parameters] = argv
    try {
      const child = spawn(file, parameters, { env: { ...environment }, stdio, detached: true })
      const { pid } = child
      if (pid !== undefined) {
        this.#leaders.set(pid, child)
        child.once('close', () => this.#forget(pid, child))
      }
      return child
    } catch (error) {
      // Node throws for what it never starts, such as an argument with a NUL, and emits an error for the rest.
      return describeError(error)
    }
  }

  /** Kills all processes of a command's group. */
  kill(child: ChildProcess): void {
    // A number that another command has got since then is not that group any more.
    if (child.pid === undefined || this.#leaders.get(child.pid) !== child) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }

  /** How many commands have not ended. */
  get running(): number {
    return this.#leaders.size
  }

  #forget(pid: number, child: ChildProcess): void {
    if (this.#leaders.get(pid) === child) this.#leaders.delete(pid)
  }
}

/** Why a command could not be started, in words. */
export function whyNotStarted(file: string, error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return `${file} does not exist, or its interpreter does not`
  if (error.code === 'EACCES') return `${file} may not be executed`
  return describeError(error)
}
