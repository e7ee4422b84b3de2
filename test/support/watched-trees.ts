import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runRegent } from './cluster.ts'
import { until } from './bare-instance.ts'
import { ownAddress, type OwnAddress } from './own-address.ts'
import type { Namespaces } from './namespaces.ts'
import { clientOf, standIn, type Answered } from './orchestrator-commands.ts'
import { freePort } from './free-port.ts'
import { accountStatements, newestMysql, passwordFile, StrangeServer } from './strange-servers.ts'
import { eachOne } from './each-one.ts'

const firstPort = 13_306
/** What an account needs beside, for what orchestrator’s interface changes at servers. */
export const rightsToChange = 'REPLICATION_SLAVE_ADMIN, SYSTEM_VARIABLES_ADMIN, REPLICATION_APPLIER, RELOAD'

/** Trees of somebody’s servers, by whom each follows: `{ shop: [null, 0, 1, 1] }`. */
export type Trees = Readonly<Record<string, readonly (number | null)[]>>

interface TreesOptions {
  /** By default they have. */
  readonly hasGtids?: boolean
  /** Each server is a machine of its name there; by default all are on this one. */
  readonly network?: Namespaces
}

interface Ports {
  readonly manager: number
  readonly orchestrator: number
}

/** Servers of somebody else that replicate in trees, watched by one manager, with orchestrator’s interface. */
export class WatchedTrees {
  readonly home: string
  readonly #address: OwnAddress
  readonly #servers: ReadonlyMap<string, StrangeServer>
  readonly #trees: Trees
  readonly #ports: Ports
  readonly #hasGtids: boolean

  private constructor(
    where: { readonly home: string; readonly address: OwnAddress; readonly ports: Ports },
    servers: ReadonlyMap<string, StrangeServer>,
    trees: Trees,
    hasGtids: boolean,
  ) {
    this.home = where.home
    this.#address = where.address
    this.#ports = where.ports
    this.#servers = servers
    this.#trees = trees
    this.#hasGtids = hasGtids
  }

  static async start(trees: Trees, { hasGtids = true, network }: TreesOptions = {}): Promise<WatchedTrees> {
    const home = await mkdtemp(join(tmpdir(), 'regent-trees-'))
    const address = await ownAddress()
    const program = await newestMysql()
    const names = Object.entries(trees).flatMap(([cluster, follows]) => follows.map((_, at) => `${cluster}-${at}`))
    const more = hasGtids ? ['--gtid-mode=ON', '--enforce-gtid-consistency=ON'] : []
    const options = names.map((name, at) => ({
      ...{ port: firstPort + at, serverId: at + 1, more },
      host: network?.address(name) ?? address.host,
      wrapper: network?.wrapper(name) ?? [],
    }))
    const servers = await StrangeServer.several(program, options)
    const named = new Map(names.flatMap((name, at) => (servers[at] ? [[name, servers[at]] as const] : [])))
    const where = { home, address, ports: { manager: await freePort(), orchestrator: await freePort() } }
    const all = new WatchedTrees(where, named, trees, hasGtids)
    try {
      await all.#begin()
      return all
    } catch (error) {
      await all.end()
      throw error
    }
  }

  at(name: string): StrangeServer {
    const server = this.#servers.get(name)
    if (server === undefined) throw new Error(`there is no server ${name}`)
    return server
  }

  /** As orchestrator’s clients call it. */
  key(name: string): string {
    const { host, port } = this.at(name)
    return `${host}:${port}`
  }

  get orchestratorPort(): number {
    return this.#ports.orchestrator
  }

