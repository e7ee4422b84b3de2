import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import { chainsOf } from '#backup/restore/window.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { runRegent, type TestCluster } from '#test/support/cluster.ts'
import { logOf } from '#test/support/instance-files.ts'
import { loseVolume } from '#test/support/lost-volume.ts'
import { refuseCopies } from '#test/support/refused-copies.ts'
import { withCluster } from '#test/support/with-cluster.ts'

const deadlineMs = 600_000
/** Three tries with each of the two who could give, and the restore. */
const seedingMs = 180_000
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-seed-'))
  await mkdir(join(folder, 'semisync'))
  await mkdir(join(folder, 'group'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const executed = async (cluster: TestCluster, instance: string) =>
  parseGtidSet(await cluster.value(instance, 'select @@gtid_executed'))

async function untilShipped(cluster: TestCluster, address: string): Promise<void> {
  const wanted = await executed(cluster, await cluster.primary())
  await cluster.until(
    'all that is executed is in the archive',
    async () => {
      const [chain] = chainsOf(await readArchive(await openBackupStore({ address }), 'shop'))
      return chain?.gtids.contains(wanted) === true ? true : undefined
    },
    deadlineMs,
  )
}

describe.each(['semisync', 'group'] as const)('in mode %s', (mode) => {
  const shop = withCluster(() => ({
    spec: {
      mode,
      backup: {
        store: { address: join(folder, mode) },
        schedule: null,
        rehearsal: { schedule: null },
        archive: { everySeconds: 1 },
        heartbeat: { everySeconds: 0 },
      },
    },
  }))

  it('a replica on a new volume that nobody can be copied for comes back from the backup, and counts', async () => {
    const cluster = shop.current
    await cluster.whole(3, deadlineMs)
    const primary = await cluster.primary()
    const [replica, other] = await cluster.replicas()
    await cluster.sql(primary, 'create table app.orders (id int primary key, text varchar(100))')
    await cluster.sql(primary, "insert into app.orders values (1, 'in the backup')")
    const made = await runRegent(cluster.home, ['backup', 'now', 'shop'], { deadlineMs })
    expect(made.code, made.stderr).toBe(0)
    await cluster.sql(primary, "insert into app.orders values (2, 'in the archive')")
    await untilShipped(cluster, join(folder, mode))

    const before = await cluster.value(replica!, 'select @@server_uuid')
    await cluster.sql(primary, 'flush binary logs')
    // No file is removed that a replica reads at this moment.
    await cluster.until('the binlogs are purged', async () => {
      await cluster.sql(primary, 'purge binary logs before now() + interval 1 day')
      return (await cluster.value(primary, 'select @@gtid_purged')) === '' ? undefined : true
    })

    await loseVolume(cluster, replica!)
    const stopRefusing = refuseCopies(cluster, [primary, other!])
    onTestFinished(async () => void (await stopRefusing()))
    await cluster.sql(primary, "insert into app.orders values (3, 'in the binlogs of the primary')")
    await cluster.sql(primary, "update app.orders set text = concat(text, '!')")
    await cluster.fault(replica!, 'start')
    await cluster.until(
      'it is said that a backup is what the replica is seeded from',
      async () => (JSON.stringify(await cluster.explain()).includes('seeded from a backup') ? true : undefined),
      seedingMs,
    )
    await cluster.whole(3, seedingMs)
    expect(await stopRefusing()).toBeGreaterThanOrEqual(6)
    expect(await cluster.value(replica!, 'select group_concat(id, text order by id) from app.orders')).toBe(
      '1in the backup!,2in the archive!,3in the binlogs of the primary!',
    )
    expect((await executed(cluster, primary)).contains(await executed(cluster, replica!))).toBe(true)
    const uuids = await Promise.all(
      [primary, replica!, other!].map((name) => cluster.value(name, 'select @@server_uuid')),
    )
    expect(new Set([...uuids, before]).size).toBe(4)
    expect(await logOf(cluster, replica!)).toMatch(/this instance was seeded from backup \d{8}T\d{6}Z of cluster shop/)
  }, 1_800_000)
})
