import { spawn, type ChildProcess } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { cp, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readProcessStat } from '#common/process/process-stat.ts'
import { freePort } from '../support/free-port.ts'
import { patienceMs } from '../support/patience.ts'
import type { ControlPlanePrograms } from './control-plane-programs.ts'

/** What it takes to use an API server, also from another process. */
export interface ApiServerAccess {
  readonly server: string
  /** PEM. */
  readonly ca: string
  /** Of somebody who may do everything, and be anybody. */
  readonly token: string
  /** The path of a kubeconfig file that says the same. */
  readonly kubeconfig: string
  /** Where etcd is, `http://…`. */
  readonly etcd: string
}

type Program = 'etcd' | 'kube-apiserver'

interface Layout {
  readonly programs: ControlPlanePrograms
  readonly folder: string
  readonly token: string
  /** Further flags of kube-apiserver. */
  readonly flags: readonly string[]
  readonly ports: { readonly etcd: number; readonly peers: number; readonly api: number }
}

const readyWithinMs = patienceMs
/**
 * An instance of a cluster on the machine itself takes them from 127.24.0.0/16; nothing else of this project is here.
 */
const host = '127.0.0.1'

/**
 * A kube-apiserver and its etcd, on loopback ports below the ephemeral ones, with all they write in a temporary folder.
 * Admission and authorization are as anywhere; there are no controllers and no nodes, so nothing changes but what a
 * test changes.
 */
export class ApiServer {
  readonly #layout: Layout
  readonly #running = new Map<Program, ChildProcess>()
  #ca = ''

  private constructor(layout: Layout) {
    this.#layout = layout
  }

