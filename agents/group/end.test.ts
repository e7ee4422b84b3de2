import { afterEach, describe, expect, it, vi } from 'vitest'
import { inGroup, outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import { Converger } from '../converge/converger.ts'
import type { Watches } from '#common/watch/watches.ts'
import { Termination } from '../orders/termination.ts'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
  watchesOf,
} from '../testing.ts'
import { settable } from '../testing-known.ts'

let watches: Watches | undefined
afterEach(() => watches?.stop())

const atOnce: (deadlineMs?: number) => Promise<void> = async () => undefined

/** The server of shop-0, which was told to end, as a member of the group. */
async function ending(sees: GroupShape, { counted = true, leaves = atOnce } = {}) {
  const server = new ScriptedServer(aServerState(inGroup('shop-0', sees)))
  const stop = async (deadlineMs?: number): Promise<void> => {
    server.calls.push('leave the group')
    await leaves(deadlineMs)
    server.state = aServerState(inGroup('shop-0', outsideGroup()))
  }
  const never = async (): Promise<void> => Promise.reject(new Error('not in this test'))
  const process = new ScriptedProcess()
  const scripted = Object.assign(server, { group: { stop, start: never, electPrimary: never, applyReceived: never } })
  const made = await testParts(scripted, { process })
  const parts = { ...made, config: { ...made.config, mode: 'group' as const } }
  const isPrimary = sees.primary !== null && (sees.primary ?? 'shop-0') === 'shop-0'
  await parts.file.update({
    promise: 3,
    revision: 10,
    assignment: isPrimary ? { ...primaryOfEpoch3, acks: 0 } : { ...replicaOfEpoch3, counted },
  })
  await parts.observer.refresh()
  const converger = new Converger(parts, () => undefined)
  converger.stop()
  const termination = new Termination(parts, converger, {
    isTerminating: async () => true,
    quit: async () => undefined,
  })
  watches = watchesOf(parts)
  termination.start(watches)
  return { parts, server, process }
}

const looks = (what: () => boolean) => vi.waitUntil(what, { timeout: 5_000 })

describe('A member of a group whose pod ends', () => {
  it('as primary waits for another member to take over, and never counts on acknowledgements', async () => {
    const { parts, server } = await ending({})
    await looks(() => String(parts.course.converged.sentence) === 'mysqld stops once another member is primary')
    expect(server.calls).toEqual([])
  })

  it('as primary leaves in order, and is not killed, where nobody takes over in time: the group elects at once', async () => {
    const { parts, server, process } = await ending({})
    await looks(() => parts.pod.termination !== null)
    settable(parts).pod.termination = { sinceMs: parts.world.clock.monotonicMs() - 20_001, stopping: false }
    await looks(() => server.calls.includes('shutdown'))
    expect(server.calls).toEqual(['leave the group', 'shutdown'])
    expect(process.state).toBe('running')
  })

  it('as primary waits for nobody where all others run a higher version: none of them is elected before it has left', async () => {
    const { server } = await ending({ versions: { 'shop-0': '8.4.6' } })
    await looks(() => server.calls.includes('shutdown'))
    expect(server.calls).toEqual(['leave the group', 'shutdown'])
  })

  it('as primary waits where one of the others runs its version, and for one of them that still recovers', async () => {
    const versions = { 'shop-0': '8.4.6', 'shop-1': '8.4.6' }
    for (const members of [undefined, { 'shop-0': 'ONLINE', 'shop-1': 'RECOVERING', 'shop-2': 'ONLINE' } as const]) {
      const { parts, server } = await ending({ versions, ...(members && { members }) })
      await looks(() => String(parts.course.converged.sentence) === 'mysqld stops once another member is primary')
      expect(server.calls).toEqual([])
      watches?.stop()
    }
  })

  it('as the only member waits for nobody', async () => {
    const { server } = await ending({ members: { 'shop-0': 'ONLINE' } })
    await looks(() => server.calls.includes('shutdown'))
    expect(server.calls).toEqual(['leave the group', 'shutdown'])
  })

  it('as secondary waits to be let out of the record, then leaves the group before its server stops', async () => {
    const { parts, server } = await ending({ primary: 'shop-1' })
    await looks(
      () => String(parts.course.converged.sentence) === 'mysqld stops once the instance does not count in the group',
    )
    expect(server.calls).toEqual([])
    await parts.file.update({ assignment: replicaOfEpoch3 })
    await looks(() => server.calls.includes('shutdown'))
    expect(server.calls).toEqual(['leave the group', 'shutdown'])
    expect(parts.file.current.stoppedInOrder).toBe(true)
  })

  it('as secondary that nobody lets out leaves by itself after a while', async () => {
    const { parts, server } = await ending({ primary: 'shop-1' })
    await looks(() => parts.pod.termination !== null)
    settable(parts).pod.termination = { sinceMs: parts.world.clock.monotonicMs() - 5_001, stopping: false }
    await looks(() => server.calls.includes('shutdown'))
  })

  it('stops also where it cannot leave: without a majority no view comes that is without it', async () => {
    const leaves = async (deadlineMs?: number): Promise<void> =>
      Promise.reject(new Error(`no answer within ${deadlineMs} ms`))
    const { parts, server } = await ending({ primary: 'shop-1' }, { counted: false, leaves })
    await looks(() => server.calls.includes('shutdown'))
    expect(String(parts.notices.list.at(-1)?.sentence)).toBe(
      'the member stops without having left its group: no answer within 4000 ms',
    )
  })

  it('that hears no majority only stops: nobody could agree that it leaves', async () => {
    const lost: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'UNREACHABLE' }, primary: 'shop-1' }
    const { server } = await ending(lost, { counted: false })
    await looks(() => server.calls.includes('shutdown'))
    expect(server.calls).toEqual(['shutdown'])
  })

  it('that has left already only stops', async () => {
    const { server } = await ending(outsideGroup({ primary: 'shop-1' }))
    await looks(() => server.calls.includes('shutdown'))
    expect(server.calls).toEqual(['shutdown'])
  })
})
