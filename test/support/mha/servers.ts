import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicMs } from '../monotonic.ts'
import { ownAddress, type OwnAddress } from '../own-address.ts'
import { patienceMs } from '../patience.ts'
import { Sshd } from '../sshd.ts'
import { StrangeServer, type Program } from '../strange-servers.ts'
import { said } from '../unpacked-packages.ts'
import type { WriterTarget } from '../writer-wire.ts'
import type { WrittenCluster } from '../written-cluster.ts'
import { mhaConfig, routeScript } from './config.ts'
import { complaintIn, isWatching, stepsIn, type MhaStep } from './log.ts'
import type { MhaPackages } from './packages.ts'
import { eachOne } from '../each-one.ts'

const port = 3306
const lookMs = 20
const accounts = {
  mha: { user: 'mha', password: 'a-managers-password' },
  replication: { user: 'repl', password: 'a-replicas-password' },
  client: { user: 'client', password: 'a-clients-password' },
}
/** As Regent's servers have them by default. */
const durable = ['--sync-binlog=1', '--innodb-flush-log-at-trx-commit=1', '--binlog-format=ROW']
const gtids = ['--gtid-mode=ON', '--enforce-gtid-consistency=ON']

export interface MhaOptions {
  readonly packages: MhaPackages
  readonly program: Program
  readonly sshRoot: string
  readonly pingSeconds: number
}

/** Three servers of MySQL 5.6, each behind an sshd of its own, and MHA's manager. Who is master is read in a file. */
export class MhaServers implements WrittenCluster {
  readonly #servers: readonly StrangeServer[]
  readonly #sshds: readonly Sshd[]
  readonly #home: string
  readonly #own: OwnAddress
  readonly #options: MhaOptions
  #manager: ChildProcess | undefined

  private constructor(
    servers: readonly StrangeServer[],
    places: { readonly home: string; readonly own: OwnAddress },
    options: MhaOptions,
  ) {
    this.#servers = servers
    this.#home = places.home
    this.#own = places.own
    this.#options = options
    this.#sshds = servers.map(({ folder, host }) => new Sshd(options.sshRoot, folder, host))
  }

  /** Resolves once the manager pings the master. */
  static async start(options: MhaOptions): Promise<MhaServers> {
    const home = await mkdtemp(join(tmpdir(), 'regent-mha-'))
    const own = await ownAddress()
    const places = [1, 2, 3].map((number) => ({
      ...{ host: own.host.replace(/\.1$/, `.${number}`), port, serverId: 300 + number },
      more: [...gtids, ...durable],
    }))
    const servers = new MhaServers(await StrangeServer.several(options.program, places), { home, own }, options)
    try {
      await servers.#writeFiles()
      await servers.#replicate()
      await servers.#startManager()
      return servers
    } catch (error) {
      await servers.end()
      throw error
    }
  }

