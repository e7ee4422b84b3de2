import { describe, expect, it } from 'vitest'
import { replicationUser } from '../ports/server.ts'
import { aServerState, replicaOfEpoch3, ScriptedProcess, ScriptedServer, testParts } from '../testing.ts'
import { changeLife, settable } from '../testing-known.ts'
import type { Stage } from '../instance/life.ts'
import { viewOf } from '../instance/pass.ts'
import { passAsReplica } from '../testing-passes.ts'
import { pointedAs } from './connecting.ts'
import { Semisync } from './semisync.ts'

const assignment = replicaOfEpoch3
const { source } = assignment

/** What one pass does to a receiver that was started at `startedAt` to acknowledge. */
async function passOver(ioRunning: 'yes' | 'connecting', startedAt: number): Promise<readonly string[]> {
  const channel = {
    sourceHost: source.host,
    sourcePort: source.port,
    sourceUser: replicationUser('shop-0'),
    ioRunning,
    semiSync: true,
  }
  const server = new ScriptedServer(
    aServerState({ readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false }, channel }),
  )
  const parts = await testParts(server)
  settable(parts).course.converged = { revision: startedAt, done: false, sentence: '' }
  await passAsReplica(parts, assignment, server.state)
  return server.calls
}

it('a replica that no longer counts stops acknowledging before it can be let in, also while it is still connecting', async () => {
  const calls = await passOver('connecting', 9)
  expect(calls.slice(0, 3)).toEqual(['stopReceiver', 'semiSyncReplica off', 'startReceiver'])
})

it('a connected replica that acknowledges without being counted is connected anew', async () => {
  expect((await passOver('yes', 10)).slice(0, 3)).toEqual(['stopReceiver', 'semiSyncReplica off', 'startReceiver'])
})

it('a replica acknowledges as it was assigned to only when its volume stayed where it was, or it was told since its agent started', async () => {
  const acknowledges = async (trustsAssignment: boolean) => {
    const server = new ScriptedServer(
      aServerState({ readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false }, channel: null }),
    )
    const parts = await testParts(server)
    settable(parts).told.trustsAssignment = trustsAssignment
    await passAsReplica(parts, { ...assignment, counted: true }, server.state)
    return server.calls.filter((call) => call.startsWith('semiSyncReplica'))
  }
  expect(await acknowledges(true)).toEqual(['semiSyncReplica on'])
  expect(await acknowledges(false)).toEqual(['semiSyncReplica off'])
})

it('a replica that was let in a moment ago and does not count yet is looked at again soon, for writes may wait for it', async () => {
  const looksAgain = async (counted: boolean, startedMsAgo: number) => {
    const channel = {
      sourceHost: source.host,
      sourcePort: source.port,
      ioRunning: 'yes',
      semiSync: counted,
      sqlRunning: true,
    } as const
    const server = new ScriptedServer(
      aServerState({ readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false }, channel }),
    )
    const parts = await testParts(server)
    settable(parts).told.trustsAssignment = true
    const sinceMs = parts.world.clock.monotonicMs() - startedMsAgo
    changeLife(parts, { stage: { is: 'following', step: 'started', as: '', sinceMs } })
    const next = await passAsReplica(parts, { ...assignment, counted }, server.state)
    return typeof next === 'object'
  }
  expect([await looksAgain(false, 200), await looksAgain(false, 1_200), await looksAgain(true, 200)]).toEqual([
    true,
    false,
    false,
  ])
})

