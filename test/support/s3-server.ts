import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostPort } from '#common/text/host-port.ts'
import { freePort } from './free-port.ts'

export interface S3Login {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export const usualLogin: S3Login = { accessKeyId: 'tests-only-user', secretAccessKey: 'tests-only-secret' }

export interface S3ServerOptions {
  readonly login?: S3Login
  /** Address that it listens on; loopback unless given. */
  readonly host?: string
  /** The buckets of another server, which this one serves, too. */
  readonly folder?: string
  /** Files of PEM: the server speaks TLS. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string }
}

/** A versitygw of a test's own, on a loopback port below the ephemeral ones. A folder in its folder is a bucket. */
export class S3Server {
  readonly host: string
  readonly port: number
  readonly folder: string
  readonly #ownsFolder: boolean
  readonly #begin: () => ChildProcess
  #process: ChildProcess

  private constructor(
    { host, port }: { readonly host: string; readonly port: number },
    folder: string,
    ownsFolder: boolean,
    begin: () => ChildProcess,
  ) {
    this.host = host
    this.port = port
    this.folder = folder
    this.#ownsFolder = ownsFolder
    this.#begin = begin
    this.#process = begin()
  }

  /** @param program what `findVersitygw` found */
  static async start(program: string, options: S3ServerOptions = {}): Promise<S3Server> {
    const { login = usualLogin, tls, host = '127.0.0.1' } = options
    const port = await freePort()
    const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'regent-s3-')))
    const secure = tls === undefined ? [] : ['--cert', tls.certFile, '--key', tls.keyFile]
    const words = ['--port', hostPort(host, port), '--quiet', '--keep-alive', ...secure, 'posix', folder]
    const env = { PATH: '/usr/bin:/bin', ROOT_ACCESS_KEY: login.accessKeyId, ROOT_SECRET_KEY: login.secretAccessKey }
    const begin = () => spawn(program, words, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const server = new S3Server({ host, port }, folder, options.folder === undefined, begin)
    await server.#listening()
    return server
  }

  get endpoint(): string {
    return `http://${hostPort(this.host, this.port)}`
  }

  /** A new bucket with nothing in it. @returns its name */
  async makeBucket(name: string): Promise<string> {
    await mkdir(join(this.folder, name))
    return name
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  /** Ends as a machine without power does; its folder stays. */
  async die(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const gone = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await gone
  }

  /** On the same port, after `die`. */
  async startAgain(): Promise<void> {
    this.#process = this.#begin()
    await this.#listening()
  }

  async end(): Promise<void> {
    await this.die()
    if (this.#ownsFolder) await rm(this.folder, { recursive: true, force: true })
  }

  async #listening(): Promise<void> {
    const said: string[] = []
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.on('data', (bytes: Buffer) => void said.push(bytes.toString()))
    for (
      const started = performance.now();
      performance.now() - started < 60_000;
      await new Promise((resolve) => setTimeout(resolve, 50))
    ) {
      if (this.#process.exitCode !== null) throw new Error(`versitygw ended: ${said.join('').trim()}`)
      if (await isAnswering(this.host, this.port)) return
    }
    throw new Error(`the versitygw on port ${this.port} did not answer within 60 s: ${said.join('').trim()}`)
  }
}

function isAnswering(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => (socket.destroy(), resolve(true)))
    socket.once('error', () => resolve(false))
  })
}
