import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { KeyRing } from '#backup/keys/key-ring.ts'
import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import { readPiece } from '#backup/transfer/read-piece.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import { chainsOf, windowOf } from '#backup/restore/window.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { runRegent, type TestCluster } from '#test/support/cluster.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'

const deadlineMs = 600_000
const key = randomBytes(32)
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-archive-'))
  await writeFile(join(folder, 'key'), key)
  for (const mode of ['semisync', 'group']) await mkdir(join(folder, mode))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

async function archiveIn(address: string) {
  const store = await openBackupStore({ address })
  return { store, archive: await readArchive(store, 'shop') }
}

/** What the newest backup can be brought to. */
async function reachedIn(address: string) {
  const [chain] = chainsOf((await archiveIn(address)).archive)
  return chain
}

async function executed(cluster: TestCluster): Promise<string> {
  return cluster.value(await cluster.primary(), 'select @@gtid_executed')
}

async function untilShipped(cluster: TestCluster, address: string): Promise<void> {
  const wanted = parseGtidSet(await executed(cluster))
  await cluster.until(
    'all that is executed is in the archive',
    async () => ((await reachedIn(address))?.gtids.contains(wanted) === true ? true : undefined),
    deadlineMs,
  )
}

describe.each(['semisync', 'group'] as const)('The archive of binlogs of a cluster of mode %s', (mode) => {
  const address = () => join(folder, mode)
  const shop = withCluster(() => ({
    spec: {
      mode,
      backup: {
        store: { address: address(), encryptionKeyFile: join(folder, 'key') },
        schedule: null,
        rehearsal: { schedule: null },
        archive: { everySeconds: 1 },
        // At the end the archive is compared with a server at rest.
        heartbeat: { everySeconds: 0 },
      },
    },
  }))

  it('has all that was committed since the backup, without a hole, whoever led', async () => {
    const cluster = shop.current
    await cluster.whole(3, deadlineMs)
    const writer = await Writer.start(cluster, { everyMs: 5, bodyBytes: 2_000 })
    await cluster.until('50 writes are acknowledged', async () => writer.report.acknowledged.length >= 50)
    const made = await runRegent(cluster.home, ['backup', 'now', 'shop'], { deadlineMs })
    expect(made.code, made.stderr).toBe(0)

    const primary = await cluster.primary()
    await cluster.sql(primary, 'create table app.big (id int primary key, body longblob)')
    await cluster.sql(primary, "insert into app.big values (1, repeat('x', 20 * 1024 * 1024))", { deadlineMs })
    await cluster.sql(primary, "set gtid_next = 'AUTOMATIC:stock'")
    await cluster.sql(primary, "insert into app.big values (2, 'tagged')")
    await cluster.sql(primary, "set gtid_next = 'AUTOMATIC'")
    await cluster.sql(primary, 'flush binary logs')
    await cluster.fault(primary, 'kill-mysqld')
    await cluster.until('another instance leads', async () =>
      (await cluster.primary()) !== primary ? true : undefined,
    )
    await writer.next(undefined, { deadlineMs })
    await cluster.whole(3, deadlineMs)
    const moved = await cluster.regent('switchover', 'shop')
    expect(moved.code, moved.stderr).toBe(0)
    await writer.next(undefined, { deadlineMs })
    await stopWriters()
    await untilShipped(cluster, address())

    const chain = await reachedIn(address())
    expect(chain?.hole).toBe(null)
    expect(chain?.gtids.equals(parseGtidSet(await executed(cluster)))).toBe(true)
    const { store, archive: stored } = await archiveIn(address())
    expect(windowOf(stored).spans.length).toBe(1)
    for (const piece of stored.pieces)
      for await (const segment of readPiece({ store, cluster: 'shop', lineage: null, piece, key: new KeyRing([key]) }))
        expect(segment.bytes.length).toBeLessThanOrEqual(1_048_576)
    expect(stored.openings.length).toBeGreaterThanOrEqual(3)
  }, 1_800_000)
})
