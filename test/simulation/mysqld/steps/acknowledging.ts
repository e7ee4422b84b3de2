import { endsOf, executes, follow, heardOf, holdsOf, open, waits, writeThatWaits } from './moves.ts'
import type { Script, Stage, StagedServer, StagedWrite } from './stage.ts'

const marker = '0123456789abcdef'

/** What the server counts, of its sessions and of its transactions. */
async function waitingAt({ port }: StagedServer): Promise<string> {
  const { semiSyncSource } = await port.readState()
  return `${semiSyncSource.waiting} of its sessions, ${await port.waitingSessions()} transactions`
}

async function toldWithout({ port }: StagedServer): Promise<boolean> {
  return (await port.readState()).semiSyncSource.unacknowledged > 0
}

/** Two writes that need two replicas, and that the first has acknowledged. */
async function twoNeeded(stage: Stage): Promise<{
  source: StagedServer
  first: StagedServer
  second: StagedServer
  writes: readonly StagedWrite[]
}> {
  const [source, first, second] = stage.servers as [StagedServer, StagedServer, StagedServer]
  await Promise.all(stage.servers.map((server) => server.start()))
  await open(source, 2)
  await follow(stage, { source, replica: first })
  const writes = [await writeThatWaits(stage, source), await writeThatWaits(stage, source)]
  await first.port.waitReceived((await source.port.readHolds()).owned, 10_000)
  return { source, first, second, writes }
}