it.each([
  ['that a full disk stopped is started again, now and then', "The table 't' is full, Error_code: 1114", true],
  [
    'that gave up waiting for a lock of somebody is started again',
    'Lock wait timeout exceeded, Error_code: 1205',
    true,
  ],
  ['whose thread a hand killed is started again', 'Query execution was interrupted, Error_code: 1317', true],
  ['that a hand stopped in a large transaction is started again', 'threads are stopped, Error_code: 1756', true],
  ['that lacks a row is left as it is', "Can't find record in 't', Error_code: 1032", false],
])('an applier %s', async (_, sqlError, isStarted) => {
  const { host: sourceHost, port: sourcePort } = source
  const channel = { sourceHost, sourcePort, ioRunning: 'yes', semiSync: true, sqlRunning: false, sqlError } as const
  const server = new ScriptedServer(
    aServerState({ readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false }, channel }),
  )
  const parts = await testParts(server)
  settable(parts).told.trustsAssignment = true
  const pass = async (startedMsAgo: number) => {
    const sinceMs = parts.world.clock.monotonicMs() - startedMsAgo
    changeLife(parts, { stage: { is: 'following', step: 'started', as: '', sinceMs } })
    server.calls.splice(0)
    const next = await passAsReplica(parts, { ...assignment, counted: true }, server.state)
    return { starts: server.calls.includes('startApplier'), looksAgain: typeof next === 'object' }
  }
  expect(await pass(1_000)).toEqual({ starts: false, looksAgain: isStarted })
  expect(await pass(60_000)).toEqual({ starts: isStarted, looksAgain: isStarted })
})

it('a receiver that was started for this revision is left to connect', async () => {
  expect(await passOver('connecting', 10)).not.toContain('stopReceiver')
})

it('a replica that is told that it was passed over stops receiving, counted or not, and waits to be seeded', async () => {
  const channel = { sourceHost: source.host, sourcePort: source.port, ioRunning: 'yes', sqlRunning: true } as const
  for (const counted of [true, false]) {
    const server = new ScriptedServer(
      aServerState({
        readOnly: true,
        superReadOnly: true,
        semiSyncSource: { enabled: false },
        channel: { ...channel, semiSync: counted },
      }),
    )
    const parts = await testParts(server)
    settable(parts).told.trustsAssignment = true
    await passAsReplica(parts, { ...assignment, counted, passedOver: true }, server.state)
    expect(server.calls).toContain('stopReceiver')
    expect(parts.course.converged).toMatchObject({
      done: false,
      sentence: 'the source passed it over, and it waits to be seeded again',
    })
  }
})

it('a replica that somebody pointed elsewhere is reported, also where it was seen stopped on the way, and one that is assigned another source is not', async () => {
  const channel = {
    sourceHost: source.host,
    sourcePort: source.port,
    sourceUser: replicationUser('shop-0'),
    ioRunning: 'yes',
    semiSync: false,
    sqlRunning: true,
  } as const
  const seen = (overrides: object) =>
    aServerState({
      readOnly: true,
      superReadOnly: true,
      semiSyncSource: { enabled: false },
      channel: { ...channel, ...overrides },
    })
  const server = new ScriptedServer(seen({}))
  const parts = await testParts(server)
  for (const overrides of [{}, { ioRunning: 'no' }, { ioRunning: 'no', sourceHost: '10.0.0.9' }])
    await passAsReplica(parts, assignment, seen(overrides))
  expect(parts.notices.list.map(({ sentence }) => sentence)).toEqual([
    `this replica followed 10.0.0.9 and follows ${source.instance} again`,
  ])
  await passAsReplica(parts, { ...assignment, source: { ...source, host: '10.0.0.7' } }, seen({}))
  expect(parts.notices.list).toHaveLength(1)
})

it('a replica that was made ready does nothing again until its source is ready, and then only connects', async () => {
  const closed = {
    readOnly: true,
    superReadOnly: true,
    semiSyncSource: { enabled: false },
    openGates: [],
    channel: null,
  }
  const server = new ScriptedServer(aServerState(closed))
  const parts = await testParts(server)
  const pass = (more: object) => passAsReplica(parts, { ...assignment, ...more }, aServerState(closed))
  await pass({ sourceReady: false })
  expect(server.calls).toContain(`pointTo ${source.host}`)
  expect(server.calls).not.toContain('startReceiver')
  const prepared = server.calls.length
  await pass({ sourceReady: false })
  expect(server.calls).toHaveLength(prepared)
  await pass({})
  expect(server.calls.slice(prepared)).toEqual(['startReceiver'])
})

