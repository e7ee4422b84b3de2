import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { byHand } from '#test/support/by-hand.ts'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()
const all = ['shop-0', 'shop-1', 'shop-2']

const elsewhere = (at: number) => `${at}1111111-1111-1111-1111-111111111111`

/** As mysqldump writes unless told otherwise. */
const dump = `SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN;
SET @@SESSION.SQL_LOG_BIN= 0;
SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '${elsewhere(1)}:1-100,
${elsewhere(2)}:1-7';
CREATE DATABASE elsewhere;
CREATE TABLE elsewhere.t (id INT PRIMARY KEY, text VARCHAR(100));
INSERT INTO elsewhere.t VALUES (1, 'SET @@SESSION.SQL_LOG_BIN= 0;');
SET @@SESSION.SQL_LOG_BIN = @MYSQLDUMP_TEMP_LOG_BIN;
`

async function everywhere(query: string, wanted: string): Promise<void> {
  const cluster = shop.current
  for (const name of all)
    await cluster.until(
      `${query} at ${name} is ${wanted}`,
      async () => (await cluster.value(name, query).catch(() => undefined)) === wanted,
      90_000,
    )
}

it('A default mysqldump that is read in by file is on every replica, and what was left out of it is said', async () => {
  const cluster = shop.current
  await cluster.whole()
  const file = join(cluster.home, 'default.sql')
  await writeFile(file, dump)
  const ran = await cluster.regent('local', 'sql', 'shop', '--file', file)
  await rm(file)
  expect(ran).toMatchObject({
    code: 0,
    stderr: `SET SQL_LOG_BIN and SET GTID_PURGED in ${file} were left out: what is read in has GTIDs of this cluster, and its replicas get it\n`,
  })
  await everywhere('select text from elsewhere.t', 'SET @@SESSION.SQL_LOG_BIN= 0;')
  expect(await cluster.value(await cluster.primary(), 'select @@global.gtid_executed')).not.toContain(elsewhere(1))
})

it('A replica with transactions that are in no binlog says by which command they are given up, and is made anew by that', async () => {
  const cluster = shop.current
  await cluster.whole()
  const [replica] = await cluster.replicas()
  const uuid = await cluster.value(replica!, 'select @@server_uuid')
  await byHand(cluster, replica!, 'set global super_read_only = off', `set global gtid_purged = '+${elsewhere(3)}:1-5'`)
  const command = `regent replace ${replica} --accept-loss`
  await cluster.until('the command is named', async () => (await cluster.explain()).sentence.includes(command), 60_000)
  const ran = await cluster.regent('replace', replica!, '--accept-loss')
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining(`${replica} is given up`) as string })
  await cluster.until(
    `${replica} is a copy`,
    async () => (await cluster.value(replica!, 'select @@server_uuid').catch(() => uuid)) !== uuid,
    90_000,
  )
  await cluster.whole()
  expect(await cluster.value(replica!, 'select @@global.gtid_executed')).not.toContain(elsewhere(3))
})

it('Data that somebody read into the primary past its binlog are on every replica again, one after the other, while writes go on', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const writer = await Writer.start(cluster)
  await byHand(
    cluster,
    primary!,
    'set session sql_log_bin = 0',
    'create database unlogged',
    'create table unlogged.t (id int primary key)',
    'insert into unlogged.t values (1)',
    `set global gtid_purged = '+${elsewhere(4)}:1-7'`,
  )
  await cluster.until('that is named', async () =>
    (await cluster.explain()).analyses.some(({ code }) => code === 'ReplicaPassedOver'),
  )
  await expect(cluster.switchover({ dryRun: true })).rejects.toMatchObject({ code: 'REGENT_REFUSED' })
  await everywhere('select count(*) from unlogged.t', '1')
  await cluster.whole()
  const pauseMs = writer.longestPause().pauseMs
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  expect(await cluster.primary()).toBe(primary)
  console.log(`longest pause of writes: ${Math.round(pauseMs)} ms`)
  const log = await logOf(cluster, primary!)
  expect(log).not.toMatch(/it is being copied, and too few replicas can acknowledge/)
  await cluster.fault(primary!, 'kill-mysqld')
  await cluster.waitFor('another one leads', (view) => view.writable && view.primary !== primary)
  await everywhere('select count(*) from unlogged.t', '1')
  await cluster.whole()
}, 300_000)
