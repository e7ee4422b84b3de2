import { spawn } from 'node:child_process'
import { monotonicMs } from './monotonic.ts'

const pollMs = 20

/**
 * Commands one after the other, each in a process group of its own: a Ctrl-C at the terminal reaches this process
 * alone, which decides what becomes of them.
 */
export class Commands {
  readonly #graceMs: number
  #stopped = false
  /** The process group of what runs. */
  #running: number | undefined
  #gone: Promise<void> | undefined

  /** @param graceMs what is told to end has so long before it is killed */
  constructor(graceMs = 10_000) {
    this.#graceMs = graceMs
  }

  get stopped(): boolean {
    return this.#stopped
  }

  /**
   * Resolves to the exit status, once nothing of it is left where it was stopped. After `stop` nothing is begun any
   * more but what a caller insists on, which nobody stops.
   */
  async run(
    [program = '', ...words]: readonly string[],
    { env = {}, insists = false }: { readonly env?: NodeJS.ProcessEnv; readonly insists?: boolean } = {},
  ): Promise<number> {
    if (this.#stopped && !insists) return 1
    const child = spawn(program, words, {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...env },
      detached: true,
    })
    const ended = new Promise<number>((resolve, reject) =>
      child.once('error', reject).once('exit', (status) => resolve(status ?? 1)),
    )
    if (insists) return ended
    this.#running = child.pid
    const status = await ended
    this.#running = undefined
    await this.#gone
    return status
  }

  /**
   * Ends what runs, with all that it started: SIGTERM, and SIGKILL for what is left of it later. Once: being told again
   * changes nothing.
   */
  stop(): void {
    if (this.#stopped) return
    this.#stopped = true
    if (this.#running !== undefined) this.#gone = this.#end(this.#running)
  }

  async #end(group: number): Promise<void> {
    signalGroup(group, 'SIGTERM')
    for (
      const until = monotonicMs() + this.#graceMs;
      monotonicMs() < until;
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    )
      if (!signalGroup(group, 0)) return
    signalGroup(group, 'SIGKILL')
  }
}

/** Whether there is still somebody in it. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch {
    return false
  }
}
