import { randomBytes } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Clock, Timer, Timers } from '#common/ports/ports.ts'
import { endingFrom, type Ending, type RunningProgram } from './running-program.ts'

/** The launcher forks at once; a node that swaps takes longer. */
const startMs = 10_000
/** The kernel shows that mysqld ended; only how is read here, at most a tenth later than it ran. */
const endedEveryMs = { least: 100, most: 1_000 } as const
const heartbeatMs = 1_000

/** What the launcher reads: of mysqld, and of what runs beside. */
type Fifo = 'word' | 'beside'

interface Ports {
  readonly clock: Clock
  readonly timers: Timers
}

/**
 * The launcher in the mysql container of a pod (`src/kube/pods/launcher.sh` says what passes through its folder):
 * programs are started there, since another container's files are not the agent's, and on the agent's word alone.
 */
export class Launcher {
  readonly #folder: string
  readonly #ports: Ports

  constructor(folder: string, ports: Ports) {
    this.#folder = folder
    this.#ports = ports
  }

  /**
   * Starts a program there. Rejects with `REGENT_LAUNCHER_SILENT` while there is no launcher: its container may not
   * have begun yet, or begins again.
   */
  run(command: readonly string[]): Promise<RunningProgram> {
    return this.#start(command, 'word')
  }

  /** The same while another program runs, one after the other. Rejects as `run` does. */
  runBeside(command: readonly string[]): Promise<RunningProgram> {
    return this.#start(command, 'beside')
  }

  async #start(command: readonly string[], fifo: Fifo): Promise<RunningProgram> {
    const wrong = command.find((argument) => argument.includes('\n'))
    if (wrong !== undefined)
      throw new RegentError(
        'REGENT_INTERNAL',
        say`an argument of ${command[0]} has two lines, which the launcher cannot be told`,
      )
    const id = randomBytes(8).toString('hex')
    await this.#put(`${id}.command`, command.map((argument) => `${argument}\n`).join(''))
    try {
      await this.#say(`run ${id}\n`, fifo)
      const pid = Number(await this.#appears(`${id}.pid`, this.#ports.clock.monotonicMs() + startMs))
      return { pid, ended: this.#ended(id) }
    } catch (error) {
      await rm(join(this.#folder, `${id}.command`), { force: true })
      throw error
    }
  }

  /** What a program prints there before it ends, and how it ends. Rejects as `run` does. */
  async answerOf(command: readonly string[]): Promise<{ readonly status: number | null; readonly output: string }> {
    const path = join(this.#folder, `${randomBytes(8).toString('hex')}.output`)
    try {
      const { ended } = await this.run(['sh', '-c', 'exec "$@" >"$0" 2>&1', path, ...command])
      const { status } = await ended
      return { status, output: await readFile(path, 'utf8') }
    } finally {
      await rm(path, { force: true })
    }
  }

  /** Tells it, from now on, that the agent lives: of one that is silent it does not wait for long when the pod ends. */
  beat(): Timer {
    let beats = 0
    const beat = () => void this.#put('heartbeat', `${process.pid} ${(beats += 1)}\n`).catch(() => undefined)
    beat()
    return this.#ports.timers.every(heartbeatMs, beat)
  }

  /** The pod was told to end: its containers stop once the launcher is told that they may. */
  async isTerminating(): Promise<boolean> {
    return (await this.#read('terminating')) !== undefined
  }

  /** Its mysqld has ended for good. */
  async quit(): Promise<void> {
    await this.#say('quit\n', 'word')
  }

  async #say(word: string, to: Fifo): Promise<void> {
    try {
      // Fails rather than waits where nobody reads.
      await using fifo = await open(join(this.#folder, to), constants.O_WRONLY | constants.O_NONBLOCK)
      await fifo.write(word)
    } catch (error) {
      throw new RegentError(
        'REGENT_LAUNCHER_SILENT',
        say`no launcher listens in ${this.#folder}: ${described(error)}`,
        { cause: error },
      )
    }
  }

  async #appears(name: string, untilMs: number): Promise<string> {
    for (;;) {
      const text = await this.#read(name)
      if (text !== undefined) return text
      if (this.#ports.clock.monotonicMs() > untilMs)
        throw new RegentError(
          'REGENT_LAUNCHER_SILENT',
          say`the launcher in ${this.#folder} started nothing within ${startMs / 1_000} s`,
        )
      await this.#ports.timers.sleep(5)
    }
  }

  async #ended(id: string): Promise<Ending> {
    const { clock, timers } = this.#ports
    const beganMs = clock.monotonicMs()
    for (;;) {
      const text = await this.#read(`${id}.ended`)
      if (text !== undefined) {
        for (const kind of ['command', 'pid', 'ended']) await rm(join(this.#folder, `${id}.${kind}`), { force: true })
        return endingFrom(Number(text))
      }
      await timers.sleep(
        Math.min(endedEveryMs.most, Math.max(endedEveryMs.least, (clock.monotonicMs() - beganMs) / 10)),
      )
    }
  }

  /**
   * Asked for many times a second what is hardly ever there: a promise that fails costs thirty times what the look
   * does.
   */
  async #read(name: string): Promise<string | undefined> {
    const path = join(this.#folder, name)
    if (!existsSync(path)) return undefined
    try {
      return (await readFile(path, 'utf8')).trim()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  /** Whole, or not at all. */
  async #put(name: string, text: string): Promise<void> {
    const path = join(this.#folder, name)
    await writeFile(`${path}.new`, text, { mode: 0o600 })
    await rename(`${path}.new`, path)
  }
}
