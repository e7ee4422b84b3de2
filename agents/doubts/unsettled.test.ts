import { describe, expect, it } from 'vitest'
import { judgeEndingFirst } from './ending.ts'
import { aServerState, primaryOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { doubtsOf, keepUnsettled, settle } from './unsettled.ts'
import type { Ending } from '../ports/volume.ts'
import { lifeOf } from '../instance/life.ts'
import { writeMarker } from '../semisync/marker.ts'

const stopped: Ending = { how: 'stopped', sentence: 'its error log says "Received SHUTDOWN"' }
const crashed: Ending = { how: 'crashed', sentence: 'killed' }

/** The agent of an unsettled primary; a test says when a write to its disk is done, and how its server ended. */
async function unsettledPrimary() {
  const server = new ScriptedServer(aServerState())
  const seen = { ending: crashed }
  const parts = await testParts(server, { volume: { glanceAtEnding: async () => seen.ending } })
  await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3, unsettled: true })
  const update = parts.file.update.bind(parts.file)
  const held: (() => void)[] = []
  const hold = () => {
    const written = new Promise<void>((resolve) => held.push(resolve))
    parts.file.update = async (change) => {
      const done = update(change)
      await written
      return done
    }
  }
  return { server, parts, seen, hold, release: () => held.forEach((done) => done()) }
}

describe('the mark of an unsettled tail', () => {
  it('stands again where its server is stopped while the mark of before is being taken away', async () => {
    const { parts, seen, hold, release } = await unsettledPrimary()
    hold()
    const settling = settle(parts, doubtsOf(parts))
    seen.ending = stopped
    const judged = judgeEndingFirst(parts)
    release()
    await Promise.all([settling, judged])
    expect(parts.file.current.unsettled).toBe(true)
    expect(parts.notices.list.map(({ code }) => code)).toEqual(['UnsettledTail'])
  })

  it('is not taken away by a marker that returned before its server was stopped and is looked at after', async () => {
    const { server, parts, seen } = await unsettledPrimary()
    let looks = 0
    server.readState = async () => {
      looks += 1
      // The marker has returned; before what it proves is looked at, the server is stopped, and that is judged.
      seen.ending = stopped
      await judgeEndingFirst(parts)
      seen.ending = crashed
      return server.state
    }
    const done = Promise.withResolvers<void>()
    writeMarker({ ...parts, wake: done.resolve }, 10)
    await done.promise
    expect(looks).toBe(1)
    expect(parts.file.current.unsettled).toBe(true)
    expect(lifeOf(parts).markedRevision).toBe(0)
  })

  it('is taken away where nothing was doubted since the proof began, and only then', async () => {
    const { parts } = await unsettledPrimary()
    const before = doubtsOf(parts)
    await keepUnsettled(parts)
    await settle(parts, before, { mayHaveTail: true })
    expect(parts.file.current).toMatchObject({ unsettled: true, mayHaveTail: true })
    await settle(parts, doubtsOf(parts))
    expect(parts.file.current.unsettled).toBe(false)
  })
})
