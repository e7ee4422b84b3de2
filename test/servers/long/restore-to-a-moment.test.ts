import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import { chainsOf } from '#backup/restore/window.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { runRegent, TestCluster } from '#test/support/cluster.ts'
import { freePort } from '#test/support/free-port.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const deadlineMs = 600_000
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-moment-'))
  await mkdir(address())
  await writeFile(join(folder, 'key'), randomBytes(32))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const address = () => join(folder, 'store')
const shop = withCluster(() => ({
  spec: {
    backup: {
      store: { address: address(), encryptionKeyFile: join(folder, 'key') },
      schedule: null,
      rehearsal: { schedule: null },
      archive: { everySeconds: 1 },
    },
  },
}))

/** What `regent backup find` says. */
interface Searched {
  readonly found: readonly { readonly gtid: string; readonly kind: string; readonly statement: string }[]
  readonly passedOver: number
}

const executed = async (cluster: TestCluster) =>
  parseGtidSet(await cluster.value(await cluster.primary(), 'select @@gtid_executed'))

async function untilShipped(cluster: TestCluster): Promise<void> {
  const wanted = await executed(cluster)
  await cluster.until(
    'all that is executed is in the archive',
    async () => {
      const [chain] = chainsOf(await readArchive(await openBackupStore({ address: address() }), 'shop'))
      return chain?.gtids.contains(wanted) === true ? true : undefined
    },
    120_000,
  )
}

/** A second of the server's clock that nothing was committed in: what was before is of an earlier one. */
async function quietSecond(cluster: TestCluster): Promise<string> {
  const clock = async () =>
    cluster.value(await cluster.primary(), "select date_format(utc_timestamp(), '%Y-%m-%dT%TZ')")
  const before = await clock()
  await cluster.until('another second', async () => ((await clock()) > before ? true : undefined))
  const quiet = await clock()
  await cluster.until('another second', async () => ((await clock()) > quiet ? true : undefined))
  return quiet
}

async function restored(words: readonly string[], name = 'again') {
  const home = await mkdtemp(join(tmpdir(), 'regent-'))
  const from = ['--cluster', 'shop', '--from', address(), '--key-file', join(folder, 'key')]
  const more = ['--instances', '1', '--port', String(await freePort()), ...from, ...words]
  return { home, ran: await runRegent(home, ['restore', name, ...more], { deadlineMs }) }
}

/** Restores into a cluster of one, and gives what its tables hold. */
async function valuesAfter(words: readonly string[], statements: readonly string[]): Promise<readonly string[]> {
  const { home, ran } = await restored(words)
  expect(ran.code, ran.stderr).toBe(0)
  expect(ran.stderr).toMatch(/again began with backup \d{8}T\d{6}Z of cluster shop, with \d+ transactions? behind that/)
  const cluster = await TestCluster.at(home, 'again')
  try {
    const primary = await cluster.primary()
    const values: string[] = []
    for (const statement of statements) values.push(await cluster.value(primary, statement))
    await cluster.sql(primary, 'create table app.writable (id int primary key)')
    return values
  } finally {
    await cluster.down()
  }
}

async function refusedWith(words: readonly string[]): Promise<string> {
  const { home, ran } = await restored(words)
  try {
    expect(ran.code).not.toBe(0)
    expect(await readdir(home)).not.toContain('again')
    return ran.stderr
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

it('The day a table was dropped: a new cluster has all of the second before, or of the transaction before', async () => {
  const cluster = shop.current
  await cluster.whole(3, deadlineMs)
  const primary = await cluster.primary()
  await cluster.sql(primary, 'create table app.orders (id int primary key, body longblob)')
  await cluster.sql(primary, "insert into app.orders values (1, 'copied')")
  expect((await runRegent(cluster.home, ['backup', 'now', 'shop'], { deadlineMs })).code).toBe(0)
  await cluster.sql(primary, "insert into app.orders values (2, repeat('x', 20 * 1024 * 1024))", { deadlineMs })
  const moved = await cluster.regent('switchover', 'shop')
  expect(moved.code, moved.stderr).toBe(0)
  const second = await cluster.primary()
  expect(second).not.toBe(primary)
  await cluster.sql(second, "insert into app.orders values (3, 'of the second primary')")
  const quiet = await quietSecond(cluster)
  await cluster.sql(second, "insert into app.orders values (4, 'after that second')")
  const before = await executed(cluster)
  await cluster.sql(second, 'drop table app.orders')
  // The beat of the primary may be in between.
  const since = (await executed(cluster)).subtract(before)
  await cluster.sql(second, 'create table app.later (id int primary key)')
  await sleep(1_100)
  await cluster.sql(second, 'insert into app.later values (1)')
  await untilShipped(cluster)

  expect(await refusedWith(['--until', '2020-01-01T00:00:00Z'])).toContain('is outside of the window: possible is 20')
  expect(await refusedWith(['--until', 'yesterday'])).toContain('a whole second with its time zone')

  const find = ['backup', 'find', 'shop', '--table', 'app.orders', '--kind']
  const searched = await runRegent(cluster.home, [...find, 'drop', '-o', 'json'], { deadlineMs })
  expect(searched.code, searched.stderr).toBe(0)
  const { found, passedOver } = JSON.parse(searched.stdout) as Searched
  expect([passedOver, found.length]).toEqual([0, 1])
  const [{ gtid }] = found as [Searched['found'][number]]
  expect([...since.each()]).toContain(gtid)
  expect(found[0]).toMatchObject({ kind: 'drop', statement: expect.stringMatching(/^DROP TABLE .*orders/) as string })
  const inserts = await runRegent(cluster.home, [...find, 'insert', '-o', 'json'], { deadlineMs })
  expect((JSON.parse(inserts.stdout) as Searched).found).toHaveLength(3)

  expect(await refusedWith(['--before', gtid.replace(/:\d+$/, ':999999')])).toContain(
    'are in no backup and behind none',
  )
  const ids = 'select group_concat(id order by id) from app.orders'
  const later = "select count(*) from information_schema.tables where table_name = 'later'"
  expect(await valuesAfter(['--until', quiet], [ids, later])).toEqual(['1,2,3', '0'])
  expect(
    await valuesAfter(['--before', gtid], [ids, later, 'select length(body) from app.orders where id = 2']),
  ).toEqual(['1,2,3,4', '0', String(20 * 1024 * 1024)])
  expect(await valuesAfter([], [later, 'select count(*) from app.later'])).toEqual(['1', '1'])
}, 1_800_000)