  client(program = standIn): (...words: readonly string[]) => Promise<Answered> {
    return clientOf(program, this.#ports.orchestrator)
  }

  /** What is said of servers, by their names: `shop-1<shop-0`. */
  named(text: string): string {
    return [...this.#servers.keys()].reduce((all, name) => all.replaceAll(this.key(name), name), text)
  }

  async ask(path: string): Promise<{ readonly Code: string; readonly Message: string; readonly Details: unknown }> {
    const response = await fetch(`http://127.0.0.1:${this.#ports.orchestrator}/api/${path}`)
    return (await response.json()) as { Code: string; Message: string; Details: unknown }
  }

  async regent(...words: readonly string[]) {
    return runRegent(this.home, words, { deadlineMs: 120_000 })
  }

  /** Everybody may do what interfaces ask for, from now on. */
  async allow(): Promise<void> {
    for (const server of this.#servers.values())
      await server.sql('SET sql_log_bin = 0', `GRANT ${rightsToChange} ON *.* TO 'regent'@'%'`)
  }

  /** @param count only so many of its servers are named; all of them by default */
  async adopt(cluster: string, flags: readonly string[] = [], count = Infinity): Promise<void> {
    const follows = (this.#trees[cluster] ?? []).slice(0, count)
    const password = await passwordFile(this.home, 'looks')
    const replication = await passwordFile(this.home, 'follows')
    const file = join(this.home, `${cluster}.yaml`)
    const hosts = follows.map((_, at) => `  - ${this.key(`${cluster}-${at}`)}`).join('\n')
    const accounts = `mysql: { user: regent, passwordFile: ${password} }\nreplication: { user: repl, passwordFile: ${replication} }`
    await writeFile(file, `cluster: ${cluster}\n${accounts}\nhosts:\n${hosts}\n`)
    const ran = await this.regent('adopt', file, '--port', String(this.#ports.manager), ...flags)
    if (ran.code !== 0) throw new Error(`${ran.stdout}\n${ran.stderr}`)
  }

  /** The manager that watches, killed and not started again. */
  async killManager(): Promise<void> {
    const { pid } = JSON.parse(await readFile(join(this.home, '_adopted', 'manager.json'), 'utf8')) as { pid: number }
    process.kill(pid, 'SIGKILL')
  }

  get listen(): readonly string[] {
    return ['--orchestrator-listen', `127.0.0.1:${this.#ports.orchestrator}`]
  }

  /** Who replicates from whom, by what the servers themselves say: `shop-1<shop-0`. */
  async links(cluster: string): Promise<readonly string[]> {
    const names = [...this.#servers.keys()].filter((name) => name.startsWith(`${cluster}-`))
    const all = await Promise.all(
      names.map(async (name) => {
        const [row] = await this.at(name)
          .sql('SHOW REPLICA STATUS')
          .catch(() => [])
        return row === undefined
          ? []
          : [`${name}<${this.named(`${String(row['Source_Host'])}:${String(row['Source_Port'])}`)}`]
      }),
    )
    return all.flat()
  }

  /** Writes at a server arrive at all the others. */
  async spreads(from: string, ...to: readonly string[]): Promise<void> {
    const value = `${from}-${performance.now()}`
    await this.at(from).sql(`INSERT INTO t.t (word) VALUES ('${value}')`)
    for (const name of to)
      await until(async () => {
        const rows = await this.at(name)
          .sql(`SELECT 1 FROM t.t WHERE word = '${value}'`)
          .catch(() => [])
        return rows.length > 0
      }, `what ${from} wrote arrives at ${name}`)
  }

  async end(): Promise<void> {
    for (const cluster of Object.keys(this.#trees)) await this.regent('adopt', 'remove', cluster).catch(() => undefined)
    await eachOne(this.#servers.values(), (server) => server.remove())
    await rm(this.home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
    this.#address.release()
  }

  async #begin(): Promise<void> {
    await eachOne(this.#servers.values(), (server) => server.start())
    for (const server of this.#servers.values()) await server.sql('SET sql_log_bin = 0', ...accountStatements())
    for (const [cluster, follows] of Object.entries(this.#trees)) {
      for (const [at, source] of follows.entries())
        if (source !== null) await this.#replicate(`${cluster}-${source}`, `${cluster}-${at}`)
      await this.at(`${cluster}-0`).sql(
        'CREATE DATABASE t',
        'CREATE TABLE t.t (id INT AUTO_INCREMENT PRIMARY KEY, word VARCHAR(60))',
      )
    }
  }

  /** As the manual says, by somebody who has never heard of Regent. */
  async #replicate(source: string, replica: string): Promise<void> {
    const from = this.at(source)
    const [row] = this.#hasGtids ? [] : await from.sql('SHOW BINARY LOG STATUS')
    const place = row
      ? `SOURCE_LOG_FILE = '${String(row['File'])}', SOURCE_LOG_POS = ${String(row['Position'])}`
      : 'SOURCE_AUTO_POSITION = 1'
    await this.at(replica).sql(
      `CHANGE REPLICATION SOURCE TO SOURCE_HOST = '${from.host}', SOURCE_PORT = ${from.port}, SOURCE_USER = 'repl',
        SOURCE_PASSWORD = 'follows', ${place}, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1`,
      'SET GLOBAL replica_net_timeout = 4',
      'START REPLICA',
      'SET GLOBAL read_only = ON',
    )
  }
}
