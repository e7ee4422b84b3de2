import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import { chainsOf } from '#backup/restore/window.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { runRegent } from '#test/support/cluster.ts'
import { freePort } from '#test/support/free-port.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const deadlineMs = 600_000
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-dropped-'))
  await mkdir(join(folder, 'store'))
  await writeFile(join(folder, 'key'), randomBytes(32))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const shop = withCluster(() => ({
  instances: 2,
  spec: {
    backup: {
      store: { address: join(folder, 'store'), encryptionKeyFile: join(folder, 'key') },
      schedule: null,
      rehearsal: { schedule: null },
      archive: { everySeconds: 1 },
    },
  },
}))

/** The commands of the page, with this test's places in them. */
async function commandsOfThePage(): Promise<readonly string[]> {
  const page = await readFile('docs/guide/backup.md', 'utf8')
  const [, section = ''] = page.split('## The day a table was dropped\n')
  const [text = ''] = section.split('\n## ')
  return text.split('\n').flatMap((line) => (line.startsWith('    regent ') ? [line.trim()] : []))
}

it('The day a table was dropped: the commands of the page give the table back to the live cluster', async () => {
  const cluster = shop.current
  await cluster.whole(2, deadlineMs)
  const primary = await cluster.primary()
  await cluster.sql(primary, 'create table app.orders (id int primary key, body varbinary(20))')
  await cluster.sql(primary, 'create table app.other (id int primary key)')
  await cluster.sql(primary, "insert into app.orders values (1, x'00ff')")
  expect((await runRegent(cluster.home, ['backup', 'now', 'shop'], { deadlineMs })).code).toBe(0)
  await cluster.sql(primary, 'insert into app.orders values (2, null)')
  await cluster.sql(primary, 'drop table app.orders')
  await cluster.sql(primary, 'insert into app.other values (1)')
  const wanted = parseGtidSet(await cluster.value(primary, 'select @@gtid_executed'))
  await cluster.until(
    'all of that is in the archive',
    async () => {
      const [chain] = chainsOf(await readArchive(await openBackupStore({ address: join(folder, 'store') }), 'shop'))
      return chain?.gtids.contains(wanted) === true ? true : undefined
    },
    deadlineMs,
  )

  const places = { '/srv/backups': join(folder, 'store'), '/safe/backup.key': join(folder, 'key') }
  const commands = await commandsOfThePage()
  expect(commands.map((command) => command.split(' ')[1])).toEqual(['backup', 'restore', 'local', 'local', 'local'])
  let gtid = ''
  for (const command of commands) {
    const words = { ...places, 'UUID:23': gtid, 'orders.sql': join(folder, 'orders.sql') }
    const typed = command.split(' ').slice(1)
    const said = typed.map((word) => (word in words ? words[word as keyof typeof words] : word))
    const port = said[0] === 'restore' ? ['--port', String(await freePort())] : []
    const ran = await runRegent(cluster.home, [...said, ...port], { deadlineMs })
    expect([command, ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([command, 0, ''])
    if (said[0] === 'backup') gtid = /[0-9a-f]{8}(?:-[0-9a-f]+){4}:\d+/.exec(ran.stdout)?.[0] ?? ''
  }
  await cluster.whole(2, deadlineMs)
  const rows = "select group_concat(id, ':', ifnull(hex(body), '-') order by id) from app.orders"
  for (const instance of [primary, ...(await cluster.replicas())]) {
    await cluster.until('the table is back', async () =>
      (await cluster.value(instance, rows)) === '1:00FF,2:-' ? true : undefined,
    )
    expect(await cluster.value(instance, 'select count(*) from app.other')).toBe('1')
  }
}, 1_800_000)
