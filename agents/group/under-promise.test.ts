import { describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { gtids, type ServerOverrides } from '#topology/testing.ts'
import { inGroup, outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import { runPass } from '../converge/runner.ts'
import { viewOf } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'
import type { StoredState } from '../instance/stored-state.ts'
import { aServerState, primaryOfEpoch3, ScriptedProcess, ScriptedServer, testParts, watchesOf } from '../testing.ts'
import { settable } from '../testing-known.ts'
import { perform, told } from '../testing-passes.ts'
import { Group } from './group.ts'

const sentence = 'outside of all groups under the promise of epoch 4'
const received = gtids('shop-0', 105)

/** The agent of shop-0 promised epoch 4. */
async function promised(sees: GroupShape, stored: Partial<StoredState> = {}, process = new ScriptedProcess()) {
  const server = new ScriptedServer(aServerState(inGroup('shop-0', sees, { received })))
  const synced: string[] = []
  const volume = { syncRelayLogs: async () => void synced.push(server.calls.join()) }
  const parts = await testParts(server, { process, volume })
  await parts.file.update({ promise: 4, revision: 12, assignment: primaryOfEpoch3, ...stored })
  return { parts, server, process, synced }
}

function decided(parts: Parts) {
  return new Group(parts).underPromise(viewOf(parts, (parts.server as ScriptedServer).state))
}

async function run(parts: Parts): Promise<void> {
  await perform(parts, decided(parts) ?? {})
}

describe('Under a promise, the agent of a group’s member', () => {
  it.each<[string, GroupShape]>([
    ['that is online', {}],
    ['without a majority', { members: { 'shop-0': 'ONLINE', 'shop-1': 'UNREACHABLE', 'shop-2': 'UNREACHABLE' } }],
    ['that recovers', { members: { 'shop-0': 'RECOVERING', 'shop-1': 'ONLINE' } }],
    ['in error', { members: { 'shop-0': 'ERROR' } }],
  ])('%s kills its server, and reports nothing', async (_, sees) => {
    const { parts, process } = await promised(sees)
    expect(told(decided(parts)!)).toBe(`kill; ${sentence}`)
    await run(parts)
    expect(process.state).toBe('dead')
    expect(parts.course.promiseReport).toBeNull()
  })

  it('that is about to join kills its server too: it might be in the group a moment later', async () => {
    const { parts, process } = await promised(outsideGroup())
    settable(parts).jobs.startingGroup = new Promise(() => undefined)
    await run(parts)
    expect(process.state).toBe('dead')
    expect(parts.course.promiseReport).toBeNull()
  })

  it('whose server is older than the agent kills it too: the agent before may have had it join', async () => {
    const { parts, process } = await promised(outsideGroup())
    const mode = new Group(parts)
    const watches = watchesOf(parts)
    mode.start(watches)
    watches.stop()
    await run(parts)
    expect(process.state).toBe('dead')
    expect(parts.course.promiseReport).toBeNull()
  })

  it.each(['REGENT_SERVER_TIMEOUT', 'REGENT_SERVER_DOWN'] as const)(
    'that did not answer its start kills it too: the start goes on in the server (%s)',
    async (code) => {
      const { parts, server } = await promised(outsideGroup(), { promise: 3 })
      const start = () => Promise.reject(new RegentError(code, say`START GROUP_REPLICATION was not answered`))
      Object.assign(server, { group: { start } })
      const settings = { name: 'g', seeds: [], consistency: 'EVENTUAL' }
      await perform(parts, { steps: [{ do: 'joinGroup', settings, formsIn: null }] })
      await expect.poll(() => parts.jobs.groupFailure).toBe('START GROUP_REPLICATION was not answered')
      await parts.file.update({ promise: 4 })
      expect(told(decided(parts)!)).toBe(`kill; ${sentence}`)
    },
  )

  it('that refused its start is outside', async () => {
    const { parts, server } = await promised(outsideGroup(), { promise: 3 })
    const start = () => Promise.reject(new RegentError('REGENT_SERVER_ERROR', say`the member is not allowed`))
    Object.assign(server, { group: { start } })
    const settings = { name: 'g', seeds: [], consistency: 'EVENTUAL' }
    await perform(parts, { steps: [{ do: 'joinGroup', settings, formsIn: null }] })
    await expect.poll(() => parts.jobs.groupFailure).toBe('the member is not allowed')
    await parts.file.update({ promise: 4 })
    expect(told(decided(parts)!)).toBe(`reportOutside 4; ${sentence}`)
  })

  it('outside of the group reports all that is held, applied or not, with its relay logs on disk', async () => {
    const { parts, synced } = await promised(outsideGroup())
    await run(parts)
    expect(parts.course.promiseReport).toEqual({
      epoch: 4,
      holds: received,
      executed: gtids('shop-0', 100),
      asPrimary: false,
    })
    expect(synced).toHaveLength(1)
  })

  it('that is being seeded holds nothing that counts', async () => {
    const { parts } = await promised(outsideGroup(), { seeding: true })
    await run(parts)
    expect(parts.course.promiseReport).toMatchObject({ holds: '', executed: '' })
  })

  it('that has reported does nothing more, and reports again for a newer epoch', async () => {
    const { parts } = await promised(outsideGroup())
    await run(parts)
    expect(decided(parts)).toBeNull()
    await parts.file.update({ promise: 5 })
    expect(told(decided(parts)!)).toBe('reportOutside 5; outside of all groups under the promise of epoch 5')
  })

  it('whose server is down waits for the server', async () => {
    const process = new ScriptedProcess()
    process.state = 'dead'
    expect(decided((await promised(outsideGroup(), {}, process)).parts)).toBeNull()
  })

  it('looks at the server first, and waits for one that says nothing of a group', async () => {
    const { parts, server } = await promised(outsideGroup())
    expect(new Group(parts).underPromise(viewOf(parts, null))).toEqual({ next: 'after a look' })
    const { group: _, ...without } = server.state
    expect(new Group(parts).underPromise(viewOf(parts, without))).toBeNull()
  })
})

describe('Under a promise that was reported, a server', () => {
  /** It reported, is seen like this after that, and its agent does what follows. */
  async function seen(sees: GroupShape, more: ServerOverrides) {
    const { parts, server, process } = await promised(outsideGroup())
    await run(parts)
    server.state = aServerState(inGroup('shop-0', sees, { received, ...more }))
    await parts.observer.refresh()
    const mode = new Group(parts)
    const doNext = () => runPass(parts, mode.staysClosed(viewOf(parts, server.state)))
    return { parts, server, process, mode, doNext }
  }
  const closed: ServerOverrides = { readOnly: true, superReadOnly: true, offlineMode: true }

  it('that is closed and outside of all groups is left as it is', async () => {
    const { parts, server, mode } = await seen(outsideGroup(), closed)
    expect(mode.staysClosed(viewOf(parts, server.state))).toEqual({ next: 'when something changes' })
    expect(mode.staysClosed(viewOf(parts, null))).toEqual({ next: 'when something changes' })
  })

  it('that another hand opens is in doubt, closed, and says anew what it holds: it may be in no binlog', async () => {
    const { parts, server, mode, doNext } = await seen(outsideGroup(), { readOnly: false, superReadOnly: false })
    expect(mode.staysClosed(viewOf(parts, null))).toEqual({ next: 'after a look' })
    await doNext()
    expect(parts.file.current.opened).toBe(true)
    expect(parts.notices.list.map(({ code }) => code)).toEqual(['OpenedByHand'])
    await doNext()
    expect(server.calls).toContain('readOnly closed')
    expect(parts.course.promiseReport).toBeNull()
    await run(parts)
    expect(parts.course.promiseReport).toMatchObject({ epoch: 4 })
  })

  it('that another hand has join a group is killed, and reports anew outside of it', async () => {
    const { parts, process, doNext } = await seen({}, closed)
    await doNext()
    expect(process.state).toBe('dead')
    expect(parts.file.current.opened).toBe(false)
    expect(parts.course.promiseReport).toBeNull()
  })
})

describe('A promise', () => {
  const order = { ...primaryOfEpoch3, epoch: 5, revision: 13, after: '', waitMs: 0 }

  it('of a newer epoch drops what was reported under the one before', async () => {
    const { parts } = await promised(outsideGroup())
    await run(parts)
    await new Group(parts).promise(order)
    expect(parts.file.current).toMatchObject({ promise: 5, revision: 13 })
    expect(parts.course.promiseReport).toBeNull()
  })

  it('of the same epoch at a newer revision keeps it', async () => {
    const { parts } = await promised(outsideGroup())
    await run(parts)
    await new Group(parts).promise({ ...order, epoch: 4 })
    expect(parts.file.current).toMatchObject({ promise: 4, revision: 13 })
    expect(parts.course.promiseReport).not.toBeNull()
  })
})
