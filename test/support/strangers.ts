import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConnection, type Connection } from 'mysql2/promise'
import { stringify } from 'yaml'
import { passwordFor } from '#common/mysql/account-password.ts'
import { runCommand } from '#common/process/run-command.ts'
import { findMysql, type MysqlBinaries } from '#local/packages/mysql-binaries.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import { readBook } from '#local/processes/process-book.ts'
import { signalProcess } from '#local/processes/process-identity.ts'
import { remoteAgentsProcess } from '#local/supervisor/supervisor.ts'
import { runRegent, TestCluster, type Ran } from './cluster.ts'
import { monotonicMs } from './monotonic.ts'
import { ownAddress, type OwnAddress } from './own-address.ts'
import { patienceMs } from './patience.ts'
import { clusterSecret } from './prepared-folders/secrets.ts'
import { freePort } from './redis-server.ts'
import { Road } from './road.ts'
import { Sshd, unpackedSshd } from './sshd.ts'
import type { Writer } from './writer.ts'

const password = 'a-strangers-password'
const roadPort = 2_222

/** One host of somebody else: a mysqld by an options file of its own, and an sshd. */
export class StrangerHost {
  readonly address: string
  readonly folder: string
  readonly sshd: Sshd | undefined
  /** By which its sshd is reached, where that was asked for. */
  road: Road | undefined
  readonly #binaries: MysqlBinaries
  readonly #number: number

  constructor(
    at: { readonly address: string; readonly folder: string; readonly number: number },
    binaries: MysqlBinaries,
    sshRoot: string | undefined,
  ) {
    this.address = at.address
    this.folder = at.folder
    this.#number = at.number
    this.#binaries = binaries
    this.sshd = sshRoot === undefined ? undefined : new Sshd(sshRoot, at.folder, at.address)
  }

  /** As its owner starts it. */
  get startCommand(): string {
    return `sh ${join(this.folder, 'start-mysqld')}`
  }

  /** @param template an initialised data folder, without a uuid of its own */
  async make(publicKeyFile: string, template: string): Promise<void> {
    const { folder } = this
    await mkdir(folder, { recursive: true })
    await cp(template, join(folder, 'data'), { recursive: true })
    const { pluginDir, shareDir, mysqld } = this.#binaries
    await writeFile(
      join(folder, 'my.cnf'),
      [
        '[mysqld]',
        `datadir=${folder}/data`,
        `socket=${folder}/mysql.sock`,
        `pid-file=${folder}/mysqld.pid`,
        `log-error=${folder}/error.log`,
        `plugin-dir=${pluginDir}`,
        `lc-messages-dir=${shareDir}`,
        `character-sets-dir=${join(shareDir, 'charsets')}`,
        ...(process.getuid?.() === 0 ? ['user=root'] : []),
        `bind-address=${this.address}`,
        'port=3306',
        'mysqlx=OFF',
        `server-id=${100 + this.#number}`,
        'gtid-mode=ON',
        'enforce-gtid-consistency=ON',
        'log-bin=mysql-bin',
        'relay-log=relay-of-mine',
        'secure-file-priv=NULL',
        'innodb-redo-log-capacity=33554432',
        '',
      ].join('\n'),
    )
    const command = [...mysqld, `--defaults-file=${folder}/my.cnf`].map((word) => `'${word}'`).join(' ')
    await writeFile(join(folder, 'start-mysqld'), `setsid ${command} </dev/null >/dev/null 2>&1 &\n`)
    await this.start()
    await this.sshd?.start(publicKeyFile)
  }