it.each<[string, object, number | null]>([
  ['to be counted otherwise', { counted: true }, null],
  ['under another revision', { revision: 11 }, null],
  ['and its mysqld is another one', {}, 77],
])('a replica that was made ready is made ready anew where it is to connect %s', async (_why, more, pid) => {
  const closed = { readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false }, channel: null }
  const [server, process] = [new ScriptedServer(aServerState(closed)), new ScriptedProcess()]
  const parts = await testParts(server, { process })
  settable(parts).told.trustsAssignment = true
  await passAsReplica(parts, { ...assignment, sourceReady: false }, aServerState(closed))
  if (pid !== null) process.pid = pid
  const prepared = server.calls.length
  await passAsReplica(parts, { ...assignment, ...more }, aServerState(closed))
  expect(server.calls.slice(prepared)).toContain(`pointTo ${source.host}`)
})

it('a receiver that starts again where agents speak TLS is pointed to the source anew where it did not come over TLS before', async () => {
  const pointed = async (encrypted: boolean, tls: boolean) => {
    const channel = {
      sourceHost: source.host,
      sourcePort: source.port,
      sourceUser: replicationUser('shop-0'),
      ioRunning: 'no',
      encrypted,
    } as const
    const server = new ScriptedServer(
      aServerState({ readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false }, channel }),
    )
    const parts = await testParts(server)
    await passAsReplica(
      tls ? { ...parts, config: { ...parts.config, tls: { certificateFolder: '/certificates' } } } : parts,
      assignment,
      server.state,
    )
    return server.calls.includes(`pointTo ${source.host}`)
  }
  expect([await pointed(false, true), await pointed(true, true), await pointed(false, false)]).toEqual([
    true,
    false,
    false,
  ])
})

describe('a replica that another hand opened for writes', () => {
  const channel = {
    sourceHost: source.host,
    sourcePort: source.port,
    sourceUser: replicationUser('shop-0'),
    ioRunning: 'yes',
    sqlRunning: true,
    semiSync: false,
  } as const
  const isClosed = { readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false }, channel } as const
  const follows: Stage = { is: 'following', step: 'started', as: 'shop-1', sinceMs: 0 }

  async function found(stage: Stage, superReadOnly: boolean) {
    const server = new ScriptedServer(aServerState({ ...isClosed, superReadOnly }))
    const parts = await testParts(server)
    changeLife(parts, { stage })
    await passAsReplica(parts, assignment, server.state)
    return { parts, server }
  }

  it('is in doubt, which is on disk before anybody hears of it, and is closed', async () => {
    const { parts, server } = await found(follows, false)
    expect(parts.file.current.opened).toBe(true)
    expect(parts.notices.list[0]).toMatchObject({ code: 'OpenedByHand' })
    expect(server.calls).toContain('readOnly closed')
  })

  it('is not while it is closed, and nor is one that its agent did not close before', async () => {
    for (const [stage, superReadOnly] of [
      [follows, true],
      [{ is: 'closed' }, false],
    ] as const)
      expect((await found(stage, superReadOnly)).parts.file.current.opened).toBe(false)
  })

  it('is looked at again where the last look may be of the moment in which its agent changed accounts', async () => {
    const pointed: Stage = { is: 'following', step: 'pointed', as: pointedAs(assignment), sinceMs: 0 }
    const isReady = async (superReadOnly: boolean) => {
      const { parts, server } = await found(pointed, superReadOnly)
      changeLife(parts, { stage: { ...pointed, sinceMs: parts.world.clock.monotonicMs() } })
      return new Semisync(parts).isReadyFor({ ...viewOf(parts, null), server: server.state }, assignment)
    }
    expect([await isReady(true), await isReady(false)]).toEqual([true, false])
  })
})
