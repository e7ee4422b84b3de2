import { describe, expect, it } from 'vitest'
import { aDumpThreadOf } from '#topology/testing.ts'
import { aServerState, primaryOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { keepUnsettled } from '../doubts/unsettled.ts'
import type { Ending } from '../ports/volume.ts'
import { lifeOf } from '../instance/life.ts'
import { wakeWaiting, writeMarker } from './marker.ts'

/** A server whose markers are acknowledged when a test says so. */
class WaitingServer extends ScriptedServer {
  readonly acknowledge: (() => void)[] = []
  override readonly writeMarker = (): Promise<void> => new Promise((resolve) => this.acknowledge.push(resolve))
}

async function primary(how: Ending['how'] = 'crashed') {
  const server = new WaitingServer(aServerState())
  let ended = 0
  const parts = {
    ...(await testParts(server, { volume: { glanceAtEnding: async () => ({ how, sentence: '' }) } })),
    wake: () => void (ended += 1),
  }
  await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3, unsettled: true })
  const acknowledged = async (index: number): Promise<void> => {
    const before = ended
    server.acknowledge[index]?.()
    while (ended === before) await parts.world.timers.sleep(1)
  }
  return { server, parts, acknowledged }
}

describe('markers', () => {
  it('prove their revision and settle a tail once they are acknowledged', async () => {
    const { parts, acknowledged } = await primary()
    writeMarker(parts, 10)
    expect(lifeOf(parts).markedRevision).toBe(0)
    await acknowledged(0)
    expect(lifeOf(parts).markedRevision).toBe(10)
    expect(parts.file.current.unsettled).toBe(false)
  })

  it('prove nothing when a stranger acknowledged meanwhile', async () => {
    const { parts, acknowledged } = await primary()
    writeMarker(parts, 10)
    await keepUnsettled(parts)
    await acknowledged(0)
    expect(lifeOf(parts).markedRevision).toBe(0)
    expect(parts.file.current.unsettled).toBe(true)
  })

  it.each([
    ['off', { enabled: false }],
    ['on with a time-out', { intact: false }],
    ['for fewer', { acks: 0 }],
  ])(
    'prove nothing where a hand switched acknowledgements %s meanwhile, and nobody has noticed yet',
    async (_how, semiSyncSource) => {
      const { server, parts, acknowledged } = await primary()
      writeMarker(parts, 10)
      server.state = aServerState({ semiSyncSource })
      await acknowledged(0)
      expect(lifeOf(parts).markedRevision).toBe(0)
      expect(parts.file.current.unsettled).toBe(true)
    },
  )

  it('prove nothing while a stranger is connected that nobody has noticed yet', async () => {
    const { server, parts, acknowledged } = await primary()
    writeMarker(parts, 10)
    server.state = aServerState({ dumpThreads: [aDumpThreadOf('shop-1', { user: 'reporting' })] })
    await acknowledged(0)
    expect(lifeOf(parts).markedRevision).toBe(0)
    expect(parts.file.current.unsettled).toBe(true)
  })

  it('prove nothing when they return because the server is being shut down', async () => {
    const { parts, acknowledged } = await primary('stopped')
    writeMarker(parts, 10)
    await acknowledged(0)
    expect(lifeOf(parts).markedRevision).toBe(0)
    expect(parts.file.current.unsettled).toBe(true)
  })

  it('prove nothing for another revision, nor for a server that was replaced meanwhile', async () => {
    const { parts, acknowledged } = await primary()
    writeMarker(parts, 9)
    await acknowledged(0)
    writeMarker(parts, 10)
    Object.assign(parts.process, { pid: 2_000 })
    await acknowledged(1)
    expect(lifeOf(parts).markedRevision).toBe(0)
  })

  it('wake what waits once for each reconnection, and not again and again', async () => {
    const { server, parts } = await primary()
    writeMarker(parts, 10)
    for (const connections of ['20', '20', '21', '21', '20,21', '22', '23', '24']) wakeWaiting(parts, 10, connections)
    expect(server.acknowledge).toHaveLength(1 + 4)
  })
})
