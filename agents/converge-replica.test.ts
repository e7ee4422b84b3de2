import { expect, it } from 'vitest'
import { convergeReplica, prepareToFollow } from './converge-replica.ts'
import { replicationUser } from './server-port.ts'
import { aServerState, replicaOfEpoch3, ScriptedServer, testParts } from './testing.ts'

const assignment = replicaOfEpoch3
const { source } = assignment

/** What one pass does to a receiver that was started at `startedAt` to acknowledge. */
async function passOver(ioRunning: 'yes' | 'connecting', startedAt: number): Promise<readonly string[]> {
  const channel = { sourceHost: source.host, sourcePort: source.port, sourceUser: replicationUser('shop-0'), ioRunning, semiSync: true }
  const server = new ScriptedServer(aServerState({ readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false }, channel }))
  const parts = await testParts(server)
  parts.memory.converged = { revision: startedAt, done: false, sentence: '' }
  await convergeReplica(parts, assignment, server.state)
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
    const server = new ScriptedServer(aServerState({ readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false }, channel: null }))
    const parts = await testParts(server)
    parts.memory.trustsAssignment = trustsAssignment
    await convergeReplica(parts, { ...assignment, counted: true }, server.state)
    return server.calls.filter((call) => call.startsWith('semiSyncReplica'))
  }
  expect(await acknowledges(true)).toEqual(['semiSyncReplica on'])
  expect(await acknowledges(false)).toEqual(['semiSyncReplica off'])
})

it('a replica that was let in a moment ago and does not count yet is looked at again soon, for writes may wait for it', async () => {
  const looksAgain = async (counted: boolean, startedMsAgo: number) => {
    const channel = { sourceHost: source.host, sourcePort: source.port, ioRunning: 'yes', semiSync: counted, sqlRunning: true } as const
    const server = new ScriptedServer(aServerState({ readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false }, channel }))
    const parts = await testParts(server)
    parts.memory.trustsAssignment = true
    parts.memory.receiverStartedAtMs = parts.world.clock.monotonicMs() - startedMsAgo
    const { afterMs } = await convergeReplica(parts, { ...assignment, counted }, server.state)
    return afterMs !== undefined
  }
  expect([await looksAgain(false, 200), await looksAgain(false, 1_200), await looksAgain(true, 200)]).toEqual([true, false, false])
})

it('a receiver that was started for this revision is left to connect', async () => {
  expect(await passOver('connecting', 10)).not.toContain('stopReceiver')
})

it('a replica that somebody pointed elsewhere is reported, also where it was seen stopped on the way, and one that is assigned another source is not', async () => {
  const channel = { sourceHost: source.host, sourcePort: source.port, sourceUser: replicationUser('shop-0'), ioRunning: 'yes', semiSync: false, sqlRunning: true } as const
  const seen = (overrides: object) => aServerState({ readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false }, channel: { ...channel, ...overrides } })
  const server = new ScriptedServer(seen({}))
  const parts = await testParts(server)
  for (const overrides of [{}, { ioRunning: 'no' }, { ioRunning: 'no', sourceHost: '10.0.0.9' }]) await convergeReplica(parts, assignment, seen(overrides))
  expect(parts.notices.list.map(({ sentence }) => sentence)).toEqual([`it followed 10.0.0.9 and follows ${source.instance} again`])
  await convergeReplica(parts, { ...assignment, source: { ...source, host: '10.0.0.7' } }, seen({}))
  expect(parts.notices.list).toHaveLength(1)
})

it('a replica that was made ready does nothing again until its source is ready, and then only connects', async () => {
  const closed = { readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false }, openGates: [], channel: null }
  const server = new ScriptedServer(aServerState(closed))
  const parts = await testParts(server)
  const pass = (more: object) => convergeReplica(parts, { ...assignment, ...more }, aServerState(closed))
  await pass({ sourceReady: false })
  expect(server.calls).toContain(`pointTo ${source.host}`)
  expect(server.calls).not.toContain('startReceiver')
  const prepared = server.calls.length
  await pass({ sourceReady: false })
  expect(server.calls).toHaveLength(prepared)
  await pass({})
  expect(server.calls.slice(prepared)).toEqual(['semiSyncReplica off', 'startReceiver'])
})

