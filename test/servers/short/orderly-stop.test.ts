import { afterAll, beforeAll, it } from 'vitest'
import { BareInstance, until } from '#test/support/bare-instance.ts'
import { expectBelow } from '#test/support/expect-below.ts'
import { monotonicMs } from '#test/support/monotonic.ts'

let source: BareInstance
let replica: BareInstance

beforeAll(async () => {
  source = await BareInstance.create('bare-0')
  replica = await BareInstance.create('bare-1')
  await Promise.all([source, replica].map((instance) => instance.process.initialise().then(() => instance.start())))
})

afterAll(async () => {
  await source.remove()
  await replica.remove()
})

it('a server that a replica reads from, and clients are connected to, does not wait ten seconds for them before it ends', async () => {
  await source.server.setReadOnly('accounts')
  await source.server.setGates([replica.name])
  await source.server.open()
  await Promise.all([source.session('client'), source.session('admin')])
  await replica.server.pointTo(source.sourceFor(replica))
  await replica.server.startReceiver()
  await until(async () => (await source.server.readState()).dumpThreads.length === 1, 'the replica reads')
  const toldMs = monotonicMs()
  await source.server.shutdown()
  await until(() => source.process.state === 'dead', 'mysqld has ended')
  expectBelow(7_000, monotonicMs() - toldMs)
})
