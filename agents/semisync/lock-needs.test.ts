import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import type { ServerOverrides } from '#topology/testing.ts'
import { LockWatch } from '../guard/lock-watch.ts'
import { SemisyncLockNeeds } from './lock-needs.ts'
import type { Blocker } from '../ports/server.ts'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
} from '../testing.ts'
import { changeLife, settable } from '../testing-known.ts'
import { lifeOf } from '../instance/life.ts'
import { opened } from '../testing-passes.ts'

const backup: Blocker = {
  session: 12,
  user: 'admin',
  host: '10.0.0.7',
  lock: 'the global read lock',
  waits: true,
  seconds: 4,
  commits: false,
  mayCommit: false,
  behind: 'ALTER USER',
}
const counted = { threadId: 7, user: 'regent_r_1', host: 'shop-1', serverUuid: '', semiSync: true }
const starved: ServerOverrides = { dumpThreads: [], semiSyncSource: { enabled: true, acks: 1, waiting: 1 } }
const well: ServerOverrides = { dumpThreads: [counted], semiSyncSource: { enabled: true, acks: 1, waiting: 0 } }

/** An open primary in whose way somebody stands. */
async function blocked(blocking: readonly Blocker[], overrides: ServerOverrides) {
  const server = new ScriptedServer(aServerState(overrides))
  const process = new ScriptedProcess()
  const fixed = await testParts(server, { process })
  const time = { nowMs: 1_000_000 }
  const parts = { ...fixed, world: { ...fixed.world, clock: { ...fixed.world.clock, monotonicMs: () => time.nowMs } } }
  await parts.observer.refresh()
  await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3 })
  changeLife(parts, { stage: opened, markedRevision: 10 })
  server.blocking = blocking
  server.oldestMs = 1_000
  const watch = new LockWatch(parts, new SemisyncLockNeeds(parts))
  const lookAfter = async (ms: number) => {
    time.nowMs += ms
    await watch.look()
  }
  await watch.look()
  return { parts, server, process, watch, lookAfter, graceMs: parts.timings.lockGraceMs }
}

const saysNothing = { blockers: () => Promise.reject(new Error('no answer within 800 ms')) }
const ended = (server: ScriptedServer) => server.calls.filter((call) => call.startsWith('end session'))

