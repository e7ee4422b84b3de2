import { execFileSync } from 'node:child_process'
import { chmod, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { writeCluster } from '#local/folder/cluster-file.ts'
import { ensureSecrets } from '#local/folder/secrets.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import { clusterIn, temporaryFolder } from '#local/testing.ts'
import { dump } from './dump.ts'

/** A cluster whose mysql names these databases, and whose mysqldump writes down its parameters and ends so. */
async function shop(databases: string, ends: number): Promise<string> {
  const home = await temporaryFolder()
  vi.stubEnv('REGENT_HOME', home)
  onTestFinished(() => void vi.unstubAllEnvs())
  const dir = join(home, 'shop')
  const layout = layoutOf(dir)
  await mkdir(layout.run, { recursive: true })
  await ensureSecrets(layout)
  const scripts = { mysql: `printf -- '${databases}'`, mysqldump: `shift; echo "$*"; exit ${ends}` }
  for (const [program, body] of Object.entries(scripts)) {
    await writeFile(join(dir, program), `#!/bin/sh\n${body}\n`)
    await chmod(join(dir, program), 0o700)
  }
  const cluster = clusterIn(dir)
  await writeCluster(dir, { ...cluster, mysql: { ...cluster.mysql, mysql: [join(dir, 'mysql')] } })
  return dir
}

test('a dump is of one moment, without GTIDs, with all that belongs to people’s databases, and of those only', async () => {
  const dir = await shop('app\\nother\\n', 0)
  const file = join(dir, 'all.sql')
  await dump('shop', { on: 'shop-0', file })
  expect(await readFile(file, 'utf8')).toBe(
    '--single-transaction --set-gtid-purged=OFF --triggers --hex-blob --routines --events --databases -- app other\n',
  )
})

test.each([
  ['app.orders', 'USE `app`;\n--single-transaction --set-gtid-purged=OFF --triggers --hex-blob -- app orders\n'],
  [
    'app.*',
    '--single-transaction --set-gtid-purged=OFF --triggers --hex-blob --routines --events --databases -- app\n',
  ],
])('a dump of %s holds nothing else, and says where that is read in', async (table, written) => {
  const dir = await shop('app\\nother\\n', 0)
  const file = join(dir, 'some.sql')
  await dump('shop', { on: 'shop-0', file, table })
  expect(await readFile(file, 'utf8')).toBe(written)
})

test('a database that is named like an option is dumped, and no option', async () => {
  const dir = await shop('--no-data\\n', 0)
  const file = join(dir, 'all.sql')
  await dump('shop', { on: 'shop-0', file })
  expect(await readFile(file, 'utf8')).toMatch(/ --databases -- --no-data\n$/)
  await dump('shop', { on: 'shop-0', file, table: '--no-data.*' })
  expect(await readFile(file, 'utf8')).toMatch(/ --databases -- --no-data\n$/)
})

test.each(['orders', 'app.orders.id', 'mysql.user'])('of the words %s no dump is made', async (table) => {
  await shop('app\\n', 0)
  await expect(dump('shop', { on: 'shop-0', table })).rejects.toThrow(`--table is "${table}": write schema.table`)
})

test('one that fails leaves what was in the file, and nothing beside it', async () => {
  const dir = await shop('app\\n', 2)
  const file = join(dir, 'all.sql')
  await writeFile(file, 'of yesterday')
  await expect(dump('shop', { on: 'shop-0', file })).rejects.toMatchObject({
    code: 'REGENT_REFUSED',
    message: `mysqldump of shop-0 failed, as it says above; ${file} was not written`,
  })
  expect(await readFile(file, 'utf8')).toBe('of yesterday')
  expect((await readdir(dir)).filter((name) => name.endsWith('.new'))).toEqual([])
})

test('a dump to a pipe or a device goes there, and to a link where that leads: none of them is replaced by a file', async () => {
  const dir = await shop('app\\n', 0)
  const [pipe, link, target] = [join(dir, 'pipe'), join(dir, 'link'), join(dir, 'target')]
  execFileSync('mkfifo', [pipe])
  const read = readFile(pipe, 'utf8')
  await dump('shop', { on: 'shop-0', file: pipe })
  expect((await lstat(pipe)).isFIFO()).toBe(true)
  expect(await read).toContain('--single-transaction')
  await writeFile(target, 'of yesterday')
  await symlink(target, link)
  await dump('shop', { on: 'shop-0', file: link })
  expect((await lstat(link)).isSymbolicLink()).toBe(true)
  expect(await readFile(target, 'utf8')).toContain('--single-transaction')
})

test('of a server without a database of people’s nothing is dumped, and that is said', async () => {
  const dir = await shop('', 0)
  await expect(dump('shop', { on: 'shop-0', file: join(dir, 'all.sql') })).rejects.toMatchObject({
    code: 'REGENT_REFUSED',
    message: expect.stringContaining('there is nothing to dump') as string,
  })
})
