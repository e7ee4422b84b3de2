import { readFile } from 'node:fs/promises'
import { PassThrough } from 'node:stream'
import { NodeSSH } from 'node-ssh'
import type { Clock, Timers } from '#common/ports/ports.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import type { FarSsh } from '../instance/config.ts'
import { algorithmsFor, fingerprintOf, knownKeys, typeOf } from './known-hosts.ts'

export interface Ran {
  readonly stdout: Buffer
  /** What was said beside it: a checksum, or a complaint. */
  readonly stderr: string
}

/** A script that goes on on the host until it is stopped, or the connection is lost. */
export interface Running {
  stop(): void
}

/** Scripts of POSIX sh on a far host. They go along on standard input: nothing is written there. */
export interface FarShell {
  readonly isConnected: boolean
  /** Why it is not; '' while it is. */
  readonly trouble: string
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

interface Ports {
  readonly clock: Clock
  readonly timers: Timers
}

const connectMs = 3_000
const runMs = 5_000
/** A host that was just refused, or did not answer, is not asked again at once. */
const restMs = 1_000
/** A connection over which nothing comes for three of these is lost. */
const keepaliveMs = 500
/** What a failover needs one after the other. sshd allows ten sessions, and one of them watches. */
const mostReady = 6
const waitingShell = 'exec sh -s'

/** One connection to one host, made when it is needed, and made again after a rest. */
export class SshShell implements FarShell {
  readonly #host: string
  readonly #config: FarSsh
  readonly #ports: Ports
  #ssh: NodeSSH | null = null
  #connecting: Promise<NodeSSH> | null = null
  #failed: { readonly error: RegentError; readonly atMs: number } | null = null
  #isClosed = false
  /** Shells that were begun and wait for a script. */
  #ready: Shell[] = []
  /** What ends with the connection. */
  readonly #waiting = new Set<() => void>()

  constructor(host: string, config: FarSsh, ports: Ports) {
    this.#host = host
    this.#config = config
    this.#ports = ports
  }

  get isConnected(): boolean {
    return this.#ssh !== null
  }

  get trouble(): string {
    return this.#ssh === null ? (this.#failed?.error.message ?? 'not connected yet') : ''
  }

  async run(script: string, args: readonly string[], { deadlineMs = runMs, input }: RunOptions = {}): Promise<Ran> {
    const ssh = await this.#connected()
    const ended = Promise.withResolvers<Ended>()
    const timer = this.#ports.timers.after(deadlineMs, () => {
      ended.reject(this.#down(`no answer within ${deadlineMs} ms`))
      this.#lose(ssh)
    })
    const lost = (): void => ended.reject(this.#down('the connection was lost'))
    this.#waiting.add(lost)
    try {
      const shell = input === undefined ? this.#takeShell(ssh) : begin(ssh, commandOf(script, args))
      shell.ended.then(ended.resolve, (error: unknown) => ended.reject(this.#down(describeError(error))))
      shell.stdin.end(input ?? withArguments(script, args))
      const { code, stderr } = await ended.promise
      if (code !== 0)
        throw new RegentError('REGENT_SSH_DOWN', `${this.#host} answered ${code ?? 'nothing'}: ${stderr.trim()}`)
      return { stdout: Buffer.concat(shell.stdout), stderr }
    } finally {
      timer.cancel()
      this.#waiting.delete(lost)
    }
  }

  async follow(script: string, args: readonly string[], { line, ended }: Heard): Promise<Running> {
    const ssh = await this.#connected()
    let rest = ''
    let isOver = false
    const over = (): void => {
      this.#waiting.delete(over)
      if (!isOver) ended()
      isOver = true
    }
    this.#waiting.add(over)
    const shell = this.#takeShell(ssh, (chunk) => {
      const lines = `${rest}${chunk.toString('utf8')}`.split('\n')
      rest = lines.pop() ?? ''
      for (const text of lines) if (!isOver) line(text)
    })
    shell.ended.then(over, over)
    shell.stdin.end(withArguments(script, args))
    return { stop: () => shell.stop() }
  }

