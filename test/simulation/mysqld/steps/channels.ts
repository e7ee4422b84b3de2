import { endsOf, executes, follow, holdsOf, open, outcomeOf } from './moves.ts'
import type { Note, Script, Stage, StagedServer } from './stage.ts'

/** A replica that has received two writes and applied none; neither waits for the other. */
async function replicaBehind(stage: Stage): Promise<{ source: StagedServer; replica: StagedServer }> {
  const [source, replica] = stage.servers as [StagedServer, StagedServer]
  await source.start()
  await replica.start()
  await open(source, 1)
  await follow(stage, { source, replica })
  await replica.port.stopApplier()
  await endsOf(await source.write(), await source.write())
  return { source, replica }
}

async function noteChannel(note: Note, { port }: StagedServer): Promise<void> {
  const { channel } = await port.readState()
  note('its channel', channel && [channel.ioRunning, channel.sqlRunning, `${channel.backlogTransactions} to apply`])
}

/** What a replica received, and what becomes of that. */
export const channels: readonly Script[] = [
  {
    title: 'CHANGE REPLICATION SOURCE with both threads stopped throws away what is received and not applied',
    servers: 2,
    play: async (stage, note) => {
      const { replica } = await replicaBehind(stage)
      note('the replica', await holdsOf(replica))
      await replica.changeSourceWithBothStopped()
      note('the replica', await holdsOf(replica))
      await noteChannel(note, replica)
      await replica.port.startReceiver()
      await replica.port.startApplier()
      await stage.until(async () => (await replica.port.readHolds()).executed !== '', 'it is sent that again')
    },
    seen: [
      'the replica: executed nothing, received A:1-2',
      'the replica: executed nothing',
      'its channel: ["no",false,"0 to apply"]',
    ],
  },
  {
    title: 'A replica that is pointed elsewhere by its agent keeps what it received, and applies that',
    servers: 2,
    play: async (stage, note) => {
      const { source, replica } = await replicaBehind(stage)
      const { received } = await replica.port.readHolds()
      note('pointed while it receives', await outcomeOf(replica.port.pointTo(source.sourceFor(replica))))
      await replica.port.stopReceiver()
      await replica.port.pointTo({ ...source.sourceFor(replica), host: '127.24.1.200' })
      await executes(replica, received)
      note('the replica', await holdsOf(replica))
      await noteChannel(note, replica)
    },
    seen: [
      'pointed while it receives: REGENT_SERVER_ERROR',
      'the replica: executed A:1-2, received A:1-2',
      'its channel: ["no",true,"0 to apply"]',
    ],
  },
  {
    title:
      'A replica that has applied all, with its applier running, is pointed elsewhere and still says what it received',
    servers: 2,
    play: async (stage, note) => {
      const { source, replica } = await replicaBehind(stage)
      await replica.port.startApplier()
      await executes(replica, (await source.port.readHolds()).executed)
      await replica.port.stopReceiver()
      await replica.port.pointTo({ ...source.sourceFor(replica), host: '127.24.1.200' })
      note('the replica', await holdsOf(replica))
      await noteChannel(note, replica)
    },
    seen: ['the replica: executed A:1-2, received A:1-2', 'its channel: ["no",true,"0 to apply"]'],
  },
  {
    title:
      'A replica that has applied all, with its applier stopped, is pointed elsewhere and no longer says what it received',
    servers: 2,
    play: async (stage, note) => {
      const { source, replica } = await replicaBehind(stage)
      await replica.port.startApplier()
      await executes(replica, (await source.port.readHolds()).executed)
      await replica.port.stopReceiver()
      await replica.port.stopApplier()
      await replica.port.pointTo({ ...source.sourceFor(replica), host: '127.24.1.200' })
      note('the replica', await holdsOf(replica))
      await noteChannel(note, replica)
    },
    seen: ['the replica: executed A:1-2', 'its channel: ["no",false,"0 to apply"]'],
  },
  {
    title: 'A replica that forgets its source has received nothing, and has executed what it has executed',
    servers: 2,
    play: async (stage, note) => {
      const { source, replica } = await replicaBehind(stage)
      await replica.port.startApplier()
      await executes(replica, (await source.port.readHolds()).executed)
      await replica.port.forgetSource()
      note('the replica', await holdsOf(replica))
      await noteChannel(note, replica)
    },
    seen: ['the replica: executed A:1-2', 'its channel: null'],
  },
  {
    title: 'A killed replica starts with all that it received, applies nothing by itself, and then all of that',
    servers: 2,
    play: async (stage, note) => {
      const { replica } = await replicaBehind(stage)
      const before = await holdsOf(replica)
      await replica.kill()
      note('in its files', await replica.volume.readBinlogSet())
      await replica.start()
      note('the replica', await holdsOf(replica))
      note('as before', before === (await holdsOf(replica)))
      await noteChannel(note, replica)
      await replica.port.startApplier()
      await executes(replica, (await replica.port.readHolds()).received)
      note('the replica', await holdsOf(replica))
    },
    seen: [
      'in its files: A:1-2',
      'the replica: executed nothing, received A:1-2',
      'as before: true',
      'its channel: ["no",false,"2 to apply"]',
      'the replica: executed A:1-2, received A:1-2',
    ],
  },
  {
    title: 'A replica whose account is locked is not let in; once the account is open, it comes by itself',
    servers: 2,
    play: async (stage, note) => {
      const { source, replica } = await replicaBehind(stage)
      await source.port.setGates([])
      note('dump threads', (await source.port.readState()).dumpThreads.length)
      const connected = async () => (await replica.port.readState()).channel?.ioRunning === 'yes'
      await stage.until(async () => !(await connected()), 'the replica notices')
      const error = async () => (await replica.port.readState()).channel?.ioError ?? ''
      await stage.until(async () => /locked/.test(await error()), 'the replica is refused')
      await noteChannel(note, replica)
      await source.port.setGates([replica.name])
      await stage.until(connected, 'the replica is let in')
      note('the client hears', await endsOf(await source.write()))
    },
    seen: ['dump threads: 0', 'its channel: ["connecting",false,"2 to apply"]', 'the client hears: OK'],
  },
]
