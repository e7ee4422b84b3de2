import { dirname, isAbsolute, join } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say, type Sayable } from '#common/sentence/sentence.ts'
import { usableVersion } from '#common/mysql/mysql-version.ts'
import { findUnpacked, programOf, unpackBundle, type DebianBundle, type Say } from './debian-packages.ts'
import { firstExecutable, onPath } from './executables.ts'
import { runCommand } from '#common/process/run-command.ts'

/**
 * MySQL's programs on this machine, as argument vectors to which a caller appends its own arguments, `--no-defaults`
 * first.
 */
export interface MysqlBinaries {
  readonly mysqld: readonly string[]
  readonly mysql: readonly string[]
  readonly mysqlbinlog: readonly string[]
  /** For `--plugin-dir`. */
  readonly pluginDir: string
  /** For `--lc-messages-dir`; `charsets` below it is for `--character-sets-dir`. */
  readonly shareDir: string
  /** Three numbers, for example `9.7.4`. */
  readonly version: string
}

interface Programs {
  readonly mysqld: readonly string[]
  readonly mysql: readonly string[]
  readonly mysqlbinlog: readonly string[]
}

const bundle: DebianBundle = {
  name: 'mysql',
  title: 'MySQL',
  packages: ['mysql-server-core', 'mysql-client-core'],
  byHand:
    'Install a MySQL server ≥ 8.0.26 with mysql and mysqlbinlog, and put its mysqld on PATH or its path into REGENT_MYSQLD.',
}

/**
 * Finds a MySQL: `REGENT_MYSQLD` (a path; what it names is used or refused), else `mysqld` on PATH where that is
 * usable, else the Debian packages in the cache, which are unpacked first where they are not there yet. Rejects with
 * REGENT_MYSQL_MISSING, REGENT_MYSQL_TOO_OLD or REGENT_SETUP_FAILED.
 */
export async function findMysql(tell: Say = () => undefined): Promise<MysqlBinaries> {
  const named = process.env['REGENT_MYSQLD']
  if (named) return namedMysql(named)
  return (await mysqlOnPath(tell)) ?? (await unpackedMysql(tell))
}

async function namedMysql(path: string): Promise<MysqlBinaries> {
  if (!isAbsolute(path)) {
    throw new RegentError(
      'REGENT_MYSQL_MISSING',
      say`REGENT_MYSQLD is "${path}", but must be the absolute path of a mysqld.`,
    )
  }
  return describe(await programsBeside(path, say`REGENT_MYSQLD=${path}`), say`REGENT_MYSQLD=${path}`)
}

/** A mysqld on PATH that cannot be used is passed over: nobody asked for it by name. */
async function mysqlOnPath(tell: Say): Promise<MysqlBinaries | undefined> {
  const path = await onPath('mysqld')
  if (path === undefined) return undefined
  try {
    return await describe(await programsBeside(path, path), path)
  } catch (error) {
    if (!(error instanceof RegentError)) throw error
    tell(`MySQL: passing over the one on PATH. ${error.message}`)
    return undefined
  }
}

async function unpackedMysql(tell: Say): Promise<MysqlBinaries> {
  const tree = (await findUnpacked(bundle)) ?? (await unpackBundle(bundle, tell))
  const programs: Programs = {
    mysqld: programOf(tree, 'usr/sbin/mysqld'),
    mysql: programOf(tree, 'usr/bin/mysql'),
    mysqlbinlog: programOf(tree, 'usr/bin/mysqlbinlog'),
  }
  return describe(programs, say`${tree.root} (remove that folder to have it unpacked again)`)
}

/** A mysqld's clients: in its own folder, in the `bin` next to an `sbin`, or on PATH. */
async function programsBeside(mysqld: string, where: Sayable): Promise<Programs> {
  const client = async (name: string): Promise<readonly string[]> => {
    const beside = [join(dirname(mysqld), name), join(dirname(mysqld), '../bin', name)]
    const found = (await firstExecutable(beside)) ?? (await onPath(name))
    if (found === undefined) {
      throw new RegentError(
        'REGENT_MYSQL_MISSING',
        say`${where} has no ${name} beside it, and there is none on PATH; Regent needs that as well.`,
      )
    }
    return [found]
  }
  if ((await firstExecutable([mysqld])) === undefined) {
    throw new RegentError(
      'REGENT_MYSQL_MISSING',
      say`${where} is not an executable file. Set REGENT_MYSQLD to the path of a mysqld ≥ 8.0.26, or unset it.`,
    )
  }
  return { mysqld: [mysqld], mysql: await client('mysql'), mysqlbinlog: await client('mysqlbinlog') }
}

async function describe(programs: Programs, where: Sayable): Promise<MysqlBinaries> {
  const version = await versionOf(programs.mysqld, where)
  // The server itself knows best where its plugins and messages are: packages and tarballs differ.
  const help = await runCommand([...programs.mysqld, '--no-defaults', '--verbose', '--help'], { deadlineMs: 30_000 })
  const pluginDir = settingOf(help.stdout, 'plugin-dir')
  const shareDir = settingOf(help.stdout, 'lc-messages-dir')
  if (pluginDir === undefined || shareDir === undefined) {
    throw new RegentError(
      'REGENT_MYSQL_MISSING',
      say`${where} does not say where its plugins and messages are (mysqld --verbose --help): ${reported(help.failure)}`,
    )
  }
  return { ...programs, pluginDir, shareDir, version }
}

async function versionOf(mysqld: readonly string[], where: Sayable): Promise<string> {
  const result = await runCommand([...mysqld, '--no-defaults', '--version'], { deadlineMs: 30_000 })
  if (!result.ok) throw new RegentError('REGENT_MYSQL_MISSING', say`${where} does not run: ${reported(result.failure)}`)
  return usableVersion(result.stdout, where)
}

function settingOf(help: string, name: string): string | undefined {
  return new RegExp(`^${name} +(/.*?)/?$`, 'm').exec(help)?.[1]
}