  /** One that is there already: a login shell may take long to read its own files before it does anything. */
  #takeShell(ssh: NodeSSH, heard?: (chunk: Buffer) => void): Shell {
    const shell = this.#ready.shift() ?? begin(ssh, waitingShell)
    this.#makeReady(ssh)
    if (heard) shell.onStdout = heard
    return shell
  }

  #makeReady(ssh: NodeSSH): void {
    while (this.#ready.length < mostReady) this.#ready.push(begin(ssh, waitingShell))
  }

  close(): void {
    this.#isClosed = true
    if (this.#ssh) this.#lose(this.#ssh)
  }

  async #connected(): Promise<NodeSSH> {
    if (this.#ssh !== null) return this.#ssh
    const { clock } = this.#ports
    if (this.#isClosed) throw this.#down('closed')
    if (this.#failed !== null && clock.monotonicMs() - this.#failed.atMs < restMs) throw this.#failed.error
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = null))
    return this.#connecting
  }

  async #connect(): Promise<NodeSSH> {
    try {
      const ssh = await this.#logIn()
      this.#ssh = ssh
      this.#failed = null
      this.#makeReady(ssh)
      return ssh
    } catch (error) {
      const known = error instanceof RegentError ? error : this.#down(describeError(error))
      this.#failed = { error: known, atMs: this.#ports.clock.monotonicMs() }
      throw known
    }
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
        keepaliveCountMax: 3,
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
    return new RegentError(
      'REGENT_HOST_KEY',
      `${where} shows the ${typeOf(key)} key ${fingerprintOf(key)}, ${isAnother ? 'another one than' : 'and none is known for it in'} ${knownHostsFile}; nothing was sent there`,
    )
  }

  #lose(ssh: NodeSSH): void {
    if (this.#ssh === ssh) {
      this.#ssh = null
      this.#ready = []
      this.#failed = { error: this.#down('the connection was lost'), atMs: -Infinity }
      for (const end of [...this.#waiting]) end()
    }
    ssh.dispose()
  }

  #down(why: string): RegentError {
    return new RegentError('REGENT_SSH_DOWN', `${this.#config.user}@${this.#host}:${this.#config.port}: ${why}`)
  }
}

/** For a shell that reads its script. */
function withArguments(script: string, args: readonly string[]): string {
  return `set -- ${args.map(quoted).join(' ')}\n${script}\n`
}

/** Where standard input has something else to read than the script. */
function commandOf(script: string, args: readonly string[]): string {
  return `exec sh -c ${quoted(script)} sh ${args.map(quoted).join(' ')}`
}

interface Ended {
  readonly code: number | null
  readonly stderr: string
}

/** A program on the host that waits for what is written to it. */
interface Shell {
  readonly stdin: PassThrough
  readonly stdout: readonly Buffer[]
  onStdout: ((chunk: Buffer) => void) | null
  readonly ended: Promise<Ended>
  stop(): void
}

function begin(ssh: NodeSSH, command: string): Shell {
  const stdin = new PassThrough()
  const stdout: Buffer[] = []
  let stop = (): void => undefined
  const ended = ssh.execCommand(command, {
    stdin,
    noTrim: true,
    onChannel: (channel) => (stop = () => channel.close()),
    onStdout: (chunk) => {
      if (shell.onStdout) shell.onStdout(chunk)
      else stdout.push(chunk)
    },
  })
  // One that nobody has taken yet ends with its connection.
  ended.catch(() => undefined)
  const shell: Shell = { stdin, stdout, onStdout: null, ended, stop: () => stop() }
  return shell
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

function nothingIfMissing(error: NodeJS.ErrnoException): string {
  if (error.code !== 'ENOENT') throw error
  return ''
}