  /** Other tests take ports too: where one was taken between the look and the start, it is begun again with others. */
  static async start(programs: ControlPlanePrograms, flags: readonly string[] = []): Promise<ApiServer> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await ApiServer.#startOnce(programs, flags)
      } catch (error) {
        if (tries === 3 || !/address already in use/.test(String(error))) throw error
      }
    }
  }

  static async #startOnce(programs: ControlPlanePrograms, flags: readonly string[]): Promise<ApiServer> {
    const folder = await mkdtemp(join(tmpdir(), 'regent-api-server-'))
    const server = new ApiServer({
      programs,
      folder,
      flags,
      token: randomBytes(16).toString('hex'),
      ports: { etcd: await freePort(), peers: await freePort(), api: await freePort() },
    })
    try {
      await server.#prepare()
      await server.begin('etcd')
      await server.begin('kube-apiserver')
    } catch (error) {
      await server.end()
      throw error
    }
    return server
  }

  get access(): ApiServerAccess {
    const { folder, token, ports } = this.#layout
    return {
      server: `https://${host}:${ports.api}`,
      ca: this.#ca,
      token,
      kubeconfig: join(folder, 'kubeconfig'),
      etcd: `http://${host}:${ports.etcd}`,
    }
  }

  /** Of the programs that run. */
  get pids(): readonly number[] {
    return [...this.#running.values()].flatMap(({ pid }) => pid ?? [])
  }

  /**
   * Starts one of the two; of kube-apiserver it also waits until it is ready. Its address, certificate and data are
   * those of before.
   */
  async begin(program: Program): Promise<void> {
    const { programs, folder } = this.#layout
    const log = openSync(join(folder, `${program}.log`), 'a')
    const [command, args] =
      program === 'etcd' ? [programs.etcd, this.#etcdFlags()] : [programs.kubeApiserver, this.#apiServerFlags()]
    // A quarter of what a start computes is the collection of garbage, which memory here is enough to put off.
    const child = spawn(command, args, { stdio: ['ignore', log, log], env: { ...process.env, GOGC: '400' } })
    closeSync(log)
    this.#running.set(program, child)
    // Where nobody comes to end it.
    const abandoned = (): void => void child.kill('SIGKILL')
    process.once('exit', abandoned)
    child.once('exit', () => process.off('exit', abandoned))
    await once(child, 'spawn')
    if (program === 'kube-apiserver') await this.#ready(child)
  }

  /** SIGSTOP. Resolves once the kernel has stopped it. */
  async freeze(program: Program): Promise<void> {
    const child = this.#running.get(program)
    child?.kill('SIGSTOP')
    while (child?.pid !== undefined && readProcessStat(child.pid)?.state !== 'T')
      await new Promise((resolve) => setTimeout(resolve, 5))
  }

  thaw(program: Program): void {
    this.#running.get(program)?.kill('SIGCONT')
  }

  /** Copies etcd's data away. Both programs must be down, as with `restore`. */
  async backUp(): Promise<void> {
    const { folder } = this.#layout
    await cp(join(folder, 'etcd'), join(folder, 'backup'), { recursive: true })
  }

  async restore(): Promise<void> {
    const { folder } = this.#layout
    await rm(join(folder, 'etcd'), { recursive: true })
    await rename(join(folder, 'backup'), join(folder, 'etcd'))
  }

  /** SIGKILL, as a crash does it. */
  async kill(program: Program): Promise<void> {
    const child = this.#running.get(program)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  async end(): Promise<void> {
    await this.kill('kube-apiserver')
    await this.kill('etcd')
    await rm(this.#layout.folder, { recursive: true, force: true })
  }

  async #prepare(): Promise<void> {
    const { folder, token } = this.#layout
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    await writeFile(join(folder, 'accounts.key'), privateKey.export({ type: 'sec1', format: 'pem' }), { mode: 0o600 })
    await writeFile(join(folder, 'tokens.csv'), `${token},admin,admin,"system:masters"\n`, { mode: 0o600 })
  }

  #etcdFlags(): string[] {
    const { folder, ports } = this.#layout
    const [clients, peers] = [`http://${host}:${ports.etcd}`, `http://${host}:${ports.peers}`]
    // Nothing here must survive the machine; killed processes lose nothing by it.
    return [
      '--data-dir',
      join(folder, 'etcd'),
      '--listen-client-urls',
      clients,
      '--advertise-client-urls',
      clients,
      '--listen-peer-urls',
      peers,
      '--initial-advertise-peer-urls',
      peers,
      '--initial-cluster',
      `default=${peers}`,
      '--unsafe-no-fsync',
      '--log-level',
      'warn',
    ]
  }

  #apiServerFlags(): string[] {
    const { folder, ports, flags } = this.#layout
    const key = join(folder, 'accounts.key')
    const where = [
      '--etcd-servers',
      `http://${host}:${ports.etcd}`,
      '--bind-address',
      host,
      '--advertise-address',
      host,
      '--secure-port',
      `${ports.api}`,
      '--cert-dir',
      join(folder, 'certificates'),
    ]
    const who = [
      '--token-auth-file',
      join(folder, 'tokens.csv'),
      '--authorization-mode',
      'Node,RBAC',
      '--service-account-issuer',
      'https://kubernetes.default.svc',
      '--service-account-key-file',
      key,
      '--service-account-signing-key-file',
      key,
    ]
    // Loopback can be no endpoint of Service `kubernetes`, which nobody here uses.
    return [
      ...where,
      ...who,
      '--service-cluster-ip-range',
      '10.96.0.0/16',
      '--endpoint-reconciler-type',
      'none',
      ...flags,
    ]
  }

  async #ready(child: ChildProcess): Promise<void> {
    let last = 'no answer'
    for (
      const started = performance.now();
      performance.now() - started < readyWithinMs;
      await new Promise((resolve) => setTimeout(resolve, 50))
    ) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(
          `kube-apiserver ended with ${child.exitCode ?? child.signalCode}; it said: ${await this.#lastWords()}`,
        )
      last = await this.#askReady()
      if (last === 'ok') return this.#writeKubeconfig()
    }
    throw new Error(
      `kube-apiserver was not ready within ${readyWithinMs / 1_000} s: ${last}; it said: ${await this.#lastWords()}`,
    )
  }

  async #askReady(): Promise<string> {
    // It makes its certificate at its first start, and keeps it.
    this.#ca ||= await readFile(join(this.#layout.folder, 'certificates', 'apiserver.crt'), 'utf8').catch(() => '')
    if (this.#ca === '') return 'no certificate'
    return new Promise((resolve) => {
      const asked = get(
        `${this.access.server}/readyz`,
        { ca: this.#ca, headers: { authorization: `Bearer ${this.#layout.token}` }, agent: false, timeout: 2_000 },
        (answer) => {
          const chunks: Buffer[] = []
          answer.on('data', (chunk: Buffer) => chunks.push(chunk))
          answer.on('end', () => resolve(Buffer.concat(chunks).toString()))
        },
      )
      asked.on('timeout', () => asked.destroy(new Error('no answer')))
      asked.on('error', (error) => resolve(error.message))
    })
  }

  async #writeKubeconfig(): Promise<void> {
    const { server, ca, token, kubeconfig } = this.access
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'test', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
      ],
      users: [{ name: 'admin', user: { token } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
      'current-context': 'test',
    }
    await writeFile(kubeconfig, JSON.stringify(config), { mode: 0o600 })
  }

  async #lastWords(): Promise<string> {
    const log = await readFile(join(this.#layout.folder, 'kube-apiserver.log'), 'utf8')
    return log.slice(-2_000)
  }
}
