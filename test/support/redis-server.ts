import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findRedis } from '#local/packages/redis-binaries.ts'
import { freePort } from './free-port.ts'
import { patienceMs } from './patience.ts'

/** Settings under which the store accepts a Redis. */
export const safeSettings: Readonly<Record<string, string>> = {
  appendonly: 'yes',
  appendfsync: 'always',
  'maxmemory-policy': 'noeviction',
}

/** A Redis of a test's own, on a loopback port below the ephemeral ones, with its data in a temporary folder. */
export class RedisServer {
  readonly port: number
  readonly folder: string
  readonly #program: readonly string[]
  #settings: Readonly<Record<string, string>>
  #process: ChildProcess | undefined

  private constructor(
    program: readonly string[],
    port: number,
    folder: string,
    settings: Readonly<Record<string, string>>,
  ) {
    this.#program = program
    this.port = port
    this.folder = folder
    this.#settings = settings
  }

  static async start(settings: Readonly<Record<string, string>> = safeSettings): Promise<RedisServer> {
    const { redisServer } = await findRedis()
    const server = new RedisServer(
      redisServer,
      await freePort(),
      await mkdtemp(join(tmpdir(), 'regent-redis-')),
      settings,
    )
    await server.begin()
    return server
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Starts the process, with other settings where they are given, and waits until it answers. */
  async begin(settings = this.#settings): Promise<void> {
    this.#settings = settings
    const lines = Object.entries({
      port: `${this.port}`,
      bind: '127.0.0.1',
      dir: this.folder,
      save: '""',
      ...settings,
    }).map(([name, value]) => `${name} ${value}\n`)
    const [command = '', ...args] = this.#program
    this.#process = spawn(command, [...args, '-'], { stdio: ['pipe', 'ignore', 'ignore'] })
    this.#process.stdin?.end(lines.join(''))
    await answering(this.port, this.#process)
  }

  signal(name: NodeJS.Signals): void {
    this.#process?.kill(name)
  }

  /** SIGKILL, as a crash does it. */
  async kill(): Promise<void> {
    if (this.#process?.exitCode !== null || this.#process.signalCode !== null) return
    const gone = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await gone
  }

  async end(): Promise<void> {
    await this.kill()
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** Waits until it answers anything but "loading"; an error about the password is an answer. */
async function answering(port: number, process: ChildProcess): Promise<void> {
  for (
    const started = performance.now();
    performance.now() - started < patienceMs;
    await new Promise((resolve) => setTimeout(resolve, 20))
  ) {
    if (process.exitCode !== null) throw new Error(`redis-server ended with ${process.exitCode}`)
    const answer = await ask(port)
    if (answer !== '' && !answer.startsWith('-LOADING')) return
  }
  throw new Error(`the Redis on port ${port} did not answer within ${patienceMs / 1_000} s`)
}

function ask(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    socket.setTimeout(1_000, () => socket.destroy())
    socket.once('data', (data) => {
      resolve(data.toString())
      socket.destroy()
    })
    socket.once('error', () => resolve(''))
    socket.once('close', () => resolve(''))
  })
}