/** Stopped under the promise of epoch 3, it still has the channel to the primary of epoch 2. */
const stopped = { readOnly: true, superReadOnly: true, offlineMode: false, semiSyncSource: { enabled: false }, channel: { sourceHost: '127.24.1.1', ioRunning: 'no', sqlRunning: true } } as const

async function promisedParts(server: ScriptedServer) {
  const parts = await testParts(server)
  await parts.file.update({ promise: assignment.epoch })
  parts.memory.trustsAssignment = true
  parts.memory.promiseReport = { epoch: assignment.epoch, holds: '', executed: '', asPrimary: false }
  return parts
}

it('a replica that promised points to whom it will most likely follow, connects to nobody, and only connects when it is assigned that', async () => {
  const server = new ScriptedServer(aServerState(stopped))
  const parts = await promisedParts(server)
  await prepareToFollow(parts, source)
  expect(server.calls.filter((call) => /pointTo|Receiver|semiSync/.test(call))).toEqual([`pointTo ${source.host}`])
  const before = server.calls.length
  await convergeReplica(parts, { ...assignment, counted: true }, aServerState(stopped))
  expect(server.calls.slice(before)).toEqual(['semiSyncReplica on', 'startReceiver'])
  expect(parts.notices.list).toEqual([])
})

it.each<[string, object, number | null]>([
  ['another one is elected', { source: { ...source, host: '127.24.1.3' } }, null],
  ['it is assigned in a later epoch', { epoch: 4 }, null],
  ['its mysqld is another one', {}, 77],
])('a replica that was pointed ahead of time is pointed as if it had not been where %s', async (_why, more, pid) => {
  const server = new ScriptedServer(aServerState(stopped))
  const parts = await promisedParts(server)
  await prepareToFollow(parts, source)
  if (pid !== null && parts.memory.pointed) parts.memory.pointed = { ...parts.memory.pointed, pid }
  const before = server.calls.length
  const assigned = { ...assignment, ...more }
  await convergeReplica(parts, assigned, aServerState(stopped))
  expect(server.calls.slice(before)).toContain(`pointTo ${assigned.source.host}`)
})

it.each<[string, object]>([
  ['receives again', { channel: { ...stopped.channel, ioRunning: 'connecting' } }],
  ['has a filter', { channel: { ...stopped.channel, filtered: true } }],
  ['has no channel', { channel: null }],
  ['is open', { superReadOnly: false }],
  ['still has the source’s side of semi-sync on', { semiSyncSource: { enabled: true } }],
])('one that %s is not pointed ahead of time', async (_why, more) => {
  const server = new ScriptedServer(aServerState({ ...stopped, ...more }))
  const parts = await promisedParts(server)
  await prepareToFollow(parts, source)
  expect(server.calls).not.toContain(`pointTo ${source.host}`)
  expect(parts.memory.pointed).toBeNull()
})

it.each(['leads', 'goes on receiving from the candidate', 'is forgetful'])('one that %s is not pointed ahead of time, nor looked at', async (why) => {
  const server = new ScriptedServer(aServerState(stopped))
  const parts = await promisedParts(server)
  if (why === 'leads') parts.memory.promiseReport = { epoch: assignment.epoch, holds: '', executed: '', asPrimary: true }
  if (why === 'goes on receiving from the candidate') parts.memory.receiverKept = true
  if (why === 'is forgetful') await parts.file.update({ forgetful: true })
  await prepareToFollow(parts, source)
  expect(server.calls).toEqual([])
})

it('a receiver that starts again where agents speak TLS is pointed to the source anew where it did not come over TLS before', async () => {
  const pointed = async (encrypted: boolean, tls: boolean) => {
    const channel = { sourceHost: source.host, sourcePort: source.port, sourceUser: replicationUser('shop-0'), ioRunning: 'no', encrypted } as const
    const server = new ScriptedServer(aServerState({ readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false }, channel }))
    const parts = await testParts(server)
    await convergeReplica(tls ? { ...parts, config: { ...parts.config, tls: { certificateFolder: '/certificates' } } } : parts, assignment, server.state)
    return server.calls.includes(`pointTo ${source.host}`)
  }
  expect([await pointed(false, true), await pointed(true, true), await pointed(false, false)]).toEqual([true, false, false])
})
