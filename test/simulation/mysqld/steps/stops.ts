import { endsOf, executes, follow, holdsOf, open, outcomeOf, writeThatWaits } from './moves.ts'
import type { Script, Stage, StagedServer, StagedWrite } from './stage.ts'

/** The second server has what was acknowledged, and two writes wait for nobody. */
async function twoWaiting(stage: Stage): Promise<{
  source: StagedServer
  replica: StagedServer
  writes: readonly StagedWrite[]
}> {
  const [source, replica] = stage.servers as [StagedServer, StagedServer]
  await source.start()
  await replica.start()
  await open(source, 1)
  await follow(stage, { source, replica })
  await endsOf(await source.write())
  await executes(replica, (await source.port.readHolds()).executed)
  await replica.port.stopReceiver()
  await source.port.killDumpThreads(() => false)
  return { source, replica, writes: [await writeThatWaits(stage, source), await writeThatWaits(stage, source)] }
}

/** How a server ends, and what is there when it comes back. */
export const stops: readonly Script[] = [
  {
    title: 'A stop in order tells what waits OK, with no acknowledgement; the files tell of the stop',
    servers: 2,
    play: async (stage, note) => {
      const { source, replica, writes } = await twoWaiting(stage)
      await source.terminate()
      note('the clients hear', await endsOf(...writes))
      note('it ended', (await source.volume.endedHow()).how)
      note('in its files', await source.volume.readBinlogSet())
      note('the replica', await holdsOf(replica))
      await source.start()
      note('the source', await holdsOf(source))
    },
    seen: [
      'the clients hear: OK, OK',
      'it ended: stopped',
      'in its files: A:1-3',
      'the replica: executed A:1, received A:1',
      'the source: executed A:1-3',
    ],
  },
  {
    title: 'A killed server tells waiting clients nothing, and commits what waited when it starts',
    servers: 2,
    play: async (stage, note) => {
      const { source, writes } = await twoWaiting(stage)
      const { uuid } = await source.port.readState()
      await source.kill()
      note('the clients hear', await endsOf(...writes))
      note('it ended', (await source.volume.endedHow()).how)
      note('in its files', await source.volume.readBinlogSet())
      await source.start()
      note('the source', await holdsOf(source))
      const state = await source.port.readState()
      note('the same server', state.uuid === uuid)
      note('read-only, super, offline', [state.readOnly, state.superReadOnly, state.offlineMode])
      note('semi-sync', [state.semiSyncSource.enabled, state.semiSyncSource.unacknowledged])
    },
    seen: [
      'the clients hear: lost, lost',
      'it ended: crashed',
      'in its files: A:1-3',
      'the source: executed A:1-3',
      'the same server: true',
      'read-only, super, offline: [true,true,true]',
      'semi-sync: [false,0]',
    ],
  },
  {
    title: 'A tail that is cut off before the start leaves no trace, and the server is another one',
    servers: 2,
    play: async (stage, note) => {
      const { source, replica } = await twoWaiting(stage)
      const { uuid } = await source.port.readState()
      const { executed } = await replica.port.readHolds()
      await source.kill()
      const judged = await source.volume.judgeTail(executed)
      note('judged', judged.kind === 'nothing' ? 'nothing' : [judged.kind, judged.gtids])
      await source.volume.trimTail(executed)
      note('in its files', await source.volume.readBinlogSet())
      await source.start()
      note('the source', await holdsOf(source))
      note('the same server', (await source.port.readState()).uuid === uuid)
      await open(replica, 0)
      await endsOf(await replica.write())
      await follow(stage, { source: replica, replica: source, acknowledges: false })
      await executes(source, (await replica.port.readHolds()).executed)
      note('the source, following', await holdsOf(source))
    },
    seen: [
      'judged: ["trim","A:2-3"]',
      'in its files: A:1',
      'the source: executed A:1',
      'the same server: false',
      'the source, following: executed A:1,B:1, received B:1',
    ],
  },
  {
    title: 'A tail that had been committed after all is cut off its binlog and stays executed',
    servers: 2,
    play: async (stage, note) => {
      const { source, replica, writes } = await twoWaiting(stage)
      const { executed } = await replica.port.readHolds()
      await source.port.setSemiSyncSource(0)
      note('the clients hear', await endsOf(...writes))
      // InnoDB syncs its log once a second: until then a crash takes a commit back.
      await stage.sleep(2_500)
      await source.kill()
      const judged = await source.volume.judgeTail(executed)
      note('judged', judged.kind === 'nothing' ? 'nothing' : [judged.kind, judged.gtids])
      await source.volume.trimTail(executed)
      await source.start()
      note('the source', await holdsOf(source))
      note('purged', (await source.port.readState()).purged)
    },
    seen: ['the clients hear: OK, OK', 'judged: ["trim","A:2-3"]', 'the source: executed A:1-3', 'purged: A:2-3'],
  },
  {
    title: 'A tail of a server that started once more is not in the newest binlog file, and is not to be cut',
    servers: 2,
    play: async (stage, note) => {
      const { source, replica } = await twoWaiting(stage)
      const { executed } = await replica.port.readHolds()
      await source.kill()
      await source.start()
      await source.kill()
      const judged = await source.volume.judgeTail(executed)
      note('judged', judged.kind === 'nothing' ? 'nothing' : [judged.kind, judged.gtids])
    },
    seen: ['judged: ["refuse","A:2-3"]'],
  },
  {
    title: 'A new binlog file is not begun while a write waits',
    servers: 2,
    play: async (stage, note) => {
      const { source, replica } = await twoWaiting(stage)
      note('a new file', await outcomeOf(source.port.beginBinlogAfter(0)))
      const { executed } = await replica.port.readHolds()
      await source.kill()
      const judged = await source.volume.judgeTail(executed)
      note('judged', judged.kind === 'nothing' ? 'nothing' : [judged.kind, judged.gtids])
    },
    seen: ['a new file: REGENT_SERVER_TIMEOUT', 'judged: ["trim","A:2-3"]'],
  },
  {
    title: 'A new binlog file begins behind what is acknowledged',
    servers: 2,
    play: async (stage, note) => {
      const { source, replica } = await twoWaiting(stage)
      const { executed } = await replica.port.readHolds()
      await follow(stage, { source, replica })
      await source.port.writeMarker('0123456789abcdef', 1)
      note('a new file', await outcomeOf(source.port.beginBinlogAfter(0)))
      await source.kill()
      const judged = await source.volume.judgeTail(executed)
      note('judged', judged.kind === 'nothing' ? 'nothing' : [judged.kind, judged.gtids])
    },
    seen: ['a new file: done', 'judged: ["refuse","A:2-4"]'],
  },
]
