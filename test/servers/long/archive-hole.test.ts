import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Chain } from '#backup/archive/chain.ts'
import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import { chainsOf } from '#backup/restore/window.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { runRegent, type TestCluster } from '#test/support/cluster.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const deadlineMs = 600_000
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-hole-'))
  await mkdir(join(folder, 'store'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const shop = withCluster(() => ({
  instances: 2,
  spec: {
    backup: {
      store: { address: join(folder, 'store') },
      schedule: '0 0 1 1 *',
      rehearsal: { schedule: null },
      archive: { everySeconds: 1 },
    },
  },
}))

/** What the oldest backup can be brought to. */
async function oldestChain(): Promise<Chain | undefined> {
  return chainsOf(await readArchive(await openBackupStore({ address: join(folder, 'store') }), 'shop')).at(-1)
}

const executed = async (cluster: TestCluster) =>
  parseGtidSet(await cluster.value(await cluster.primary(), 'select @@gtid_executed'))

/** Writes while the store is away, and purges that at these instances before anybody could ship. */
async function writtenUnseen(cluster: TestCluster, table: string, purgedAt: readonly string[]): Promise<void> {
  await rename(join(folder, 'store'), join(folder, 'away'))
  const primary = await cluster.primary()
  await cluster.sql(primary, `create table app.${table} (id int primary key)`)
  await cluster.sql(primary, `insert into app.${table} values (1)`)
  const written = (await executed(cluster)).toString()
  for (const instance of purgedAt) {
    await cluster.until('it has what was written', async () =>
      (await cluster.value(instance, `select gtid_subset('${written}', @@gtid_executed)`)) === '1' ? true : undefined,
    )
    await cluster.sql(instance, 'flush binary logs')
    await cluster.sql(instance, 'purge binary logs before now() + interval 1 day')
    expect(await cluster.value(instance, `select gtid_subset('${written}', @@gtid_purged)`)).toBe('1')
  }
  await rename(join(folder, 'away'), join(folder, 'store'))
}

it('A hole in the archive is closed out of the binlogs of a replica; where nobody has that, a backup ends it', async () => {
  const cluster = shop.current
  await cluster.whole(2, deadlineMs)
  await cluster.until('the first backup is whole', async () => ((await oldestChain()) ? true : undefined), deadlineMs)
  const first = (await oldestChain())?.backup.name
  const primary = await cluster.primary()
  await writtenUnseen(cluster, 'held', [primary])
  const wanted = await executed(cluster)
  await cluster.until(
    'the archive has all of that, without a hole',
    async () => {
      const chain = await oldestChain()
      return chain?.hole === null && chain.gtids.contains(wanted) ? true : undefined
    },
    deadlineMs,
  )
  expect((await oldestChain())?.backup.name).toBe(first)
  expect((await oldestChain())?.steps.map(({ piece }) => piece.sender.split('@')[0])).toContain(
    (await cluster.replicas())[0],
  )

  await writtenUnseen(cluster, 'lost', [primary, ...(await cluster.replicas())])
  await cluster.until(
    'it is said that only a backup ends this hole',
    async () => ((await cluster.explain()).reasons.join().includes('only a backup ends that hole') ? true : undefined),
    deadlineMs,
  )
  const made = await runRegent(cluster.home, ['backup', 'now', 'shop'], { deadlineMs })
  expect(made.code, made.stderr).toBe(0)
  await cluster.until(
    'the hole is told no more',
    async () => ((await cluster.explain()).reasons.join().includes('the archive lacks') ? undefined : true),
    deadlineMs,
  )
}, 3_000_000)