describe('a lock in the way of what ends a wait', () => {
  it('is named at once, and ended after its grace and no sooner', async () => {
    const { parts, server, lookAfter, graceMs } = await blocked([backup], starved)
    expect(String(parts.guards.lockedBy)).toBe(
      'session 12 of admin@10.0.0.7 waits for the global read lock for 4 s; ALTER USER waits behind it',
    )
    await lookAfter(graceMs - 1)
    expect(ended(server)).toEqual([])
    await lookAfter(1)
    expect(ended(server)).toEqual(['end session 12'])
    expect(parts.notices.list.map(({ code }) => code)).toEqual(['GlobalLock'])
    // A global read lock commits nothing.
    expect(parts.file.current.unsettled).toBe(false)
    expect(parts.doubts.raised).toBe(0)
  })

  it('is forgotten where the server does not say who is in the way any more: a silence has another reason then', async () => {
    const { parts, server, lookAfter } = await blocked([backup], starved)
    Object.assign(server, saysNothing)
    await expect(lookAfter(2_000)).rejects.toThrow('no answer')
    expect(String(parts.guards.lockedBy)).toContain('session 12')
    await expect(lookAfter(1)).rejects.toThrow('no answer')
    expect(parts.guards.lockedBy).toBeNull()
  })

  it('is left alone, and named, while enough replicas are connected and nobody waits', async () => {
    const { parts, server, lookAfter, graceMs } = await blocked([backup], well)
    await lookAfter(graceMs)
    await lookAfter(graceMs)
    expect(ended(server)).toEqual([])
    expect(String(parts.guards.lockedBy)).toContain('session 12')
  })

  it('is left alone while others wait than before: writes go on', async () => {
    const waiting = { ...well, semiSyncSource: { enabled: true, acks: 1, waiting: 1 } }
    const { parts, server, lookAfter, graceMs } = await blocked([backup], waiting)
    for (let turn = 2; turn < 5; turn += 1) {
      server.state = aServerState({ ...waiting, executed: `3e11fa47-71ca-11e1-9e33-c80aa9429562:1-${turn}` })
      await parts.observer.refresh()
      await lookAfter(graceMs)
    }
    expect(ended(server)).toEqual([])
    await lookAfter(graceMs)
    expect(ended(server)).toEqual(['end session 12'])
  })

  it('is left alone on a replica, on a primary that a person fenced, and on one that closed itself', async () => {
    for (const change of ['replica', 'fenced', 'closed']) {
      const { parts, server, lookAfter, graceMs } = await blocked([backup], starved)
      if (change === 'replica') await parts.file.update({ assignment: replicaOfEpoch3 })
      if (change === 'fenced') await parts.file.update({ assignment: { ...primaryOfEpoch3, fenced: true } })
      if (change === 'closed') settable(parts).guards.closed.space = say`low space`
      await lookAfter(graceMs)
      await lookAfter(graceMs)
      expect(ended(server)).toEqual([])
    }
  })

  it('is ended while a primary is being opened, while its writes are in doubt, and while it cannot be seen', async () => {
    for (const change of ['opening', 'in doubt', 'unseen']) {
      const { parts, server, lookAfter, graceMs } = await blocked([backup], well)
      if (change === 'opening') changeLife(parts, { stage: { ...opened, step: 'gated' } })
      if (change === 'in doubt') await parts.file.update({ unsettled: true })
      if (change === 'unseen') Object.defineProperty(parts.observer, 'silentMs', { value: parts.timings.frozenMs })
      await lookAfter(0)
      await lookAfter(graceMs)
      expect(ended(server)).toEqual(['end session 12'])
    }
  })

  it('that comes later has a grace of its own', async () => {
    const { server, lookAfter, graceMs } = await blocked([backup], starved)
    await lookAfter(graceMs - 1)
    server.blocking = [backup, { ...backup, session: 13 }]
    await lookAfter(1)
    await lookAfter(1)
    expect(ended(server)).toEqual(['end session 12'])
    await lookAfter(graceMs)
    expect(ended(server)).toContain('end session 13')
  })

  it('is ended although nobody waits, where fewer replicas are connected than a write needs', async () => {
    const { server, lookAfter, graceMs } = await blocked([backup], {
      ...starved,
      semiSyncSource: { enabled: true, acks: 1, waiting: 0 },
    })
    await lookAfter(graceMs)
    expect(ended(server)).toEqual(['end session 12'])
  })

  it('goes on being named between two tries of what waits behind it, and is forgotten when it is gone', async () => {
    const { parts, server, lookAfter } = await blocked([backup], well)
    server.blocking = []
    await lookAfter(1_000)
    expect(String(parts.guards.lockedBy)).toContain('session 12')
    await lookAfter(1_001)
    expect(parts.guards.lockedBy).toBeNull()
  })

  it('is not looked for on a replica', async () => {
    const { parts, lookAfter } = await blocked([backup], well)
    await parts.file.update({ assignment: replicaOfEpoch3 })
    await lookAfter(2_001)
    expect(parts.guards.lockedBy).toBeNull()
  })

  it('puts acknowledgements in doubt before it is ended, where its session might begin to commit', async () => {
    const { parts, server, lookAfter, graceMs } = await blocked([{ ...backup, waits: false, mayCommit: true }], starved)
    await lookAfter(graceMs)
    expect(ended(server)).toEqual(['end session 12'])
    expect(parts.file.current.unsettled).toBe(true)
    expect(lifeOf(parts).markedRevision).toBe(9)
    expect(parts.doubts.raised).toBe(1)
  })
})

describe('a session that commits', () => {
  const committing: Blocker = {
    ...backup,
    waits: false,
    commits: true,
    mayCommit: true,
    lock: 'the lock of all accounts, by changing one',
    behind: 'a login',
  }

  it('is never ended: its server is killed and started again once enough others are there who would acknowledge', async () => {
    const { parts, server, process, lookAfter, graceMs } = await blocked([committing], starved)
    await lookAfter(graceMs)
    expect(process.state).toBe('running')
    settable(parts).contact.peersHeard.set('shop-1', parts.world.clock.monotonicMs())
    await lookAfter(1)
    expect(process.state).toBe('dead')
    expect(parts).toMatchObject({ told: { mayRestart: true }, course: { life: { pid: 1_000, isRestarted: true } } })
    expect(ended(server)).toEqual([])
    expect(parts.notices.list.at(-1)).toMatchObject({ code: 'RestartedForLock' })
  })

  it('still commits where the server has ceased to say who is in the way', async () => {
    const { parts, server, process, lookAfter, graceMs } = await blocked([committing], starved)
    Object.assign(server, saysNothing)
    await expect(lookAfter(graceMs)).rejects.toThrow('no answer')
    expect(process.state).toBe('running')
    settable(parts).contact.peersHeard.set('shop-1', parts.world.clock.monotonicMs())
    await expect(lookAfter(1)).rejects.toThrow('no answer')
    expect(process.state).toBe('dead')
    expect(parts.notices.list.at(-1)).toMatchObject({ code: 'RestartedForLock' })
  })

  it('is left alone where enough replicas are connected', async () => {
    const { parts, server, process, lookAfter, graceMs } = await blocked([committing], {
      ...well,
      semiSyncSource: { enabled: true, acks: 1, waiting: 1 },
    })
    settable(parts).contact.peersHeard.set('shop-1', parts.world.clock.monotonicMs())
    await lookAfter(graceMs)
    expect([process.state, ended(server)]).toEqual(['running', []])
  })
})
