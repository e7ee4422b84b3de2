import { endsOf, follow, heardOf, holdsOf, open, outcomeOf, waits, writeThatWaits } from './moves.ts'
import type { Script, Stage, StagedServer, StagedWrite } from './stage.ts'

/** Whatever is still to be heard of a write is heard by then. */
const quietMs = 400

async function threeWaiting(
  ...[stage]: Parameters<Script['play']>
): Promise<{ source: StagedServer; writes: readonly [StagedWrite, StagedWrite, StagedWrite] }> {
  const [source] = stage.servers as [StagedServer]
  await source.start()
  await open(source, 1)
  const writes = [
    await writeThatWaits(stage, source),
    await writeThatWaits(stage, source),
    await writeThatWaits(stage, source),
  ] as const
  return { source, writes }
}

/** A replica comes and acknowledges everything. */
async function acknowledge(stage: Stage): Promise<void> {
  const [source, replica] = stage.servers as [StagedServer, StagedServer]
  await replica.start()
  await follow(stage, { source, replica })
}

/** What becomes of sessions that wait for an acknowledgement when somebody ends them. */
export const endingSessions: readonly Script[] = [
  {
    title: 'A killed session waits on: its client hears nothing more, and its write is committed once acknowledged',
    servers: 2,
    play: async (stage, note) => {
      const [source] = stage.servers as [StagedServer]
      await source.start()
      await open(source, 1)
      const write = await writeThatWaits(stage, source)
      await write.kill()
      note('the client hears', await endsOf(write))
      await stage.sleep(quietMs)
      note('the source', await holdsOf(source))
      note('unacknowledged', (await source.port.readState()).semiSyncSource.unacknowledged)
      await acknowledge(stage)
      await waitsNoMore(stage, source)
      note('the source', await holdsOf(source))
      note('unacknowledged', (await source.port.readState()).semiSyncSource.unacknowledged)
    },
    seen: [
      'the client hears: lost',
      'the source: executed nothing, owned A:1',
      'unacknowledged: 0',
      'the source: executed A:1',
      'unacknowledged: 0',
    ],
  },
  {
    title: 'The leader of a group is killed: the others of the group are told nothing before the acknowledgement',
    servers: 2,
    play: async (stage, note) => {
      const [source] = stage.servers as [StagedServer]
      await source.start()
      await open(source, 1)
      const writes = (await source.writeTogether(3)) as [StagedWrite, StagedWrite, StagedWrite]
      await waits(stage, source, 3)
      await writes[0].kill()
      note('the killed client hears', await endsOf(writes[0]))
      await stage.sleep(quietMs)
      note('the others hear', heardOf(writes[1], writes[2]))
      note('the source', await holdsOf(source))
      await acknowledge(stage)
      note('the others hear', await endsOf(writes[1], writes[2]))
    },
    seen: [
      'the killed client hears: lost',
      'the others hear: nothing, nothing',
      'the source: executed nothing, owned A:1-3',
      'the others hear: OK, OK',
    ],
  },
  {
    title: 'Sessions that wait are killed while others wait behind them: all wait on',
    servers: 2,
    play: async (stage, note) => {
      const { source, writes } = await threeWaiting(stage, note)
      await writes[0].kill()
      await writes[1].kill()
      note('the killed clients hear', await endsOf(writes[0], writes[1]))
      await stage.sleep(quietMs)
      note('the other hears', heardOf(writes[2]))
      note('the source', await holdsOf(source))
      await acknowledge(stage)
      note('the other hears', await endsOf(writes[2]))
      note('the source', await holdsOf(source))
    },
    seen: [
      'the killed clients hear: lost, lost',
      'the other hears: nothing',
      'the source: executed nothing, owned A:1-3',
      'the other hears: OK',
      'the source: executed A:1-3',
    ],
  },
  {
    title: 'Whoever is killed before the group commits is told nothing by a server that is stopped in order either',
    servers: 1,
    play: async (stage, note) => {
      const { source, writes } = await threeWaiting(stage, note)
      await writes[1].kill()
      await endsOf(writes[1])
      await source.terminate()
      note('the clients hear', await endsOf(...writes))
      await source.start()
      note('the source', await holdsOf(source))
    },
    seen: ['the clients hear: OK, lost, OK', 'the source: executed A:1-3'],
  },
  {
    title: 'offline_mode ends sessions that wait, and lets nobody in; what they wrote waits on',
    servers: 2,
    play: async (stage, note) => {
      const [source] = stage.servers as [StagedServer]
      await source.start()
      await open(source, 1)
      const write = await writeThatWaits(stage, source)
      await source.port.setOffline(true)
      note('the client hears', await endsOf(write))
      note('all sessions of others, ended one by one', await outcomeOf(source.port.killForeignSessions()))
      note('the source', await holdsOf(source))
      note('another client hears', await endsOf(await source.write()))
      await acknowledge(stage)
      await waitsNoMore(stage, source)
      note('the source', await holdsOf(source))
      note('once nothing waits', await outcomeOf(source.port.killForeignSessions()))
      await source.port.setOffline(false)
      note('once it is online', await endsOf(await source.write()))
    },
    seen: [
      'the client hears: lost',
      'all sessions of others, ended one by one: REGENT_SERVER_TIMEOUT',
      'the source: executed nothing, owned A:1',
      'another client hears: refused',
      'the source: executed A:1',
      'once nothing waits: done',
      'once it is online: OK',
    ],
  },
  {
    title: 'super_read_only waits for what waits, holds up what comes, and is given up with nothing changed',
    servers: 1,
    play: async (stage, note) => {
      const [source] = stage.servers as [StagedServer]
      await source.start()
      await open(source, 1)
      const write = await writeThatWaits(stage, source)
      const closing = outcomeOf(source.port.setReadOnly('closed', 1_500))
      await stage.sleep(200)
      const during = await source.write()
      let set = false
      const gates = source.port.setGates([]).then(() => (set = true))
      await stage.sleep(300)
      note('gates that are set meanwhile are set', set)
      note('a write that comes meanwhile', heardOf(during))
      note('the source', await holdsOf(source))
      note('super_read_only', await closing)
      await gates
      note('then the gates are set', (await source.port.readState()).openGates)
      const { superReadOnly, readOnly } = await source.port.readState()
      note('read-only', [readOnly, superReadOnly])
      await waits(stage, source, 2)
      note('the source', await holdsOf(source))
      note('the clients hear', heardOf(write, during))
    },
    seen: [
      'gates that are set meanwhile are set: false',
      'a write that comes meanwhile: nothing',
      'the source: executed nothing, owned A:1',
      'super_read_only: REGENT_SERVER_TIMEOUT',
      'then the gates are set: []',
      'read-only: [false,false]',
      'the source: executed nothing, owned A:1-2',
      'the clients hear: nothing, nothing',
    ],
  },
  {
    title: 'A server that is read-only refuses writes, also those that came while it was being closed',
    servers: 2,
    play: async (stage, note) => {
      const [source] = stage.servers as [StagedServer]
      await source.start()
      await open(source, 1)
      const write = await writeThatWaits(stage, source)
      const closing = outcomeOf(source.port.setReadOnly('closed', 20_000))
      await stage.sleep(200)
      const during = await source.write()
      await stage.sleep(200)
      await acknowledge(stage)
      note('super_read_only', await closing)
      note('the clients hear', await endsOf(write, during))
      note('another hears', await endsOf(await source.write()))
      note('the source', await holdsOf(source))
      note('a marker', await outcomeOf(source.port.writeMarker('0123456789abcdef', 1)))
      note('its gates', await outcomeOf(source.port.setGates([])))
      await source.port.setReadOnly('accounts')
      note('its gates, with super_read_only off', await outcomeOf(source.port.setGates([])))
      note('another hears', await endsOf(await source.write()))
    },
    seen: [
      'super_read_only: done',
      'the clients hear: OK, refused',
      'another hears: refused',
      'the source: executed A:1',
      'a marker: REGENT_SERVER_ERROR',
      'its gates: REGENT_SERVER_ERROR',
      'its gates, with super_read_only off: done',
      'another hears: refused',
    ],
  },
]

async function waitsNoMore({ until }: Stage, source: StagedServer): Promise<void> {
  await until(async () => (await source.port.waitingSessions()) === 0, 'nothing waits')
}
