import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { findMysql } from './mysql-binaries.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-mysql-'))
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

async function script(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, `#!/bin/sh\n${text}\n`)
  await chmod(path, 0o755)
  return path
}

/** A mysqld that answers what it is asked here; `share` lets two of them be told apart. */
async function pretendMysql(version: string): Promise<string> {
  await script('mysql', ':')
  await script('mysqlbinlog', ':')
  return script(
    'mysqld',
    `case "$*" in
      *--version) echo "$0  Ver ${version} for Linux on x86_64 (MySQL Community Server - GPL)";;
      *--help) echo "lc-messages-dir   ${folder}/share/"; echo "plugin-dir        ${folder}/lib/plugin/";;
    esac`,
  )
}

describe('REGENT_MYSQLD', () => {
  it('is used before anything else, with the clients beside it and the folders it names', async () => {
    const mysqld = await pretendMysql('8.4.6')
    vi.stubEnv('REGENT_MYSQLD', mysqld)
    expect(await findMysql()).toEqual({
      mysqld: [mysqld],
      mysql: [join(folder, 'mysql')],
      mysqlbinlog: [join(folder, 'mysqlbinlog')],
      pluginDir: join(folder, 'lib/plugin'),
      shareDir: join(folder, 'share'),
      version: '8.4.6',
    })
  })

  it('is refused when it is too old, although another MySQL could be found', async () => {
    const mysqld = await pretendMysql('8.0.20')
    vi.stubEnv('REGENT_MYSQLD', mysqld)
    await expect(findMysql()).rejects.toMatchObject({
      code: 'REGENT_MYSQL_TOO_OLD',
      message: expect.stringContaining(`REGENT_MYSQLD=${mysqld}`) as string,
    })
  })

  it.each([
    ['is not there', '/no/such/mysqld', 'REGENT_MYSQLD=/no/such/mysqld is not an executable file'],
    ['is a relative path', 'bin/mysqld', 'REGENT_MYSQLD is "bin/mysqld", but must be the absolute path'],
  ])('is refused with its value when it %s', async (_, value, message) => {
    vi.stubEnv('REGENT_MYSQLD', value)
    await expect(findMysql()).rejects.toMatchObject({
      code: 'REGENT_MYSQL_MISSING',
      message: expect.stringContaining(message) as string,
    })
  })

  it('is refused with the program’s own words when it does not run', async () => {
    await pretendMysql('9.7.4')
    vi.stubEnv(
      'REGENT_MYSQLD',
      await script('mysqld', 'echo "error while loading shared libraries: libaio.so.1" >&2; exit 127'),
    )
    await expect(findMysql()).rejects.toMatchObject({
      code: 'REGENT_MYSQL_MISSING',
      message: expect.stringContaining('does not run: error while loading shared libraries: libaio.so.1') as string,
    })
  })

  it('is refused when its mysqlbinlog is missing', async () => {
    const mysqld = await pretendMysql('9.7.4')
    await rm(join(folder, 'mysqlbinlog'))
    vi.stubEnv('REGENT_MYSQLD', mysqld)
    vi.stubEnv('PATH', '/nowhere')
    await expect(findMysql()).rejects.toMatchObject({
      code: 'REGENT_MYSQL_MISSING',
      message: expect.stringContaining('has no mysqlbinlog beside it') as string,
    })
  })
})

describe('PATH', () => {
  it('gives its mysqld where that is usable', async () => {
    const mysqld = await pretendMysql('8.0.41')
    vi.stubEnv('REGENT_MYSQLD', '')
    vi.stubEnv('PATH', `${folder}:${process.env['PATH']}`)
    expect(await findMysql()).toMatchObject({ mysqld: [mysqld], version: '8.0.41' })
  })
})
