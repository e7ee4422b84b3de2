import { describe, expect, it } from 'vitest'
import { gtids, hostOf } from '#topology/testing.ts'
import { keptOfElected } from './elected-set.ts'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
} from '../testing.ts'
import { changeLife, settable } from '../testing-known.ts'
import { givePromise, passAsPrimary, passAsReplica } from '../testing-passes.ts'

const closed = { readOnly: true, superReadOnly: true, offlineMode: true }
const stopped = { ioRunning: 'no', sqlRunning: true } as const
const promiseOrder = {
  version: 1,
  cluster: 'shop',
  member: 'shop-0@volume-0',
  epoch: 4,
  revision: 11,
  after: '',
  waitMs: 0,
} as const

async function passWith(elected: string, server: ScriptedServer, prepared?: string) {
  const parts = await testParts(server)
  if (prepared !== undefined) changeLife(parts, { stage: { is: 'prepared', epoch: 3, executed: prepared } })
  await passAsPrimary(parts, { ...primaryOfEpoch3, elected }, server.state)
  return parts
}

describe('a primary that was elected for a set', () => {
  it.each([
    ['after its promotion', { channel: stopped, received: gtids('shop-0', 100) }, undefined],
    ['after a restart in place', { channel: null }, undefined],
    ['that it made ready for', { channel: stopped }, gtids('shop-0', 100)],
  ])('stays closed without the whole of it %s, and lets no replica connect', async (_when, state, prepared) => {
    const server = new ScriptedServer(aServerState({ ...closed, ...state }))
    const parts = await passWith(gtids('shop-0', 103), server, prepared)
    expect(server.calls).not.toContain('open')
    expect(server.calls).not.toContain('gates shop-1,shop-2')
    expect(parts.doubts.lacksElected).toBe('00000000-0000-0000-0000-000000000000:101-103')
    expect(parts.course.converged).toMatchObject({ revision: 0, done: false })
    expect(parts.notices.list.map(({ code }) => code)).toEqual(['ElectedSetLost'])
  })

  it('opens with the whole of it, received and applied, or more', async () => {
    const server = new ScriptedServer(aServerState({ ...closed, channel: stopped, received: gtids('shop-0', 105) }))
    const parts = await passWith(gtids('shop-0', 103), server)
    expect(server.calls).toContain('open')
    expect(parts.doubts.lacksElected).toBe('')
  })
})

it('a set too long for the disk is kept as far as whole servers go', () => {
  const many = Array.from({ length: 900 }, (_, index) => gtids(`shop-${index}`, 9)).join()
  expect(keptOfElected(gtids('shop-0', 9))).toBe(gtids('shop-0', 9))
  expect(many.startsWith(`${keptOfElected(many)},`)).toBe(true)
  expect(keptOfElected('a'.repeat(20_000))).toBe('')
})

it('An old primary whose mysqld is down promises without being started, and reports what its binlog holds', async () => {
  const process = new ScriptedProcess()
  process.state = 'dead'
  const parts = await testParts(new ScriptedServer(aServerState()), {
    process,
    volume: { readBinlogSet: async () => gtids('shop-0', 103) },
  })
  await parts.file.update({ promise: 3, revision: 10, assignment: replicaOfEpoch3, mayHaveTail: true })
  await givePromise(parts, promiseOrder)
  expect(parts.course.promiseReport).toEqual({
    epoch: 4,
    holds: gtids('shop-0', 103),
    executed: gtids('shop-0', 103),
    asPrimary: true,
  })
  expect(process.state).toBe('dead')
})

describe('a replica under which received transactions were thrown away', () => {
  const follows = {
    channel: { sourceHost: hostOf('shop-1'), ioRunning: 'yes', sqlRunning: true, semiSync: false },
    semiSyncSource: { enabled: false },
    readOnly: true,
    superReadOnly: true,
  } as const

  async function seen() {
    const server = new ScriptedServer(aServerState({ ...follows, received: gtids('shop-0', 120) }))
    const parts = await testParts(server)
    await parts.file.update({ promise: 3, revision: 10, assignment: replicaOfEpoch3 })
    const look = (received: string) => {
      server.state = aServerState({ ...follows, received })
      return passAsReplica(parts, replicaOfEpoch3, server.state)
    }
    await look(gtids('shop-0', 120))
    expect(parts.file.current.forgetful).toBe(false)
    return { parts, server, look }
  }

  it('counts for nothing until it holds them again', async () => {
    const { parts, server, look } = await seen()
    await look('')
    expect(parts.file.current.forgetful).toBe(true)
    expect(parts.notices.list.map(({ code }) => code)).toContain('ReceivedThrownAway')
    settable(parts).told.catchUpTo = gtids('shop-0', 100)
    await look(gtids('shop-0', 119))
    expect(parts.file.current.forgetful).toBe(true)
    await look(gtids('shop-0', 121))
    expect(parts.file.current.forgetful).toBe(false)
    expect(server.calls).not.toContain('forgetSource')
  })

  it('says so with its next promise', async () => {
    const { parts, server } = await seen()
    server.state = aServerState({ ...follows, received: '' })
    await givePromise(parts, promiseOrder)
    expect(parts.file.current.forgetful).toBe(true)
  })
})
