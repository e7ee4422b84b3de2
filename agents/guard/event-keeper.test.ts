import { describe, expect, it } from 'vitest'
import { EventKeeper } from './event-keeper.ts'
import { aServerState, primaryOfEpoch3, ScriptedProcess, ScriptedServer, testParts, watcherOf } from '../testing.ts'
import { changeLife, settable } from '../testing-known.ts'
import { opened } from '../testing-passes.ts'

async function aPrimary() {
  const [server, process] = [new ScriptedServer(aServerState()), new ScriptedProcess()]
  const fixed = await testParts(server, { process })
  const time = { nowMs: 1_000_000 }
  const parts = { ...fixed, world: { ...fixed.world, clock: { ...fixed.world.clock, monotonicMs: () => time.nowMs } } }
  await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3 })
  changeLife(parts, { stage: opened })
  settable(parts).course.converged = { revision: 10, done: true, sentence: '' }
  return { parts, server, process, time, keeper: watcherOf(parts, new EventKeeper(parts)) }
}

describe('events that a person disabled', () => {
  it('are recorded once by a primary, and again when one was changed or the server is another', async () => {
    const { parts, server, process, keeper } = await aPrimary()
    await keeper.look()
    await keeper.look()
    expect(server.calls).toEqual(['record events'])
    server.changedEvents = 1
    await keeper.look()
    await keeper.look()
    expect(server.calls).toHaveLength(2)
    process.pid = 1_001
    changeLife(parts, { stage: opened })
    await keeper.look()
    expect(server.calls).toHaveLength(3)
  })

  it('are recorded again within seconds where a hand removed what was recorded, or no change is counted', async () => {
    const { server, time, keeper } = await aPrimary()
    await keeper.look()
    time.nowMs += 2_999
    await keeper.look()
    expect(server.calls).toHaveLength(1)
    time.nowMs += 1
    await keeper.look()
    expect(server.calls).toEqual(['record events', 'record events'])
  })

  it('are recorded by nobody but an open primary that has enabled what ran before', async () => {
    const { parts, server, keeper } = await aPrimary()
    changeLife(parts, { stage: { ...opened, tidyAtMs: 0 } })
    await keeper.look()
    changeLife(parts, { stage: { ...opened, step: 'gated' } })
    await keeper.look()
    changeLife(parts, { stage: opened })
    await parts.file.update({ promise: 4 })
    await keeper.look()
    expect(server.calls).toEqual([])
  })

  it('are recorded at the next look where that failed, which is said', async () => {
    const { parts, server, keeper } = await aPrimary()
    const record = server.recordEvents
    server.recordEvents = () => Promise.reject(new Error('no'))
    await keeper.look()
    expect(parts.notices.list.at(-1)).toMatchObject({ code: 'EventsNotRecorded' })
    server.recordEvents = record
    await keeper.look()
    expect(server.calls).toEqual(['record events'])
  })
})