/** Who acknowledges, by position in the binlog. */
export const acknowledging: readonly Script[] = [
  {
    title: 'A write returns once a replica has received it, applied or not',
    servers: 2,
    play: async (stage, note) => {
      const [source, replica] = stage.servers as [StagedServer, StagedServer]
      await source.start()
      await replica.start()
      await open(source, 1)
      await follow(stage, { source, replica })
      await replica.port.stopApplier()
      note('the client hears', await endsOf(await source.write()))
      note('the source', await holdsOf(source))
      note('the replica', await holdsOf(replica))
      await replica.port.startApplier()
      await executes(replica, (await source.port.readHolds()).executed)
      note('the replica, once it applies', await holdsOf(replica))
    },
    seen: [
      'the client hears: OK',
      'the source: executed A:1',
      'the replica: executed nothing, received A:1',
      'the replica, once it applies: executed A:1, received A:1',
    ],
  },
  {
    title: 'A write that nobody acknowledges waits: in the binlog, owned, and not executed',
    servers: 1,
    play: async (stage, note) => {
      const [source] = stage.servers as [StagedServer]
      await source.start()
      await open(source, 1)
      const write = await writeThatWaits(stage, source)
      await stage.sleep(300)
      note('the client hears', heardOf(write))
      note('the source', await holdsOf(source))
      note('what waits', await waitingAt(source))
      note('writes and reads of its agent', (await source.port.probeWrite(500)).result)
      await source.port.setGates(['bare-1'])
      note('its gates, set meanwhile', (await source.port.readState()).openGates)
      await source.port.setSemiSyncSource(2)
      note('k, changed meanwhile', (await source.port.readState()).semiSyncSource.acks)
      note('the client hears', heardOf(write))
    },
    seen: [
      'the client hears: nothing',
      'the source: executed nothing, owned A:1',
      'what waits: 1 of its sessions, 1 transactions',
      'writes and reads of its agent: ok',
      'its gates, set meanwhile: ["bare-1"]',
      'k, changed meanwhile: 2',
      'the client hears: nothing',
    ],
  },
  {
    title: 'A replica that holds a waiting write already does not acknowledge it when it connects; the next write does',
    servers: 2,
    play: async (stage, note) => {
      const [source, replica] = stage.servers as [StagedServer, StagedServer]
      await source.start()
      await replica.start()
      await open(source, 1)
      await follow(stage, { source, replica, acknowledges: false })
      const write = await writeThatWaits(stage, source)
      await stage.until(
        async () => (await replica.port.readHolds()).executed !== '',
        'the replica has what nobody acknowledged',
      )
      note('the replica', await holdsOf(replica))
      await follow(stage, { source, replica })
      await stage.sleep(500)
      note('the client hears', heardOf(write))
      await source.port.writeMarker(marker, 1)
      note('the client hears after a marker', await endsOf(write))
      note('the source', await holdsOf(source))
    },
    seen: [
      'the replica: executed A:1, received A:1',
      'the client hears: nothing',
      'the client hears after a marker: OK',
      'the source: executed A:1-2',
    ],
  },
  {
    title: 'A write that needs two is not returned by one replica, and is by another, though the first has gone',
    servers: 3,
    play: async (stage, note) => {
      const { source, first, second, writes } = await twoNeeded(stage)
      await stage.sleep(300)
      note('with one replica', heardOf(...writes))
      await first.port.stopReceiver()
      await follow(stage, { source, replica: second })
      note('with another', await endsOf(...writes))
      note('told without acknowledgement', await toldWithout(source))
    },
    seen: ['with one replica: nothing, nothing', 'with another: OK, OK', 'told without acknowledgement: false'],
  },
  {
    title: 'What a replica acknowledged is forgotten when that replica connects again, until it acknowledges more',
    servers: 3,
    play: async (stage, note) => {
      const { source, first, second, writes } = await twoNeeded(stage)
      await follow(stage, { source, replica: first })
      await follow(stage, { source, replica: second })
      const held = (await source.port.readHolds()).owned
      await second.port.waitReceived(held, 10_000)
      await stage.sleep(500)
      note('with both, of which one came again', heardOf(...writes))
      await source.port.writeMarker(marker, 1)
      note('after a marker', await endsOf(...writes))
      note('told without acknowledgement', await toldWithout(source))
    },
    seen: [
      'with both, of which one came again: nothing, nothing',
      'after a marker: OK, OK',
      'told without acknowledgement: false',
    ],
  },
  {
    title: 'Fewer acknowledgements wanted: what has as many returns at once',
    servers: 2,
    play: async (stage, note) => {
      const [source, replica] = stage.servers as [StagedServer, StagedServer]
      await source.start()
      await replica.start()
      await open(source, 2)
      await follow(stage, { source, replica })
      const write = await writeThatWaits(stage, source)
      await stage.until(async () => (await replica.port.readHolds()).received !== '', 'the replica receives')
      await stage.sleep(200)
      note('k = 2', heardOf(write))
      await source.port.setSemiSyncSource(1)
      note('k = 1', await endsOf(write))
      note('told without acknowledgement', await toldWithout(source))
    },
    seen: ['k = 2: nothing', 'k = 1: OK', 'told without acknowledgement: false'],
  },
  {
    title: 'Semi-sync switched off tells waiting clients OK without an acknowledgement, and counts that',
    servers: 1,
    play: async (stage, note) => {
      const [source] = stage.servers as [StagedServer]
      await source.start()
      await open(source, 1)
      const writes = [await writeThatWaits(stage, source), await writeThatWaits(stage, source)]
      note('told without acknowledgement', await toldWithout(source))
      await source.port.setSemiSyncSource(0)
      note('the clients hear', await endsOf(...writes))
      note('the source', await holdsOf(source))
      note('told without acknowledgement', await toldWithout(source))
    },
    seen: [
      'told without acknowledgement: false',
      'the clients hear: OK, OK',
      'the source: executed A:1-2',
      'told without acknowledgement: true',
    ],
  },
  {
    title: 'Writes that come while one waits wait behind that one, and are released together',
    servers: 2,
    play: async (stage, note) => {
      const [source, replica] = stage.servers as [StagedServer, StagedServer]
      await source.start()
      await replica.start()
      await open(source, 1)
      const writes: StagedWrite[] = []
      for (let count = 0; count < 3; count += 1) writes.push(await writeThatWaits(stage, source))
      note('what waits', await waitingAt(source))
      await follow(stage, { source, replica })
      note('the clients hear', await endsOf(...writes))
      await executes(replica, (await source.port.readHolds()).executed)
      note('the source', await holdsOf(source))
      note('the replica', await holdsOf(replica))
    },
    seen: [
      'what waits: 1 of its sessions, 3 transactions',
      'the clients hear: OK, OK, OK',
      'the source: executed A:1-3',
      'the replica: executed A:1-3, received A:1-3',
    ],
  },
  {
    title: 'Sessions of one group commit wait as one',
    servers: 2,
    play: async (stage, note) => {
      const [source, replica] = stage.servers as [StagedServer, StagedServer]
      await source.start()
      await replica.start()
      await open(source, 1)
      const writes = await source.writeTogether(3)
      await waits(stage, source, 3)
      note('what waits', await waitingAt(source))
      await follow(stage, { source, replica })
      note('the clients hear', await endsOf(...writes))
    },
    seen: ['what waits: 1 of its sessions, 3 transactions', 'the clients hear: OK, OK, OK'],
  },
  {
    title: 'The applier of a server that waits for acknowledgements waits for one as a client does',
    servers: 2,
    play: async (stage, note) => {
      const [source, replica] = stage.servers as [StagedServer, StagedServer]
      await source.start()
      await replica.start()
      await open(source, 1)
      await replica.port.setSemiSyncSource(1)
      await follow(stage, { source, replica })
      note('the client hears', await endsOf(await source.write()))
      await waits(stage, replica, 1)
      await stage.sleep(300)
      note('the replica', await holdsOf(replica))
      await replica.port.setSemiSyncSource(0)
      await executes(replica, (await source.port.readHolds()).executed)
      note('once it waits for nobody', await holdsOf(replica))
    },
    seen: [
      'the client hears: OK',
      'the replica: executed nothing, owned A:1, received A:1',
      'once it waits for nobody: executed A:1, received A:1',
    ],
  },
]
