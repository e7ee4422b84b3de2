import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { byHand } from '../../support/by-hand.ts'
import { withCluster } from '../../support/with-cluster.ts'

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
