import { spawnSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A pipe between this process and a command. */
export interface Pipe {
  /** The end of this process: to read from, or to write to. */
  readonly stream: Socket
  /** The command's end, to be closed once the command has it. */
  readonly commandFd: number
}

/** A pipe to a command, of which a process beside the command holds the end that is written to. */
export interface GuardedPipe extends Pipe {
  /** Another end to write to, to be closed once the guard has it. */
  readonly guardFd: number
}

const atATime = 32
/** Free pipes that are kept. Many calls at once may leave more; these are given up. */
export const mostFreePipes = 64
/** Linux: a file that is held, and not opened. Node has no name for it. */
const holdOnly = 0x200000

/**
 * Pipes as a shell makes them. What Node gives a child instead is a socket, and a script notices: `echo … >/dev/stderr`
 * fails with "No such device or address", and bash reads its start files when standard input is a socket. Node itself
 * makes no pipes; named ones, made by `mkfifo`, are the same to a command. Their names are removed at once: each is
 * held by a descriptor, opened through /proc, and used again once everybody has closed its ends.
 */
export class Pipes {
  readonly #folders: readonly string[]
  /** Descriptors of pipes that nobody has open. */
  readonly #free: number[] = []

  private constructor(folders: readonly string[]) {
    this.#folders = folders
  }

  /** Undefined where no named pipe can be made: without the program `mkfifo`, or without a folder to write to. */
  static open(folders: readonly string[] = [tmpdir(), '/dev/shm']): Pipes | undefined {
    const pipes = new Pipes(folders)
    return pipes.#make() ? pipes : undefined
  }

  /** A pipe from a command. Undefined where none can be opened. */
  fromCommand(): Pipe | undefined {
    return this.#open((held) => {
      const path = `/proc/self/fd/${held}`
      const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
      const commandFd = opened(() => openSync(path, constants.O_WRONLY), [fd])
      const stream = new Socket({ fd, readable: true, writable: false })
      let isDone = false
      // Only then has every writer closed the pipe.
      stream.once('end', () => (isDone = true))
      stream.once('close', () =>
        isDone && this.#free.length < mostFreePipes ? this.#free.push(held) : closeSync(held),
      )
      return { stream, commandFd }
    })
  }

  /** A pipe to a command. Not used again: the command may keep its end open for ever. */
  toCommand(): GuardedPipe | undefined {
    return this.#open((held) => {
      const path = `/proc/self/fd/${held}`
      // With an end open for both, neither of the others waits for its opposite.
      const both = openSync(path, constants.O_RDWR)
      const commandFd = opened(() => openSync(path, constants.O_RDONLY), [both])
      const guardFd = opened(() => openSync(path, constants.O_WRONLY), [both, commandFd])
      const ends = [both, commandFd, guardFd]
      const fd = opened(() => openSync(path, constants.O_WRONLY | constants.O_NONBLOCK), ends)
      closeSync(both)
      closeSync(held)
      return { stream: new Socket({ fd, readable: false, writable: true }), commandFd, guardFd }
    })
  }

  /** Gives up the pipes that nobody uses. */
  close(): void {
    for (const held of this.#free.splice(0)) closeSync(held)
  }

  #open<Made extends Pipe>(open: (held: number) => Made): Made | undefined {
    if (this.#free.length === 0) this.#make()
    const held = this.#free.pop()
    if (held === undefined) return undefined
    try {
      return open(held)
    } catch {
      // Too many files are open, for one: the caller has another way.
      this.#free.push(held)
      return undefined
    }
  }

  #make(): boolean {
    return this.#folders.some((parent) => {
      try {
        this.#free.push(...madeIn(parent))
        return true
      } catch {
        return false
      }
    })
  }
}

/** New pipes, held and without a name. Throws where they cannot be made. */
function madeIn(parent: string): readonly number[] {
  const folder = mkdtempSync(join(parent, 'regent-pipes-'))
  const held: number[] = []
  try {
    const paths = Array.from({ length: atATime }, (_, at) => join(folder, String(at)))
    const { status } = spawnSync('mkfifo', ['-m', '600', ...paths], { stdio: 'ignore' })
    if (status !== 0) throw new Error('mkfifo failed')
    for (const path of paths) held.push(opened(() => openSync(path, holdOnly), held))
    return held
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What `open` gives; where that throws, the others are closed first. */
function opened(open: () => number, others: readonly number[]): number {
  try {
    return open()
  } catch (error) {
    for (const fd of others) closeSync(fd)
    throw error
  }
}
