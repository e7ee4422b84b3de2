import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Connection } from 'mysql2/promise'
import { stringify } from 'yaml'
import type { Hooks } from '#failover/protocol/hook.ts'
import { passwordFor } from '#common/mysql/account-password.ts'
import { runCommand } from '#common/process/run-command.ts'
import { layoutOf, logPath } from '#local/folder/state-layout.ts'
import { readBook, remoteAgentsProcess } from '#local/processes/process-book.ts'
import { signalProcess } from '#local/processes/process-identity.ts'
import { runRegent, TestCluster, type Ran } from './cluster.ts'
import { monotonicMs } from './monotonic.ts'
import { ownAddress, type OwnAddress } from './own-address.ts'
import { patienceMs } from './patience.ts'
import { clusterSecret } from './prepared-folders/secrets.ts'
import { freePort } from './free-port.ts'
import { Road } from './road.ts'
import { Sshd, unpackedSshd } from './sshd.ts'
import { newestMysql, StrangeServer } from './strange-servers.ts'
import type { Writer } from './writer.ts'
import { eachOne } from './each-one.ts'

export const strangersPassword = 'a-strangers-password'
const roadPort = 2_222
const sqlRoadPort = 3_307

/** One host of somebody else: a mysqld, and an sshd. */
export class StrangerHost {
  readonly server: StrangeServer
  readonly sshd: Sshd | undefined
  /** By which its sshd is reached, where that was asked for. */
  road: Road | undefined
  /** By which its mysqld is reached, by replicas too, where that was asked for. */
  sqlRoad: Road | undefined

  constructor(server: StrangeServer, sshRoot: string | undefined) {
    this.server = server
    this.sshd = sshRoot === undefined ? undefined : new Sshd(sshRoot, server.folder, server.host)
  }

  get address(): string {
    return this.server.host
  }

  get folder(): string {
    return this.server.folder
  }

  get startCommand(): string {
    return this.server.startCommand
  }

  async start(publicKeyFile?: string): Promise<void> {
    await this.server.start()
    if (publicKeyFile !== undefined) await this.sshd?.start(publicKeyFile)
  }

  async root(): Promise<Connection> {
    return this.server.session()
  }

  async sql(...statements: readonly string[]): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return this.server.sql(...statements)
  }

  async pid(): Promise<number> {
    return this.server.pid()
  }

  async kill(): Promise<void> {
    await this.server.signal('SIGKILL')
  }

  async end(): Promise<void> {
    const { road, sqlRoad, sshd, server } = this
    try {
      await eachOne([road?.end(), sqlRoad?.end(), sshd?.stop()], async (end) => end)
    } finally {
      await server.remove()
    }
  }
}

export interface StrangersOptions {
  /** Nothing but SQL reaches any host, or those of these ordinals. */
  readonly ssh?: false | readonly number[]
  /** SQL goes by a proxy to each host. */
  readonly sqlRoads?: true
  /** SSH goes by a proxy to each host. */
  readonly roads?: true
  readonly mode?: 'async' | 'semisync'
  readonly failover?: object
  /** By the folder where everything of the test lies. */
  readonly hooks?: (home: string) => Hooks
  readonly reseed?: 'automatic'
  readonly start?: false
  /** Its owner has semi-synchronous replication on. */
  readonly semiSync?: true
  /** The hosts file names the authority of each server’s certificate. */
  readonly authorities?: true
}

/** Three servers that replicate as somebody set them up; the first takes writes. */
export class Strangers {
  readonly home: string
  readonly hosts: readonly StrangerHost[]
  readonly #own: OwnAddress
  readonly #options: StrangersOptions

  private constructor(home: string, hosts: readonly StrangerHost[], own: OwnAddress, options: StrangersOptions) {
    this.home = home
    this.hosts = hosts
    this.#own = own
    this.#options = options
  }