  async start(): Promise<void> {
    await runCommand(['sh', '-c', this.startCommand], { deadlineMs: 10_000 })
    const until = performance.now() + patienceMs
    for (;;) {
      const session = await this.root().catch(() => undefined)
      if (session !== undefined) return session.destroy()
      if (performance.now() > until) throw new Error(`no mysqld at ${this.address}; see ${this.folder}/error.log`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  async root(): Promise<Connection> {
    const session = await createConnection({ socketPath: join(this.folder, 'mysql.sock'), user: 'root' })
    session.on('error', () => undefined)
    return session
  }

  async sql(...statements: readonly string[]): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const session = await this.root()
    try {
      let found: unknown = []
      for (const statement of statements) [found] = await session.query(statement)
      return Array.isArray(found) ? (found as Readonly<Record<string, unknown>>[]) : []
    } finally {
      session.destroy()
    }
  }

  async pid(): Promise<number> {
    return Number(await readFile(join(this.folder, 'mysqld.pid'), 'utf8'))
  }

  async kill(): Promise<void> {
    process.kill(await this.pid(), 'SIGKILL')
  }

  async end(): Promise<void> {
    await this.kill().catch(() => undefined)
    await this.road?.end()
    await this.sshd?.stop()
  }
}

export interface StrangersOptions {
  readonly ssh?: false
  /** SSH goes by a proxy to each host. */
  readonly roads?: true
  readonly mode?: 'async' | 'semisync'
  readonly failover?: object
  readonly start?: false
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
    const binaries = await strangersMysql()
    const hosts = [1, 2, 3].map(
      (number) =>
        new StrangerHost(
          { address: own.host.replace(/\.1$/, `.${number}`), folder: join(home, `host-${number}`), number },
          binaries,
          sshRoot,
        ),
    )
    const strangers = new Strangers(home, hosts, own, options)
    try {
      const template = await initialised(binaries, home)
      await Promise.all(hosts.map((host) => host.make(join(home, 'id.pub'), template)))
      if (options.roads === true)
        for (const host of hosts)
          host.road = await Road.open({ host: host.address, port: roadPort }, { host: host.address, port: 22 })
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

  get knownHostsFile(): string {
    return join(this.home, 'known_hosts')
  }

  async regent(...words: readonly string[]): Promise<Ran> {
    return runRegent(this.home, words, { deadlineMs: patienceMs })
  }

  async manage(): Promise<TestCluster> {
    const port = String(await freePort())
    const ran = await this.regent('adopt', 'manage', 'shop', '--file', this.hostsFile, '--port', port)
    if (ran.code !== 0) throw new Error(`adopt manage ended with ${ran.code}:\n${ran.stdout}\n${ran.stderr}`)
    return TestCluster.at(this.home, 'shop', async (_layout, _cluster, instance, fault) => {
      if (fault !== 'kill-mysqld') throw new Error(`${fault} is not for servers of somebody else`)
      await this.hostOf(instance).kill()
      return ''
    })
  }

  /** To all agents at once: they are one process. Agents that are stopped see and do nothing. */
  async signalAgents(signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    const { processes } = await readBook(layoutOf(join(this.home, 'shop')))
    const agents = processes[remoteAgentsProcess]
    if (agents === undefined || !signalProcess(agents, signal)) throw new Error('no agents run')
  }

  /**
   * A hundred writes that clients heard OK for are on the primary's host alone, and then its mysqld is killed. The
   * cluster is paused, and its agents are stopped. Resolves to the name of the dead one.
   */
  async endWithTail(cluster: TestCluster, writer: Writer): Promise<string> {
    const { primary, instances } = await cluster.view()
    if (primary === null) throw new Error('nobody is primary')
    const ran = await cluster.regent('pause', 'shop')
    if (ran.code !== 0) throw new Error(ran.stderr)
    await this.signalAgents('SIGSTOP')
    for (const { name } of instances) if (name !== primary) await this.hostOf(name).sql('STOP REPLICA IO_THREAD')
    const deafMs = monotonicMs()
    await cluster.until('a hundred writes that nobody received', async () => writer.begunSince(deafMs).length > 100)
    await this.hostOf(primary).kill()
    return primary
  }

  hostOf(instance: string): StrangerHost {
    const host = this.hosts[Number(instance.split('-').at(-1))]
    if (host === undefined) throw new Error(`no host of ${instance}`)
    return host
  }

  async end(): Promise<void> {
    await this.regent('local', 'down', 'shop', '--purge').catch(() => undefined)
    await Promise.all(this.hosts.map((host) => host.end()))
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
      account('keeper', password),
      `GRANT ALL ON *.* TO keeper@'%' WITH GRANT OPTION`,
      account('repl', password),
      `GRANT REPLICATION SLAVE ON *.* TO repl@'%'`,
      account('client', passwordFor(clusterSecret, 'client')),
      account('admin', passwordFor(clusterSecret, 'admin')),
      'CREATE DATABASE app',
      `GRANT ALL ON app.* TO client@'%'`,
      `GRANT ALL ON *.* TO admin@'%'`,
      `REVOKE SYSTEM_USER ON *.* FROM admin@'%'`,
    )
    for (const replica of replicas)
      await replica.sql(
        'RESET BINARY LOGS AND GTIDS',
        `CHANGE REPLICATION SOURCE TO SOURCE_HOST='${source?.address}', SOURCE_USER='repl', SOURCE_PASSWORD='${password}',
           SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1`,
        'START REPLICA',
        'SET GLOBAL read_only=ON',
      )
    for (const replica of replicas)
      await replica.sql(
        `SELECT WAIT_FOR_EXECUTED_GTID_SET('${String((await source?.sql('SELECT @@gtid_executed AS g'))?.[0]?.['g']).replaceAll('\n', '')}', 60)`,
      )
  }

  async #writeFiles(): Promise<void> {
    const passwordFile = join(this.home, 'password')
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
    const layout = layoutOf(join(this.home, 'shop'))
    await mkdir(layout.secrets, { recursive: true, mode: 0o700 })
    await writeFile(layout.accountSecret, `${clusterSecret}\n`, { mode: 0o600 })
    await this.writeKnownHosts()
    const { mode = 'async', failover = {}, ssh, start, roads } = this.#options
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
        ...(ssh === false ? {} : { ssh: login }),
        failover: { windowMs: 0, ...failover },
        hosts: this.hosts.map((host) => ({
          host: host.address,
          ...(start === false ? {} : { start: host.startCommand }),
        })),
      }),
    )
  }
}

async function initialised({ mysqld, shareDir }: MysqlBinaries, home: string): Promise<string> {
  const dataDir = join(home, 'template')
  const asRoot = process.getuid?.() === 0 ? ['--user=root'] : []
  const options = [
    '--no-defaults',
    '--secure-file-priv=NULL',
    ...asRoot,
    `--datadir=${dataDir}`,
    `--lc-messages-dir=${shareDir}`,
  ]
  const made = await runCommand(
    [...mysqld, ...options, `--character-sets-dir=${join(shareDir, 'charsets')}`, '--initialize-insecure'],
    { deadlineMs: patienceMs },
  )
  if (!made.ok) throw new Error(made.failure)
  await rm(join(dataDir, 'auto.cnf'))
  return dataDir
}

/** Not the one with prepared folders that clusters of tests take. */
async function strangersMysql(): Promise<MysqlBinaries> {
  const named = process.env['REGENT_MYSQLD']
  delete process.env['REGENT_MYSQLD']
  try {
    return await findMysql()
  } finally {
    if (named !== undefined) process.env['REGENT_MYSQLD'] = named
  }
}
