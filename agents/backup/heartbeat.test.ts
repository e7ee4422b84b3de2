import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import type { Assignment } from '#failover/protocol/assignment.ts'
import type { BackupTask } from '#failover/protocol/backup-task.ts'
import { Lease } from '../guard/lease.ts'
import { learn } from '../instance/learn.ts'
import { ObservationBuilder } from '../observe/observation.ts'
import { aServerState, primaryOfEpoch3, replicaOfEpoch3, ScriptedServer, testParts, watcherOf } from '../testing.ts'
import { Heartbeat } from './heartbeat.ts'

const taskOf = (everySeconds: number): BackupTask => ({
  store: { address: 'memory' },
  retention: { last: 3, days: 7, weeks: 4 },
  archive: { everySeconds: 5 },
  heartbeat: { everySeconds },
})

interface Given {
  readonly everySeconds?: number
  readonly promise?: number
  readonly assignment?: Assignment
  readonly closed?: boolean
}

async function anAgent({ everySeconds = 1, promise = 3, assignment = primaryOfEpoch3, closed = false }: Given = {}) {
  let nowMs = 1_000
  const server = new ScriptedServer(aServerState({ readOnly: closed, superReadOnly: closed }))
  const parts = await testParts(server)
  Object.assign(parts, { world: { ...realWorld, clock: { monotonicMs: () => nowMs, wallMs: () => 7_000 + nowMs } } })
  await parts.file.update({ promise, assignment })
  await parts.observer.refresh()
  learn(parts, { fact: 'converged', done: true })
  learn(parts, { fact: 'backupsTold', task: taskOf(everySeconds) })
  const watcher = watcherOf(parts, new Heartbeat(parts))
  const builder = new ObservationBuilder(parts, new Lease(parts, () => undefined), '0', true)
  return {
    ...{ parts, server },
    beats: () => server.calls.filter((call) => call === 'heartbeat').length,
    shown: () => builder.build().heartbeat,
    later: async (ms: number) => {
      nowMs += ms
      await watcher.look()
    },
  }
}

describe('The heartbeat', () => {
  it('is written by an open primary as often as is said, and shows when the newest was begun', async () => {
    const primary = await anAgent({ everySeconds: 2 })
    for (let second = 1; second <= 4; second += 1) await primary.later(1_000)
    expect([primary.beats(), primary.shown()]).toEqual([2, { atMs: 11_000, everyMs: 2_000 }])
  })

  it.each([
    ['where it is switched off', { everySeconds: 0 }],
    ['by a replica', { assignment: replicaOfEpoch3 }],
    ['by who promised a newer epoch', { promise: 4 }],
    ['by a server that is closed', { closed: true }],
  ])('is not written %s', async (_, given) => {
    const agent = await anAgent(given)
    await agent.later(60_000)
    expect([agent.beats(), agent.shown()]).toEqual([0, undefined])
  })

  it('is not written by who is not converged, closes itself or ends', async () => {
    const [converges, closes, ends] = [await anAgent(), await anAgent(), await anAgent()]
    learn(converges.parts, { fact: 'converged', done: false })
    learn(closes.parts, { fact: 'closedFor', space: say`the disk is nearly full` })
    learn(ends.parts, { fact: 'endBegan', sinceMs: 1 })
    for (const agent of [converges, closes, ends]) {
      await agent.later(60_000)
      expect(agent.beats()).toBe(0)
    }
  })

  it('waits with one session where nobody acknowledges, and shows no time before that is heard', async () => {
    const primary = await anAgent()
    const acknowledged = Promise.withResolvers<void>()
    let sessions = 0
    primary.server.writeHeartbeat = () => ((sessions += 1), acknowledged.promise)
    const first = primary.later(1_000)
    await primary.later(5_000)
    await primary.later(5_000)
    expect([sessions, primary.shown()]).toEqual([1, undefined])
    acknowledged.resolve()
    await first
    expect(primary.shown()).toEqual({ atMs: 9_000, everyMs: 1_000 })
  })

  it('that was acknowledged after a promise of a newer epoch counts for nothing', async () => {
    const primary = await anAgent()
    primary.server.writeHeartbeat = async () => void (await primary.parts.file.update({ promise: 4 }))
    await primary.later(1_000)
    expect(primary.shown()).toBeUndefined()
  })

  it('that fails is told of, unless the server was closed meanwhile', async () => {
    const [locked, closed] = [await anAgent(), await anAgent()]
    locked.server.writeHeartbeat = async () => Promise.reject(new Error('locked'))
    closed.server.writeHeartbeat = async () => {
      await closed.parts.file.update({ promise: 4 })
      throw new Error('read-only')
    }
    const codes = ({ parts }: typeof locked) => parts.notices.list.map(({ code }) => code)
    for (const agent of [locked, closed]) await agent.later(1_000)
    expect([codes(locked), codes(closed)]).toEqual([['HeartbeatFailed'], []])
  })
})