  static async start(options: StrangersOptions = {}): Promise<Strangers> {
    const home = await mkdtemp(join(tmpdir(), 'regent-strangers-'))
    const own = await ownAddress()
    const sshRoot = options.ssh === false ? undefined : await unpackedSshd()
    if (options.ssh !== false && sshRoot === undefined) throw new Error('no sshd can be had here')
    await runCommand(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', join(home, 'id')], { deadlineMs: 10_000 })
    const places = [1, 2, 3].map((number) => ({
      ...{ host: own.host.replace(/\.1$/, `.${number}`), port: 3306, serverId: 100 + number },
      more: ['--gtid-mode=ON', '--enforce-gtid-consistency=ON', '--log-bin=mysql-bin', '--relay-log=relay-of-mine'],
    }))
    const servers = await StrangeServer.several(await newestMysql(), places)
    const hosts = servers.map((server, at) => new StrangerHost(server, hasSsh(options, at) ? sshRoot : undefined))
    const strangers = new Strangers(home, hosts, own, options)
    try {
      await eachOne(hosts, (host) => host.start(join(home, 'id.pub')))
      for (const host of hosts) {
        const at = (port: number) => ({ host: host.address, port })
        if (options.roads === true) host.road = await Road.open(at(roadPort), at(22))
        if (options.sqlRoads === true) host.sqlRoad = await Road.open(at(sqlRoadPort), at(3306))
      }
      await strangers.#replicate()
      await strangers.#writeFiles()
      return strangers
    } catch (error) {
      await strangers.end()
      throw error
    }
  }

  get hostsFile(): string {
    return join(this.home, 'hosts.yaml')
  }

  authorityFile(instance: string): string {
    return join(this.home, `${instance}-ca.pem`)
  }

  get knownHostsFile(): string {
    return join(this.home, 'known_hosts')
  }

  async regent(...words: readonly string[]): Promise<Ran> {
    return runRegent(this.home, words, { deadlineMs: patienceMs })
  }

  /** By the hosts file, or by what was adopted. */
  async manage({ file = true }: { readonly file?: boolean } = {}): Promise<TestCluster> {
    const port = String(await freePort())
    const by = file ? ['--file', this.hostsFile] : []
    const ran = await this.regent('adopt', 'manage', 'shop', ...by, '--port', port)
    if (ran.code !== 0) throw new Error(`adopt manage ended with ${ran.code}:\n${ran.stdout}\n${ran.stderr}`)
    return TestCluster.at(this.home, 'shop', async (_layout, _cluster, instance, fault) => {
      const host = this.hostOf(instance)
      if (fault === 'kill-mysqld') await host.kill()
      else if (fault === 'freeze-mysqld') await host.server.signal('SIGSTOP')
      else throw new Error(`${fault} is not for servers of somebody else`)
      return ''
    })
  }

  /** To all agents at once: they are one process. Agents that are stopped see and do nothing. */
  async signalAgents(signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    const { processes } = await readBook(layoutOf(join(this.home, 'shop')))
    const agents = processes[remoteAgentsProcess]
    if (agents === undefined || !signalProcess(agents, signal)) throw new Error('no agents run')
  }

  /** What all agents said. */
  async agentsLog(): Promise<string> {
    return readFile(logPath(layoutOf(join(this.home, 'shop')), remoteAgentsProcess), 'utf8')
  }

  /**
   * A hundred writes that clients heard OK for are on the primary's host alone, and then its mysqld is killed. The
   * cluster is paused, and its agents are stopped. Resolves to the name of the dead one.
   *
   * @param most it has a hundred writes before these too, which the third one has not
   */
  async endWithTail(cluster: TestCluster, writer: Writer, most?: string): Promise<string> {
    const { primary, instances } = await cluster.view()
    if (primary === null) throw new Error('nobody is primary')
    const ran = await cluster.regent('pause', 'shop')
    if (ran.code !== 0) throw new Error(ran.stderr)
    await this.signalAgents('SIGSTOP')
    const replicas = instances.flatMap(({ name }) => (name === primary ? [] : name))
    for (const deaf of most === undefined ? [replicas] : [replicas.filter((name) => name !== most), [most]]) {
      for (const name of deaf) await this.hostOf(name).sql('STOP REPLICA IO_THREAD')
      const deafMs = monotonicMs()
      await cluster.until('a hundred writes since', async () => writer.begunSince(deafMs).length > 100)
    }
    await this.hostOf(primary).kill()
    return primary
  }

  /** After `endWithTail`. Resolves to the moment in which the agents go on. */
  async resume(cluster: TestCluster): Promise<number> {
    await this.signalAgents('SIGCONT')
    const resumedMs = monotonicMs()
    const ran = await cluster.regent('resume', 'shop')
    if (ran.code !== 0) throw new Error(ran.stderr)
    return resumedMs
  }

  hostOf(instance: string): StrangerHost {
    const host = this.hosts[Number(instance.split('-').at(-1))]
    if (host === undefined) throw new Error(`no host of ${instance}`)
    return host
  }

  async end(): Promise<void> {
    await this.regent('adopt', 'watch', 'shop', '--file', this.hostsFile).catch(() => undefined)
    await this.regent('adopt', 'remove', 'shop').catch(() => undefined)
    await eachOne(this.hosts, (host) => host.end())
    this.#own.release()
    await rm(this.home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }

  /** Every host's key as it is now. */
  async writeKnownHosts(): Promise<void> {
    const port = this.#options.roads === true ? roadPort : undefined
    const lines = await Promise.all(this.hosts.map(async ({ sshd }) => (await sshd?.knownHost(port)) ?? ''))
    await writeFile(this.knownHostsFile, lines.join(''))
  }

  async #replicate(): Promise<void> {
    const [source, ...replicas] = this.hosts
    const account = (user: string, word: string) => `CREATE USER ${user}@'%' IDENTIFIED BY '${word}'`
    await source?.sql(
      account('keeper', strangersPassword),
      `GRANT ALL ON *.* TO keeper@'%' WITH GRANT OPTION`,
      account('repl', strangersPassword),
      `GRANT REPLICATION SLAVE ON *.* TO repl@'%'`,
      account('client', passwordFor(clusterSecret, 'client')),
      account('admin', passwordFor(clusterSecret, 'admin')),
      'CREATE DATABASE app',
      `GRANT ALL ON app.* TO client@'%'`,
      `GRANT ALL ON *.* TO admin@'%'`,
      `REVOKE SYSTEM_USER ON *.* FROM admin@'%'`,
    )
    await this.#setSemiSync()
    for (const replica of replicas)
      await replica.sql(
        'RESET BINARY LOGS AND GTIDS',
        `CHANGE REPLICATION SOURCE TO SOURCE_HOST='${source?.address}', SOURCE_USER='repl', SOURCE_PASSWORD='${strangersPassword}',
           SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1`,
        'START REPLICA',
        'SET GLOBAL read_only=ON',
      )
    for (const replica of replicas)
      await replica.sql(
        `SELECT WAIT_FOR_EXECUTED_GTID_SET('${String((await source?.sql('SELECT @@gtid_executed AS g'))?.[0]?.['g']).replaceAll('\n', '')}', 60)`,
      )
  }

  async #setSemiSync(): Promise<void> {
    if (this.#options.semiSync !== true) return
    for (const [at, host] of this.hosts.entries())
      await host.sql(
        'SET sql_log_bin = 0',
        `INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'`,
        `INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'`,
        'SET GLOBAL rpl_semi_sync_source_timeout = 7777',
        `SET GLOBAL rpl_semi_sync_${at === 0 ? 'source' : 'replica'}_enabled = ON`,
      )
  }

  async #writeFiles(): Promise<void> {
    const passwordFile = join(this.home, 'password')
    await writeFile(passwordFile, `${strangersPassword}\n`, { mode: 0o600 })
    const layout = layoutOf(join(this.home, 'shop'))
    await mkdir(layout.secrets, { recursive: true, mode: 0o700 })
    await writeFile(layout.accountSecret, `${clusterSecret}\n`, { mode: 0o600 })
    await this.writeKnownHosts()
    const {
      mode = 'async',
      failover = {},
      reseed = 'manual',
      hooks,
      start,
      roads,
      sqlRoads,
      authorities,
    } = this.#options
    const nameOf = (ordinal: number) => `shop-${ordinal}`
    for (const [ordinal, { folder }] of this.hosts.entries())
      await copyFile(join(folder, 'data', 'ca.pem'), this.authorityFile(nameOf(ordinal)))
    const login = {
      user: 'root',
      keyFile: join(this.home, 'id'),
      knownHostsFile: this.knownHostsFile,
      ...(roads === true && { port: roadPort }),
    }
    await writeFile(
      this.hostsFile,
      stringify({
        cluster: 'shop',
        mode,
        mysql: { user: 'keeper', passwordFile },
        failover: { windowMs: 0, ...failover },
        reseed,
        ...(hooks && { hooks: hooks(this.home) }),
        hosts: this.hosts.map((host, at) => ({
          host: host.address,
          ...(authorities === true && {
            mysql: { user: 'keeper', passwordFile, caFile: this.authorityFile(nameOf(at)) },
          }),
          ...(sqlRoads === true && { port: sqlRoadPort }),
          ...(hasSsh(this.#options, at) && { ssh: login }),
          ...(start === false ? {} : { start: host.startCommand }),
        })),
      }),
    )
  }
}

function hasSsh({ ssh }: StrangersOptions, ordinal: number): boolean {
  return ssh !== false && ssh?.includes(ordinal) !== true
}