  async primary(): Promise<string> {
    return (JSON.parse(await readFile(this.#routes, 'utf8')) as { primary: { host: string } }).primary.host
  }

  async replicas(): Promise<readonly string[]> {
    const primary = await this.primary()
    return this.#servers.map(({ host }) => host).filter((host) => host !== primary)
  }

  async login(): Promise<{ readonly user: string; readonly password: string }> {
    return accounts.client
  }

  async writerTarget(): Promise<WriterTarget> {
    return { routes: this.#routes, instances: this.#servers.map(({ host }) => ({ host, port })), pinned: null }
  }

  async sql(host: string, statement: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const server = this.#servers.find((one) => one.host === host)
    if (server === undefined) throw new Error(`no server at ${host}`)
    return server.sql(statement)
  }

  async value(host: string, statement: string): Promise<string> {
    return String(Object.values((await this.sql(host, statement))[0] ?? {})[0])
  }

  /** SIGKILL or SIGSTOP to the master's mysqld. Resolves to the moment just before, once a killed one is gone. */
  async loseMaster(event: 'kill' | 'freeze'): Promise<number> {
    const atMs = monotonicMs()
    await this.#servers[0]?.signal(event === 'kill' ? 'SIGKILL' : 'SIGSTOP')
    return atMs
  }

  /**
   * When the manager's log was first seen to tell of each step, from now on until the manager has ended. Rejects with
   * what the manager complains of where the failover did not succeed.
   */
  async failover(): Promise<ReadonlyMap<MhaStep, number>> {
    const seen = new Map<MhaStep, number>()
    const untilMs = monotonicMs() + patienceMs
    for (;;) {
      const status = this.#managerStatus()
      const log = await this.#log()
      for (const step of stepsIn(log)) if (!seen.has(step)) seen.set(step, monotonicMs())
      if (status === 0) return seen
      if (status !== undefined) throw new Error(`MHA's manager ended with ${status}: ${complaintIn(log)}`)
      if (monotonicMs() > untilMs) throw new Error(`MHA's manager goes on after ${patienceMs} ms: ${complaintIn(log)}`)
      await sleep(lookMs)
    }
  }

  async end(): Promise<void> {
    await this.#endManager()
    await eachOne(this.#sshds, (sshd) => sshd.stop())
    await eachOne(this.#servers, (server) => server.remove())
    this.#own.release()
    await rm(this.#home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }

  get #routes(): string {
    return join(this.#home, 'routes.json')
  }

  #log(): Promise<string> {
    return readFile(join(this.#home, 'manager.log'), 'utf8').catch(() => '')
  }

  async #writeFiles(): Promise<void> {
    const at = (name: string) => join(this.#home, name)
    const hosts = this.#servers.map(({ host }) => host)
    await mkdir(at('work'))
    await said(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', 'id'], this.#home)
    await writeFile(this.#routes, JSON.stringify({ primary: { host: hosts[0], port } }))
    await writeFile(at('route'), routeScript(this.#routes), { mode: 0o755 })
    const { pingSeconds } = this.#options
    const config = mhaConfig({
      ...{ hosts, pingSeconds, account: accounts.mha, replication: accounts.replication },
      ssh: { user: 'root', keyFile: at('id'), knownHostsFile: at('known_hosts') },
      ...{ workFolder: at('work'), logFile: at('manager.log'), ipScript: at('route') },
    })
    await writeFile(at('mha.cnf'), config, { mode: 0o600 })
  }

  async #replicate(): Promise<void> {
    await eachOne(this.#servers, (server) => server.start())
    await eachOne(this.#sshds, (sshd) => sshd.start(join(this.#home, 'id.pub')))
    const [source, ...replicas] = this.#servers
    const grants = [
      ['ALL', '*.*', accounts.mha],
      ['REPLICATION SLAVE', '*.*', accounts.replication],
      ['ALL', 'app.*', accounts.client],
    ] as const
    await source?.sql(
      'CREATE DATABASE app',
      ...grants.map(([what, on, { user, password }]) => {
        return `GRANT ${what} ON ${on} TO ${user}@'%' IDENTIFIED BY '${password}'`
      }),
    )
    const { user, password } = accounts.replication
    for (const replica of replicas)
      await replica.sql(
        `CHANGE MASTER TO MASTER_HOST='${source?.host}', MASTER_PORT=${port}, MASTER_USER='${user}',
           MASTER_PASSWORD='${password}', MASTER_AUTO_POSITION=1`,
        'START SLAVE',
        'SET GLOBAL read_only=ON',
      )
    const executed = String((await source?.sql('SELECT @@global.gtid_executed AS g'))?.[0]?.['g'])
    for (const replica of replicas) await replica.sql(`SELECT WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS('${executed}', 60)`)
  }

  async #startManager(): Promise<void> {
    const words = [`--conf=${join(this.#home, 'mha.cnf')}`, `--global_conf=${join(this.#home, 'none')}`]
    this.#manager = spawn(this.#options.packages.manager, words, {
      stdio: 'ignore',
      env: { ...process.env, ...this.#options.packages.env },
    })
    const untilMs = monotonicMs() + patienceMs
    while (!isWatching(await this.#log())) {
      if (this.#managerStatus() !== undefined || monotonicMs() > untilMs)
        throw new Error(`MHA's manager does not watch: ${complaintIn(await this.#log())}`)
      await sleep(lookMs)
    }
  }

  /** Undefined while it runs. */
  #managerStatus(): number | undefined {
    const { exitCode, signalCode } = this.#manager ?? {}
    return signalCode == null ? (exitCode ?? undefined) : 128
  }

  /** It leads a process group, in which its children are. */
  async #endManager(): Promise<void> {
    const manager = this.#manager
    if (manager?.pid === undefined || this.#managerStatus() !== undefined) return
    const ended = once(manager, 'exit')
    if (!signalled(-manager.pid)) manager.kill('SIGKILL')
    await ended
  }
}

function signalled(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}
