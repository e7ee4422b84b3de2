import { readFile } from 'node:fs/promises'
import { NodeSSH } from 'node-ssh'
import type { World } from '#common/ports/ports.ts'
import { described, RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import type { FarSsh } from '../instance/config.ts'
import { algorithmsFor, fingerprintOf, knownKeys, typeOf } from './known-hosts.ts'
import type { Ran } from './worker.ts'
import { Workers } from './workers.ts'

/** A script that goes on on the host until it is stopped, or the connection is lost. */
export interface Running {
  stop(): void
}

/** Scripts of POSIX sh on a far host. They go along on standard input: nothing is written there. */
export interface FarShell {
  /** Why there is no connection; null while there is one, and before the first attempt. */
  readonly failure: RegentError | null
  /** Rejects with `REGENT_SSH_DOWN`, `REGENT_HOST_KEY`, and with what a script that failed has said. */
  run(script: string, args: readonly string[], how?: RunOptions): Promise<Ran>
  /** Calls `line` with each line that the script prints, and `ended` once. */
  follow(script: string, args: readonly string[], heard: Heard): Promise<Running>
  close(): void
}

export interface RunOptions {
  readonly deadlineMs?: number
  /** What the script reads from its standard input. */
  readonly input?: Buffer
}

export interface Heard {
  readonly line: (text: string) => void
  readonly ended: () => void
}

type Ports = Pick<World, 'clock' | 'timers' | 'random'>

const connectMs = 3_000
const runMs = 5_000
/** A host that was just refused, or did not answer, is not asked again at once. */
const restMs = 1_000
/** A host that is asked so often whether it is there is not forgotten by what lies between. */
const keepaliveMs = 500
/** A connection over which nothing at all came for so long is lost: what is asked last waits behind what is sent. */
const silentMs = 2_000
/** A connection that was lost within so long of its begin is not made again at once. */
const shortMs = 10_000

/** A connection to a host, made when it is needed, and made again after a rest. */
export class SshShell implements FarShell {
  readonly #host: string
  readonly #config: FarSsh
  readonly #ports: Ports
  #ssh: NodeSSH | null = null
  #connecting: Promise<Workers> | null = null
  #failed: { readonly error: RegentError; readonly atMs: number } | null = null
  #isClosed = false
  #workers: Workers | null = null
  /** What ends with the connection. */
  readonly #waiting = new Set<() => void>()
  #heardAtMs = -Infinity
  #connectedAtMs = -Infinity
  /** How many scripts run that say something every second. */
  #followed = 0

  constructor(host: string, config: FarSsh, ports: Ports) {
    this.#host = host
    this.#config = config
    this.#ports = ports
  }

  get failure(): RegentError | null {
    return this.#ssh === null ? (this.#failed?.error ?? null) : null
  }

  async run(script: string, args: readonly string[], { deadlineMs = runMs, input }: RunOptions = {}): Promise<Ran> {
    const workers = await this.#connected()
    const over = Promise.withResolvers<never>()
    over.promise.catch(() => undefined)
    const late = (): void => over.reject(new RegentError('REGENT_SSH_DOWN', say`no answer within ${deadlineMs} ms`))
    const timer = this.#ports.timers.after(deadlineMs, late)
    const lost = (): void => over.reject(new RegentError('REGENT_SSH_DOWN', say`the connection was lost`))
    this.#waiting.add(lost)
    try {
      return await workers.with((worker) => worker.run(script, args, input), over.promise)
    } catch (error) {
      throw this.#down(described(error))
    } finally {
      timer.cancel()
      this.#waiting.delete(lost)
    }
  }

  async follow(script: string, args: readonly string[], { line, ended }: Heard): Promise<Running> {
    const worker = await (await this.#connected()).open()
    let rest = ''
    let isOver = false
    const over = (): void => {
      if (isOver) return
      isOver = true
      this.#followed -= 1
      this.#waiting.delete(over)
      ended()
    }
    this.#followed += 1
    this.#heardAtMs = this.#ports.clock.monotonicMs()
    this.#waiting.add(over)
    void worker.gone.then(over)
    worker.follow(script, args, (chunk) => {
      const lines = `${rest}${chunk.toString('utf8')}`.split('\n')
      rest = lines.pop() ?? ''
      for (const text of lines) if (!isOver) line(text)
    })
    return { stop: () => worker.stop() }
  }

  close(): void {
    this.#isClosed = true
    if (this.#ssh) this.#lose(this.#ssh)
  }

  async #connected(): Promise<Workers> {
    if (this.#workers !== null) return this.#workers
    const { clock } = this.#ports
    if (this.#isClosed) throw this.#down(say`closed`)
    if (this.#failed !== null && clock.monotonicMs() - this.#failed.atMs < restMs) throw this.#failed.error
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = null))
    return this.#connecting
  }

  async #connect(): Promise<Workers> {
    const { clock, random, timers } = this.#ports
    try {
      const ssh = await this.#logIn()
      if (this.#isClosed) {
        ssh.dispose()
        throw this.#down(say`closed`)
      }
      const workers = new Workers(ssh, {
        heard: () => (this.#heardAtMs = clock.monotonicMs()),
        newMark: () => random.hex(12),
        timers,
      })
      this.#ssh = ssh
      this.#workers = workers
      this.#failed = null
      this.#connectedAtMs = clock.monotonicMs()
      this.#watch(ssh)
      // A worker that cannot be made now is made when it is needed, and says then why it cannot.
      workers.makeReady().catch(() => undefined)
      return workers
    } catch (error) {
      const known = error instanceof RegentError ? error : this.#down(described(error))
      this.#failed = { error: known, atMs: clock.monotonicMs() }
      throw known
    }
  }

  /** A script that is followed says something every second; before there is one each answer has its own deadline. */
  #watch(ssh: NodeSSH): void {
    const { clock, timers } = this.#ports
    const timer = timers.every(keepaliveMs, () => {
      if (this.#ssh !== ssh) timer.cancel()
      else if (this.#followed > 0 && clock.monotonicMs() - this.#heardAtMs > silentMs) this.#lose(ssh)
    })
  }

  async #logIn(): Promise<NodeSSH> {
    const { user, port, keyFile, knownHostsFile } = this.#config
    const keys = knownKeys(await readFile(knownHostsFile, 'utf8').catch(nothingIfMissing), this.#host, port)
    let refused: RegentError | null = null
    const ssh = new NodeSSH()
    try {
      await ssh.connect({
        host: this.#host,
        port,
        username: user,
        privateKey: await readFile(keyFile, 'utf8'),
        readyTimeout: connectMs,
        keepaliveInterval: keepaliveMs,
        // Answers to these wait behind a large piece on a slow line: `#watch` judges.
        keepaliveCountMax: 40,
        ...(keys.length === 0 ? {} : { algorithms: { serverHostKey: algorithmsFor(keys) as never } }),
        // Without it any host key would do.
        hostVerifier: (key: Buffer): boolean => {
          const isKnown = keys.some(({ base64 }) => base64 === key.toString('base64'))
          if (!isKnown) refused = this.#unknownKey(key, keys.length > 0)
          return isKnown
        },
      })
    } catch (error) {
      ssh.dispose()
      throw refused ?? error
    }
    // Small answers are waited for: Nagle's algorithm would hold them back.
    ssh.connection?.setNoDelay(true)
    ssh.connection?.on('error', () => this.#lose(ssh))
    ssh.connection?.on('close', () => this.#lose(ssh))
    return ssh
  }

  #unknownKey(key: Buffer, isAnother: boolean): RegentError {
    const { port, knownHostsFile } = this.#config
    const where = `${this.#host}:${port}`
    const known = isAnother ? say`another one than` : say`and none is known for it in`
    return new RegentError(
      'REGENT_HOST_KEY',
      say`${where} shows the ${typeOf(key)} key ${fingerprintOf(key)}, ${known} ${knownHostsFile}; nothing was sent there`,
    )
  }

  #lose(ssh: NodeSSH): void {
    if (this.#ssh === ssh) {
      this.#ssh = null
      this.#workers = null
      const nowMs = this.#ports.clock.monotonicMs()
      const atMs = nowMs - this.#connectedAtMs < shortMs ? nowMs : -Infinity
      this.#failed = { error: this.#down(say`the connection was lost`), atMs }
      for (const end of [...this.#waiting]) end()
    }
    ssh.dispose()
  }

  #down(why: Sayable): RegentError {
    return new RegentError('REGENT_SSH_DOWN', say`${this.#config.user}@${this.#host}:${this.#config.port}: ${why}`)
  }
}

function nothingIfMissing(error: NodeJS.ErrnoException): string {
  if (error.code !== 'ENOENT') throw error
  return ''
}
