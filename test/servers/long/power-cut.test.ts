import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Parts } from '#agents/instance/parts.ts'
import { freshState, StoredStateFile } from '#agents/instance/stored-state.ts'
import { aServerState, replicaOfEpoch3, ScriptedServer, testParts } from '#agents/testing.ts'
import { createVolume } from '#agents/volume/volume.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import type { PromiseOrder } from '#failover/protocol/order.ts'
import { realDisk, realWorld } from '#common/ports/real-world.ts'
import { runCommand } from '#common/process/run-command.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import { memberOf } from '#topology/testing.ts'
import { BareInstance, until } from '#test/support/bare-instance.ts'
import { SmallDisk } from '#test/support/small-disk.ts'
import { givePromise, rememberStop } from '#agents/testing-passes.ts'

const scratch = await mkdtemp(join(tmpdir(), 'regent-power-'))
const whyNot = await SmallDisk.whyNot(scratch)
await rm(scratch, { recursive: true, force: true })
if (whyNot !== undefined) console.warn(`power-cut.test.ts is skipped: ${whyNot}`)

const order: PromiseOrder = {
  version: orderVersion,
  cluster: 'power',
  member: memberOf('shop-0'),
  epoch: 4,
  revision: 11,
  after: '',
  waitMs: 0,
}
const writes = 40

/**
 * A file system whose journal is cut off keeps what was synced, and loses what the page cache alone had: as a machine
 * that loses its power.
 */
describe.skipIf(whyNot !== undefined)('A replica whose machine loses its power right after it promised', () => {
  let source: BareInstance
  let replica: BareInstance
  let disk: SmallDisk | undefined

  beforeAll(async () => {
    source = await BareInstance.create('power-0')
    await source.process.initialise()
    await source.start()
    await source.server.setReadOnly('accounts')
    await source.server.setGates(['power-1'])
    await source.server.open()
    const session = await source.session('client', 'app')
    await session.query('create table written (id int auto_increment primary key, body text)')
  })

  beforeEach(async () => {
    replica = await BareInstance.create('power-1')
    disk = await SmallDisk.create(replica.config.volume, 700)
    await replica.process.initialise()
    // A data folder that was copied for a test is not synced as one that mysqld makes.
    await runCommand(['sync', '--file-system', replica.config.volume], { deadlineMs: 30_000 })
    await replica.start()
  })

  afterEach(async () => {
    replica.server.disconnect()
    await replica.process.kill()
    await disk?.remove()
    await replica.remove()
  })

  afterAll(() => source.remove())

  /** It receives writes that it does not apply, and acknowledges them. */
  async function receive(): Promise<void> {
    await replica.server.pointTo(source.sourceFor(replica))
    await replica.server.startApplier()
    await replica.server.startReceiver()
    await until(
      async () => (await replica.server.readState()).executed === (await source.server.readState()).executed,
      'the replica has caught up',
    )
    await replica.server.stopApplier()
    const session = await source.session('client', 'app')
    for (let write = 0; write < writes; write += 1)
      await session.query("insert into written (body) values (repeat('x', 500))")
    const { executed } = await source.server.readHolds()
    await until(
      async () => GtidSet.parse((await replica.server.readHolds()).received).contains(GtidSet.parse(executed)),
      'the replica has received all',
    )
  }

  async function partsOf(instance: BareInstance): Promise<Parts> {
    const stateFile = join(instance.config.volume, 'agent', 'state')
    const file = await StoredStateFile.open(realDisk, stateFile, () => freshState('volume-0', 'boot'))
    await file.update({
      promise: 3,
      revision: 10,
      assignment: { ...replicaOfEpoch3, counted: true },
      stoppedInOrder: false,
    })
    const parts = await testParts(new ScriptedServer(aServerState()))
    return {
      ...parts,
      file,
      server: instance.server,
      process: instance.process,
      volume: createVolume(instance.config, () => realWorld.clock.wallMs()),
    }
  }

  async function losePower(): Promise<StoredStateFile> {
    replica.server.disconnect()
    await disk?.turnReadOnly()
    await replica.process.kill()
    await disk?.repair()
    return StoredStateFile.open(realDisk, join(replica.config.volume, 'agent', 'state'), () =>
      freshState('another', 'boot'),
    )
  }

  async function holdsNow(): Promise<GtidSet> {
    await replica.start()
    const { executed, received } = await replica.server.readHolds()
    return unionOf([executed, received])
  }

  it('has its promise, the mark of an orderly stop, and all that it reported', async () => {
    await receive()
    const parts = await partsOf(replica)
    await givePromise(parts, order)
    await rememberStop(parts)
    const reported = GtidSet.parse(parts.course.promiseReport?.holds ?? '')
    expect(reported.count()).toBeGreaterThan(writes)
    const { current } = await losePower()
    expect(current).toMatchObject({ volume: 'volume-0', promise: 4, revision: 11, stoppedInOrder: true })
    expect((await holdsNow()).contains(reported)).toBe(true)
  })

  it('and one that promised nothing has lost what it received and acknowledged, and has no mark of an orderly stop', async () => {
    await receive()
    await partsOf(replica)
    const { executed, received } = await replica.server.readHolds()
    const { current } = await losePower()
    expect(current).toMatchObject({ promise: 3, stoppedInOrder: false })
    expect((await holdsNow()).contains(unionOf([executed, received]))).toBe(false)
  })
})
