import { endsOf, executes, follow, heardOf, holdsOf, open, outcomeOf, writeThatWaits } from './moves.ts'
import type { Script, StagedServer } from './stage.ts'

const quietly = (): void => undefined

/** What CLONE copies, and what a copy does not say of itself. */
export const copies: readonly Script[] = [
  {
    title: 'A copy has executed what its donor has, and its binlogs name none of that',
    servers: 3,
    play: async (stage, note) => {
      const [donor, copied, third] = stage.servers as [StagedServer, StagedServer, StagedServer]
      await Promise.all(stage.servers.map((server) => server.start()))
      await open(donor, 0)
      await endsOf(await donor.write(), await donor.write())
      const folder = await copied.volume.freshSeedFolder()
      await copied.port.cloneInto(folder, donor.sourceFor(copied), quietly)
      note('while it is copied, the old server', await holdsOf(copied))
      await copied.kill()
      await copied.volume.swapIn(folder)
      await copied.start()
      note('the copy', await holdsOf(copied))
      const { purged, channel, uuid } = await copied.port.readState()
      note('purged', purged)
      note('its channel', channel)
      note('it is the donor', uuid === (await donor.port.readState()).uuid)
      await follow(stage, { source: donor, replica: copied, acknowledges: false })
      await endsOf(await donor.write())
      await executes(copied, (await donor.port.readHolds()).executed)
      note('the copy, following', await holdsOf(copied))
      await third.port.setSemiSyncReplica(false)
      await third.port.pointTo(copied.sourceFor(third))
      await third.port.startApplier()
      await third.port.startReceiver()
      const error = async () => (await third.port.readState()).channel?.ioError ?? ''
      await stage.until(async () => /purged/.test(await error()), 'who lacks what was copied is refused')
      note('who lacks what was copied', (await third.port.readState()).channel?.ioRunning)
      await copied.kill()
      note('in its files', await copied.volume.readBinlogSet())
      await copied.volume.notePurged(purged)
      note('with the note', await copied.volume.readBinlogSet())
      const { executed } = await donor.port.readHolds()
      note('judged against all of that', (await copied.volume.judgeTail(executed)).kind)
      const judged = await copied.volume.judgeTail('')
      note('judged against nothing', judged.kind === 'nothing' ? 'nothing' : [judged.kind, judged.gtids])
    },
    seen: [
      'while it is copied, the old server: executed nothing',
      'the copy: executed A:1-2',
      'purged: A:1-2',
      'its channel: null',
      'it is the donor: false',
      'the copy, following: executed A:1-3, received A:3',
      'who lacks what was copied: no',
      'in its files: A:3',
      'with the note: A:1-3',
      'judged against all of that: nothing',
      'judged against nothing: ["refuse","A:1-3"]',
    ],
  },
  {
    title: 'A copy of a replica carries its channel',
    servers: 3,
    play: async (stage, note) => {
      const [source, donor, copied] = stage.servers as [StagedServer, StagedServer, StagedServer]
      await Promise.all(stage.servers.map((server) => server.start()))
      await open(source, 1)
      await follow(stage, { source, replica: donor })
      await endsOf(await source.write())
      await executes(donor, (await source.port.readHolds()).executed)
      const folder = await copied.volume.freshSeedFolder()
      await copied.port.cloneInto(folder, donor.sourceFor(copied), quietly)
      await copied.kill()
      await copied.volume.swapIn(folder)
      await copied.start()
      const { channel } = await copied.port.readState()
      note('its channel is of the donor', channel?.sourceUser === source.sourceFor(donor).user)
      note('the copy', await holdsOf(copied))
      await copied.port.forgetSource()
      note('its channel', (await copied.port.readState()).channel)
    },
    seen: ['its channel is of the donor: true', 'the copy: executed A:1', 'its channel: null'],
  },
  {
    title: 'A copy waits while a write of its donor waits for an acknowledgement',
    servers: 2,
    play: async (stage, note) => {
      const [donor, copied] = stage.servers as [StagedServer, StagedServer]
      await donor.start()
      await copied.start()
      await open(donor, 1)
      const write = await writeThatWaits(stage, donor)
      const folder = await copied.volume.freshSeedFolder()
      let ended = false
      const copying = outcomeOf(copied.port.cloneInto(folder, donor.sourceFor(copied), quietly)).finally(
        () => (ended = true),
      )
      await stage.sleep(3_000)
      note('the copy has ended', ended)
      note('the client hears', heardOf(write))
      await follow(stage, { source: donor, replica: copied })
      await donor.port.writeMarker('0123456789abcdef', 1)
      note('the client hears', await endsOf(write))
      note('the copy', await copying)
    },
    seen: ['the copy has ended: false', 'the client hears: nothing', 'the client hears: OK', 'the copy: done'],
  },
]
