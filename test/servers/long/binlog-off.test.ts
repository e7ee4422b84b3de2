import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { runCommand } from '#common/process/run-command.ts'
import { byHand } from '#test/support/by-hand.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

/** A folder that takes no new file, as a file system does that has no inode left: files that are there grow. */
async function setImmutable(folder: string, on: boolean): Promise<boolean> {
  return (await runCommand(['chattr', on ? '+i' : '-i', folder], { deadlineMs: 10_000 })).ok
}

const folders: string[] = []

async function closeDataFolder(cluster: TestCluster, instance: string): Promise<void> {
  const folder = join((await cluster.instance(instance)).volume, 'data')
  if (!(await setImmutable(folder, true))) throw new Error(`chattr +i ${folder} failed`)
  folders.push(folder)
}

async function openDataFolders(): Promise<void> {
  for (const folder of folders.splice(0)) await setImmutable(folder, false)
}

const canBe = process.getuid?.() === 0
if (!canBe) console.warn('binlog-off.test.ts is skipped: only root makes a folder that takes no new file')

describe.skipIf(!canBe)('A primary whose data folder takes no new file', () => {
  const shop = withCluster()
  afterEach(openDataFolders)

  it('ends at its next binary log rather than go on without one; a replica leads, and nothing acknowledged is lost', async () => {
    const cluster = shop.current
    await cluster.whole()
    const first = await cluster.primary()
    const writer = await Writer.start(cluster)
    await byHand(cluster, first, "set global binlog_error_action = 'IGNORE_ERROR'")
    const action = () => cluster.value(first, 'select @@global.binlog_error_action')
    await cluster.until('the setting is put right', async () => (await action()) === 'ABORT_SERVER', 10_000)
    await closeDataFolder(cluster, first)
    await byHand(cluster, first, 'flush binary logs').catch(() => undefined)
    await cluster.waitFor('another one leads', ({ primary, writable }) => writable && primary !== first)
    await writer.next()
    await openDataFolders()
    await cluster.whole()
    expect(await logOf(cluster, first)).toMatch(
      /binlog_error_action is ABORT_SERVER again \(by another hand it was IGNORE/,
    )
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('and that a hand lets go on without a binary log is ended and named; a replica leads, and it is seeded again', async () => {
    const cluster = shop.current
    const first = await cluster.primary()
    await cluster.sql(first, 'create table app.kept (id int primary key)', { user: 'client' })
    await cluster.sql(first, 'insert into app.kept values (1)', { user: 'client' })
    const uuid = await cluster.value(first, 'select @@server_uuid')
    await closeDataFolder(cluster, first)
    await byHand(cluster, first, "set global binlog_error_action = 'IGNORE_ERROR'", 'flush binary logs').catch(
      () => undefined,
    )
    const { primary } = await cluster.waitFor(
      'another one leads',
      (view) => view.writable && view.primary !== null && view.primary !== first,
    )
    expect(await logOf(cluster, first)).toMatch(/mysqld has no binary log/)
    expect(await cluster.value(primary ?? '', 'select count(*) from app.kept')).toBe('1')
    await openDataFolders()
    await cluster.whole()
    expect(await cluster.value(first, 'select @@server_uuid')).not.toBe(uuid)
    expect(await cluster.value(first, 'select count(*) from app.kept')).toBe('1')
  })
})
