import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import { findMysql, type MysqlBinaries } from '#local/packages/mysql-binaries.ts'
import { runCommand } from '#common/process/run-command.ts'

const rootLogin: { readonly user: string; readonly password?: string } = { user: 'root' }

/** One mysqld without an agent, reached by its socket only, whose life and death a test decides. */
export class LoneServer {
  readonly folder: string
  readonly dataDir: string
  readonly errorLog: string
  readonly #binaries: MysqlBinaries
  readonly #login: { readonly user: string; readonly password?: string }
  #process: ChildProcess | undefined

  private constructor(folder: string, binaries: MysqlBinaries, dataDir = join(folder, 'data'), login = rootLogin) {
    this.folder = folder
    this.dataDir = dataDir
    this.errorLog = join(folder, 'error.log')
    this.#binaries = binaries
    this.#login = login
  }

  /** A server over a data directory that is there, whose sessions are of this account; not started. */
  static async over(dataDir: string, login: { readonly user: string; readonly password: string }): Promise<LoneServer> {
    return new LoneServer(await mkdtemp(join(tmpdir(), 'regent-lone-')), await findMysql(), dataDir, login)
  }

  /** A new server with an empty data directory of its own; not started. */
  static async create(): Promise<LoneServer> {
    const binaries = await findMysql()
    const server = new LoneServer(await mkdtemp(join(tmpdir(), 'regent-lone-')), binaries)
    await cp(await initialized(binaries), server.dataDir, { recursive: true })
    // Each copy takes a server_uuid of its own.
    await rm(join(server.dataDir, 'auto.cnf'))
    return server
  }

  /** Starts it and gives a session of `root`. It keeps GTIDs, and semi-sync is loaded but off. */
  async start(...options: readonly string[]): Promise<Connection> {
    const [program = '', ...prefix] = this.#binaries.mysqld
    const args = [
      ...prefix,
      ...commonOptions(this.#binaries, this.dataDir),
      ...runOptions,
      `--socket=${this.#socket()}`,
      `--log-error=${this.errorLog}`,
      ...options,
    ]
    this.#process = spawn(program, args, {
      stdio: 'ignore',
      env: { ...process.env, MYSQLD_PARENT_PID: String(process.pid) },
    })
    return this.connect()
  }

  get pid(): number {
    return this.#process?.pid ?? 0
  }

  /** Another session of `root`; waits for the server to come up. Sessions end with the server. */
  async connect(): Promise<Connection> {
    for (;;) {
      if (this.#process === undefined || hasEnded(this.#process))
        throw new Error(`mysqld has ended; see ${this.errorLog}`)
      try {
        const connection = await createConnection({
          socketPath: this.#socket(),
          ...this.#login,
          multipleStatements: true,
        })
        // A session that loses its server is what these tests are about.
        connection.on('error', () => undefined)
        return connection
      } catch (error) {
        if (!isNotUpYet(error)) throw error
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }

  /** Sends a signal without waiting. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal)
  }

  /** Waits until the process is gone; its sessions end with it. */
  async ended(): Promise<void> {
    const child = this.#process
    if (child !== undefined && !hasEnded(child)) await once(child, 'exit')
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.ended()
  }

  async remove(): Promise<void> {
    await this.kill()
    await rm(this.folder, { recursive: true, force: true })
  }

  /** What mysqlbinlog prints of these files, rows decoded. */
  async mysqlbinlog(...files: readonly string[]): Promise<string> {
    const result = await runCommand([...this.#binaries.mysqlbinlog, '--no-defaults', '-v', ...files], {
      deadlineMs: 60_000,
    })
    if (!result.ok) throw new Error(result.failure)
    return result.stdout
  }

  #socket(): string {
    return join(this.folder, 'mysql.sock')
  }
}

const runOptions = [
  '--skip-networking',
  '--mysqlx=OFF',
  '--server-id=1',
  '--gtid-mode=ON',
  '--enforce-gtid-consistency=ON',
  '--sync-binlog=1',
  '--log-bin=binlog',
  '--persisted-globals-load=OFF',
  '--plugin-load-add=semisync_source.so',
  '--rpl-semi-sync-source-timeout=3153600000000',
  '--innodb-redo-log-capacity=8388608',
]

function commonOptions(binaries: MysqlBinaries, dataDir: string): readonly string[] {
  const asRoot = process.getuid?.() === 0 ? ['--user=root'] : []
  return [
    '--no-defaults',
    ...asRoot,
    `--datadir=${dataDir}`,
    `--plugin-dir=${binaries.pluginDir}`,
    `--lc-messages-dir=${binaries.shareDir}`,
    `--character-sets-dir=${join(binaries.shareDir, 'charsets')}`,
    '--secure-file-priv=NULL',
  ]
}

let template: Promise<string> | undefined

/** A data directory that was initialized once for this test process; removed when it ends. */
function initialized(binaries: MysqlBinaries): Promise<string> {
  template ??= initialize(binaries)
  return template
}

async function initialize(binaries: MysqlBinaries): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'regent-lone-template-'))
  const dataDir = join(folder, 'data')
  await mkdir(dataDir)
  const result = await runCommand(
    [
      ...binaries.mysqld,
      ...commonOptions(binaries, dataDir),
      '--initialize-insecure',
      '--innodb-redo-log-capacity=8388608',
    ],
    { deadlineMs: 60_000 },
  )
  if (!result.ok) throw new Error(result.failure)
  return dataDir
}

/** Removes the initialized data directory; for `afterAll`. */
export async function removeTemplate(): Promise<void> {
  if (template !== undefined) await rm(join(await template, '..'), { recursive: true, force: true })
  template = undefined
}

export async function rows<Row>(connection: Connection, sql: string): Promise<readonly Row[]> {
  const [found] = await connection.query<RowDataPacket[]>(sql)
  return found as unknown as readonly Row[]
}

/** The single value of a query's only row, as text. */
export async function value(connection: Connection, sql: string): Promise<string> {
  const [row] = await rows<Record<string, unknown>>(connection, sql)
  return String(Object.values(row ?? {})[0])
}

/** Asks again and again until the answer is yes; throws after ten seconds, with the last answer of `explain`. */
export async function eventually(ask: () => Promise<boolean>, explain: () => Promise<string>): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!(await ask())) {
    if (performance.now() > deadline) throw new Error(`not within ten seconds: ${await explain()}`)
  }
}

/** Number of transactions that have a GTID and are not committed: what waits for an acknowledgement. */
export async function waitingTransactions(connection: Connection): Promise<number> {
  return (await value(connection, 'select @@global.gtid_owned')).split('#').length - 1
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

function isNotUpYet(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ECONNREFUSED')
}
