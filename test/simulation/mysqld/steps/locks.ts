import { endsOf, heardOf, holdsOf, open, outcomeOf } from './moves.ts'
import type { Note, Script, Stage, StagedServer } from './stage.ts'

async function opened(stage: Stage): Promise<StagedServer> {
  const [source] = stage.servers as [StagedServer]
  await source.start()
  await open(source, 0)
  return source
}

async function noteBlockers(note: Note, { port }: StagedServer): Promise<void> {
  const blockers = await port.blockers()
  note(
    'in the way',
    blockers.map(({ lock, user, waits, commits, mayCommit }) => [lock, user, waits, commits, mayCommit]),
  )
}

/** Locks of others that stand in the way of clients and of the agent. */
export const locks: readonly Script[] = [
  {
    title: 'A global read lock holds up writes, markers and gates until it is released',
    servers: 1,
    play: async (stage, note) => {
      const source = await opened(stage)
      const lock = await source.takeLock('the global read lock')
      const write = await source.write()
      const marker = outcomeOf(source.port.writeMarker('0123456789abcdef', 1))
      const gates = outcomeOf(source.port.setGates([]))
      await stage.sleep(500)
      note('the client hears', heardOf(write))
      await noteBlockers(note, source)
      note('gates', await gates)
      note('the source', await holdsOf(source))
      await lock.release()
      note('the client hears', await endsOf(write))
      note('the marker', await marker)
      await noteBlockers(note, source)
      note('gates', await outcomeOf(source.port.setGates([])))
    },
    seen: [
      'the client hears: nothing',
      'in the way: [["the global read lock","admin",false,false,false]]',
      'gates: REGENT_SERVER_TIMEOUT',
      'the source: executed nothing',
      'the client hears: OK',
      'the marker: done',
      'in the way: []',
      'gates: done',
    ],
  },
  {
    title: 'A backup lock holds up gates and no writes, until whoever holds it is ended',
    servers: 1,
    play: async (stage, note) => {
      const source = await opened(stage)
      await source.takeLock('the backup lock')
      note('the client hears', await endsOf(await source.write()))
      note('a marker', await outcomeOf(source.port.writeMarker('0123456789abcdef', 1)))
      const gates = outcomeOf(source.port.setGates([]))
      await stage.sleep(500)
      await noteBlockers(note, source)
      const [blocker] = await source.port.blockers()
      if (blocker === undefined) throw new Error('nobody is in the way')
      await source.port.endBlocker(blocker)
      note('gates', await gates)
      note('open gates', (await source.port.readState()).openGates)
    },
    seen: [
      'the client hears: OK',
      'a marker: done',
      'in the way: [["the backup lock","admin",false,false,true]]',
      'gates: done',
      'open gates: []',
    ],
  },
  {
    title: 'Whoever holds a lock is ended with all others that are not of the cluster',
    servers: 1,
    play: async (stage, note) => {
      const source = await opened(stage)
      await source.takeLock('the global read lock')
      await source.takeLock('the backup lock')
      await source.port.setOffline(true)
      await source.port.killForeignSessions()
      note('gates', await outcomeOf(source.port.setGates([])))
      note('super_read_only', await outcomeOf(source.port.setReadOnly('closed')))
    },
    seen: ['gates: done', 'super_read_only: done'],
  },
  {
    title:
      'A server is closed under a global read lock of somebody else, and then refuses what waited behind that lock',
    servers: 1,
    play: async (stage, note) => {
      const source = await opened(stage)
      const lock = await source.takeLock('the global read lock')
      const write = await source.write()
      await stage.sleep(300)
      note('super_read_only', await outcomeOf(source.port.setReadOnly('closed')))
      await lock.release()
      note('the client hears', await endsOf(write))
      note('the source', await holdsOf(source))
    },
    seen: ['super_read_only: done', 'the client hears: refused', 'the source: executed nothing'],
  },
]
