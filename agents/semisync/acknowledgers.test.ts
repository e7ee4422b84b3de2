import { describe, expect, it } from 'vitest'
import type { DumpThread } from '#topology/snapshot/observation.ts'
import { aDumpThreadOf, uuidOf } from '#topology/testing.ts'
import { sentenceAbout, strangersAmong } from './acknowledgers.ts'
import { replicationUser } from '../ports/server.ts'
import { aServerState, primaryOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { changeLife } from '../testing-known.ts'
import { opened, passAsPrimary } from '../testing-passes.ts'

const thread = (overrides: Partial<DumpThread> = {}): DumpThread =>
  aDumpThreadOf('shop-1', { user: replicationUser('shop-1'), ...overrides })
const told = { ...primaryOfEpoch3, countedUuids: { 'shop-1': uuidOf('shop-1'), 'shop-2': '' } }

describe('who acknowledges without being counted', () => {
  const cases: Readonly<Record<string, readonly [DumpThread, isStranger: boolean]>> = {
    'a counted replica with its own uuid is none': [thread(), false],
    'another server with the account of a counted replica is one': [thread({ serverUuid: 'impostor' }), true],
    'a server that tells no uuid, where one is known, is one': [thread({ serverUuid: '' }), true],
    'a counted replica whose uuid is not known yet is none': [
      thread({ user: replicationUser('shop-2'), serverUuid: 'any' }),
      false,
    ],
    'a server with an account of its own is one': [thread({ user: 'app_copy' }), true],
    'a replica of ours that is not counted is one': [thread({ user: replicationUser('shop-3') }), true],
    'a server that only reads is none': [thread({ user: 'app_copy', semiSync: false }), false],
  }
  it.each(Object.entries(cases))('%s', (_, [one, isStranger]) => {
    expect(strangersAmong([one], told)).toEqual(isStranger ? [one] : [])
  })

  it('is told by the account alone in an assignment of before uuids were told', () => {
    expect(strangersAmong([thread({ serverUuid: 'any' })], primaryOfEpoch3)).toEqual([])
  })

  it('is named, with both uuids', () => {
    const sentence = sentenceAbout([thread({ serverUuid: 'impostor', host: '10.0.0.9' })], told)
    expect(String(sentence)).toBe(
      `regent_r_1@10.0.0.9 acknowledged with the account of shop-1 and is another server (its server_uuid is impostor, that of shop-1 ${uuidOf('shop-1')}); its connection is ended`,
    )
  })
})

it('A primary ends the connection of another server with the account of a counted replica, and is unsettled until a marker is acknowledged without it', async () => {
  const own = thread()
  const impostor = thread({ threadId: 99, serverUuid: 'impostor' })
  const server = new ScriptedServer(
    aServerState({
      openGates: ['shop-1', 'shop-2'],
      dumpThreads: [own, impostor],
      semiSyncSource: { enabled: true, acks: 1 },
    }),
  )
  const parts = await testParts(server)
  await parts.file.update({ promise: 3, revision: 10, assignment: told })
  changeLife(parts, { stage: opened, markedRevision: 10 })
  const killed: number[] = []
  server.killDumpThreads = async (keep) => {
    const { dumpThreads } = server.state
    killed.push(...dumpThreads.filter((one) => !keep(one)).map(({ threadId }) => threadId))
    server.state = { ...server.state, dumpThreads: dumpThreads.filter(keep) }
    return killed
  }
  const unsettled: boolean[] = []
  server.writeMarker = async () => void unsettled.push(parts.file.current.unsettled)
  await passAsPrimary(parts, told, server.state)
  expect(killed).toEqual([99])
  await expect.poll(() => unsettled).toEqual([true])
  expect(parts.notices.list.map(({ code }) => code)).toContain('StrangerAcknowledges')
  await expect.poll(() => parts.file.current.unsettled).toBe(false)
})

it('A primary whose stranger does not go waits for it beside the rest, and says so in the end: markers, being open and orders do not wait', async () => {
  const impostor = thread({ threadId: 99, serverUuid: 'impostor' })
  const server = new ScriptedServer(
    aServerState({
      openGates: ['shop-1', 'shop-2'],
      dumpThreads: [thread(), impostor],
      semiSyncSource: { enabled: true, acks: 1 },
      offlineMode: true,
    }),
  )
  const parts = await testParts(server)
  await parts.file.update({ promise: 3, revision: 10, assignment: told })
  changeLife(parts, { stage: opened })
  const gone = Promise.withResolvers<void>()
  const awaited: (readonly number[])[] = []
  server.killDumpThreads = async () => [99]
  server.waitSessionsGone = (ids) => (awaited.push(ids), gone.promise)
  await passAsPrimary(parts, told, server.state)
  await passAsPrimary(parts, told, server.state)
  expect(server.calls).toEqual(expect.arrayContaining(['marker 1', 'open']))
  expect(awaited).toEqual([[99]])
  gone.reject(
    new Error('killed and not gone after 2000 ms: session 99 of regent_r_1 ("Waiting to finalize termination")'),
  )
  await parts.jobs.cuttingOff
  expect(parts.jobs.cuttingOff).toBeNull()
  expect(parts.notices.list.map(({ code }) => code)).toContain('StrangerStays')
})
