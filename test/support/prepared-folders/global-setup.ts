import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { findMysql } from '#local/packages/mysql-binaries.ts'
import { passwordFor } from '#common/mysql/account-password.ts'
import { clientUser } from '#local/folder/secrets.ts'
import { preparedFolders, preparedMysqld } from './paths.ts'
import { testSecrets } from './secrets.ts'

/** Puts the programs in place that `preparedMysqld` names, around the MySQL that tests would find without them. */
export async function setup(): Promise<void> {
  const { mysqld, mysql, mysqlbinlog, version } = await findMysql()
  const bin = join(preparedMysqld, '..')
  await mkdir(bin, { recursive: true })
  await writeProgram(preparedMysqld, [
    `prepared=${quoted(preparedFolders)}`,
    `version=${quoted(`${version} ${mysqld.join(' ')}`)}`,
    `passwords=${quoted(testSecrets.map((secret) => passwordFor(secret, clientUser)).join(String.raw`\|`))}`,
    // `$1` is `exec` or nothing.
    `real() { way=$1; shift; $way ${mysqld.map(quoted).join(' ')} "$@"; }`,
    `. ${quoted(join(import.meta.dirname, 'prepared-mysqld.sh'))}`,
  ])
  await writeProgram(join(bin, 'mysql'), [`exec ${mysql.map(quoted).join(' ')} "$@"`])
  const mysqldump = [...mysql.slice(0, -1), join(dirname(mysql.at(-1) ?? ''), 'mysqldump')]
  await writeProgram(join(bin, 'mysqldump'), [`exec ${mysqldump.map(quoted).join(' ')} "$@"`])
  await writeProgram(join(bin, 'mysqlbinlog'), [`exec ${mysqlbinlog.map(quoted).join(' ')} "$@"`])
}

/** Drafts of servers that a test killed while they were made. */
export async function teardown(): Promise<void> {
  const drafts = (await readdir(preparedFolders)).filter((name) => name.startsWith('draft.'))
  await Promise.all(drafts.map((name) => rm(join(preparedFolders, name), { recursive: true, force: true })))
}

/** Another run of tests may execute the program at this moment: a new file takes its place. */
async function writeProgram(path: string, lines: readonly string[]): Promise<void> {
  const draft = `${path}.${process.pid}`
  await writeFile(draft, ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 })
  await rename(draft, path)
}

const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`
