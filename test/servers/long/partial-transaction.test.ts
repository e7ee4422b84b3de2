import type { Connection } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Notices } from '#agents/instance/notices.ts'
import { salvage } from '#agents/salvage/salvaging.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { createVolume } from '#agents/volume/volume.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { until, type BareInstance } from '#test/support/bare-instance.ts'
import { elapsed } from '#test/support/monotonic.ts'
import { SourceAndReplica } from '#test/support/source-and-replica.ts'
import { firstValue } from '#test/support/sql-session.ts'
import { expectBelow } from '#test/support/expect-below.ts'

let servers: SourceAndReplica
let source: BareInstance
let replica: BareInstance
let asking: Connection
let written: Promise<unknown> = Promise.resolve()

beforeAll(async () => {
  servers = await SourceAndReplica.create()
  ;({ source, replica } = servers)
  await servers.initialise()
  await servers.start()
  await servers.openWithReplica()
  asking = await replica.session('admin')
  const client = await source.session('client', 'app')
  await client.query('CREATE TABLE large (id INT AUTO_INCREMENT PRIMARY KEY, body LONGBLOB)')
})

afterAll(() => servers.remove())

const manyRows = `INSERT INTO app.large (body) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
  SELECT REPEAT(SHA2(RAND(), 256), 8000) FROM n`

const asked = (query: string) => firstValue(asking, query)

/** The transaction that the replica receives right now; '' for none. */
const arriving = () => asked('SELECT QUEUEING_TRANSACTION FROM performance_schema.replication_connection_status')

const beingApplied = () =>
  asked("SELECT COUNT(*) FROM performance_schema.replication_applier_status_by_worker WHERE APPLYING_TRANSACTION <> ''")

/** Cuts the stream in the middle of a transaction of 200 MB. What came stays in the relay log. */
async function receiveInPart(): Promise<string> {
  const client = await source.session('client', 'app')
  written = client.query(manyRows).catch(() => undefined)
  await until(async () => (await arriving()) !== '', 'a transaction arrives')
  await replica.server.stopReceiver()
  const gtid = await arriving()
  await until(async () => (await beingApplied()) === '1', 'an applier has begun with the part')
  return gtid
}

describe('A transaction that a replica received in part', () => {
  it('is not held, in no report', async () => {
    const partial = parseGtidSet(await receiveInPart())
    expect(partial.count()).toBe(1)
    const { executed, received, owned } = await replica.server.readHolds()
    const state = await replica.server.readState()
    for (const set of [executed, received, owned, state.executed, state.received, state.owned])
      expect(parseGtidSet(set).intersect(partial).isEmpty()).toBe(true)
  })

  it('keeps nobody waiting: the applier stops, starts, and the transaction comes whole once the source sends again', async () => {
    expectBelow(5_000, await elapsed(replica.server.stopApplier()))
    expect((await replica.server.readState()).channel?.sqlRunning).toBe(false)
    await replica.server.startApplier()
    await replica.server.startReceiver()
    await written
    const { executed } = await source.server.readState()
    await until(async () => replica.server.waitExecuted(executed, 1_000), 'everything is applied')
    expect((await replica.server.readState()).channel).toMatchObject({ sqlRunning: true, sqlError: '' })
    expect(await asked('SELECT COUNT(*) FROM app.large')).toBe('400')
  })

  it('keeps nobody waiting, either, of which only the GTID came', async () => {
    await (await source.session('admin')).query('SET GLOBAL max_allowed_packet = 1073741824')
    const client = await source.session('admin', 'app')
    const comment = 'x'.repeat(300 * 1_048_576)
    written = client.query(`CREATE TABLE wide (id INT PRIMARY KEY) /* ${comment} */`).catch(() => undefined)
    await until(async () => (await arriving()) !== '', 'a transaction arrives')
    await replica.server.stopReceiver()
    const gtid = parseGtidSet(await arriving())
    expect(gtid.count()).toBe(1)
    // The coordinator has read that GTID, and no worker was given anything.
    expect(await beingApplied()).toBe('0')
    expectBelow(5_000, await elapsed(replica.server.stopApplier()))
    await replica.server.startApplier()
    await replica.server.startReceiver()
    await written
    const { executed } = await source.server.readState()
    expect(parseGtidSet(executed).contains(gtid)).toBe(true)
    await until(async () => replica.server.waitExecuted(executed, 1_000), 'everything is applied')
    expect((await replica.server.readState()).channel).toMatchObject({ sqlRunning: true, sqlError: '' })
  })

  it('is forgotten with its source', async () => {
    await receiveInPart()
    await replica.server.stopApplier()
    expectBelow(5_000, await elapsed(replica.server.forgetSource()))
    const { received, owned } = await replica.server.readHolds()
    expect([received, owned]).toEqual(['', ''])
  })

  it('keeps nobody waiting, either, once the whole of that comes from the volume of the dead source', async () => {
    await servers.follow()
    await written
    const partial = parseGtidSet(await receiveInPart())
    await source.process.kill()
    const [from, volume] = [source, replica].map(({ config }) => createVolume(config, Date.now))
    const tail = {
      find: (wanted: string) => from!.findTail(wanted),
      read: (file: string, offset: number, end: number) => from!.readTail(file, offset, end),
    }
    const owner = 'bare-0@0123456789ab'
    const until = await from!.readBinlogSet()
    await salvage(
      {
        server: replica.server,
        volume: volume!,
        tail: () => tail,
        notices: new Notices(realWorld.clock, () => undefined),
      },
      {
        ...{ version: 1, cluster: 'bare', member: 'bare-1@0123456789ab', epoch: 2, revision: 1 },
        ...{ from: { ...source.sourceFor(replica), instance: 'bare-0', agent: '' }, until, salvage: owner },
        deadlineMs: 20_000,
      },
      owner,
    )
    expect(parseGtidSet((await replica.server.readState()).executed).contains(partial)).toBe(true)
    expect((await replica.server.readState()).channel).toMatchObject({ sqlRunning: true, sqlError: '' })
  })
})
