import { saying } from '#test/support/said-as-text.ts'
import { describe, expect, it } from 'vitest'
import type { Disk } from '#common/ports/ports.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import type { DemoteOrder, FetchOrder, PromiseOrder, RenounceOrder } from '#failover/protocol/order.ts'
import { gtids, hostOf, memberOf, uuidOf, type ServerOverrides } from '#topology/testing.ts'
import { Agent } from '../agent.ts'
import { demote } from './demotion.ts'
import { fetchMissing } from '../orders/fetching.ts'
import type { Parts } from '../instance/parts.ts'
import { isPreparedFor, prepareToLead } from './preparation.ts'
import { renounce } from '../orders/renouncing.ts'
import { freshState, StoredStateFile, type StoredState } from '../instance/stored-state.ts'
import {
  aServerState,
  MemoryDisk,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
} from '../testing.ts'
import { changeLife, settable } from '../testing-known.ts'
import type { VolumePort } from '../ports/volume.ts'
import { viewOf } from '../instance/pass.ts'
import { givePromise, passAsReplica, passWhileDown, rememberStop } from '../testing-passes.ts'
import { patienceMs } from '#test/support/patience.ts'

/**
 * Safety rests on what comes before what: on disk before anybody hears of it, stopped before it is read, read before it
 * is reported. Everything that reaches outside notes itself in one journal, when it is done.
 */
const order = { version: orderVersion, cluster: 'shop', member: memberOf('shop-0'), epoch: 4, revision: 11 }
const promiseOrder: PromiseOrder = { ...order, after: '', waitMs: 0 }
const counted = { ...replicaOfEpoch3, counted: true }
const followsShop1: ServerOverrides = {
  readOnly: true,
  superReadOnly: true,
  semiSyncSource: { enabled: false },
  channel: { sourceHost: hostOf('shop-1') },
}

interface Scene {
  readonly parts: Parts
  readonly server: ScriptedServer
  readonly process: ScriptedProcess
  readonly journal: string[]
}

async function scene(
  stored: Partial<StoredState>,
  server: ServerOverrides = {},
  volume: Partial<VolumePort> = {},
): Promise<Scene> {
  const scripted = new ScriptedServer(aServerState(server))
  const journal = scripted.calls
  const process = new ScriptedProcess()
  const kill = process.kill
  Object.assign(process, {
    kill: async () => kill().then(() => void journal.push('killed')),
    start: async () => void journal.push('started'),
  })
  const { readHolds } = scripted
  scripted.readHolds = async () => readHolds().finally(() => journal.push('read what is held'))
  const noted: Partial<VolumePort> = {
    syncRelayLogs: async () => void journal.push('relay logs on disk'),
    readBinlogSet: async () => (journal.push('read binlogs'), gtids('shop-0', 100)),
    ...volume,
  }
  const parts = await testParts(scripted, { process, volume: noted })
  await parts.file.update(stored)
  const update = parts.file.update.bind(parts.file)
  parts.file.update = async (change) => {
    const after = await update(change)
    journal.push(`on disk: ${Object.keys(change).toSorted().join(', ')}`)
    return after
  }
  await parts.observer.refresh()
  return { parts, server: scripted, process, journal }
}

/** The report as it was each time something was done. */
function watchReport({ parts, journal }: Scene): { readonly before: (step: string) => boolean } {
  const seen = new Map<string, boolean>()
  const push = journal.push.bind(journal)
  journal.push = (...steps) => {
    for (const step of steps) seen.set(step, parts.course.promiseReport !== null)
    return push(...steps)
  }
  return { before: (step) => seen.get(step) ?? true }
}

describe('A promise', () => {
  it('of a replica is on disk first, then nothing arrives any more, then what is held is read, and reported once that cannot be lost', async () => {
    const on = await scene({ promise: 3, revision: 10, assignment: counted, stoppedInOrder: false }, followsShop1)
    const reported = watchReport(on)
    await givePromise(on.parts, promiseOrder)
    expect([...on.journal]).toEqual([
      'on disk: promise, revision',
      'stopReceiver',
      'semiSyncReplica off',
      'read what is held',
      'relay logs on disk',
    ])
    expect(reported.before('relay logs on disk')).toBe(false)
    expect(on.parts.course.promiseReport).toMatchObject({ epoch: 4, asPrimary: false })
  })

  it('that could not be written stops nothing and reports nothing', async () => {
    const on = await scene({ promise: 3, revision: 10, assignment: counted }, followsShop1)
    on.parts.file.update = () => Promise.reject(new Error('the disk is full'))
    await expect(givePromise(on.parts, promiseOrder)).rejects.toThrow('the disk is full')
    expect(on.journal).toEqual([])
    expect(on.parts.course.promiseReport).toBeNull()
  })

  it('whose relay logs could not be synced is not reported', async () => {
    const on = await scene({ promise: 3, revision: 10, assignment: counted }, followsShop1, {
      syncRelayLogs: () => Promise.reject(new Error('input/output error')),
    })
    await expect(givePromise(on.parts, promiseOrder)).rejects.toThrow('input/output error')
    expect(on.parts.course.promiseReport).toBeNull()
    expect(on.parts.file.current.promise).toBe(4)
  })

  it('is an orderly stop only once its report was given, for until then relay logs may not be on disk', async () => {
    const on = await scene({ promise: 3, revision: 10, assignment: counted, stoppedInOrder: false }, followsShop1)
    await rememberStop(on.parts)
    expect(on.parts.file.current.stoppedInOrder).toBe(false)
    await givePromise(on.parts, promiseOrder)
    await rememberStop(on.parts)
    expect(on.journal.slice(-2)).toEqual(['relay logs on disk', 'on disk: stoppedInOrder'])
    expect(on.parts.file.current.stoppedInOrder).toBe(true)
  })

  it('of a primary is on disk first, then the server is killed, never drained, and its binlogs are read after its death', async () => {
    const on = await scene({ promise: 3, revision: 10, assignment: primaryOfEpoch3, mayHaveTail: true })
    await givePromise(on.parts, promiseOrder)
    expect(on.journal.filter((step) => step !== 'read what is held')).toEqual([
      'on disk: promise, revision',
      'killed',
      'read binlogs',
    ])
    expect(on.parts.course.promiseReport).toMatchObject({ epoch: 4, asPrimary: true, holds: gtids('shop-0', 100) })
  })
})

describe('A replica that follows', () => {
  it('loses the mark of an orderly stop before anything arrives', async () => {
    const on = await scene(
      { promise: 3, revision: 10, assignment: counted, stoppedInOrder: true },
      { ...followsShop1, channel: { sourceHost: hostOf('shop-2'), ioRunning: 'no' } },
    )
    settable(on.parts).told.trustsAssignment = true
    await passAsReplica(on.parts, counted, on.server.state)
    expect(on.journal).toContain('startReceiver')
    expect(on.journal.indexOf('on disk: stoppedInOrder')).toBeGreaterThanOrEqual(0)
    expect(on.journal.indexOf('on disk: stoppedInOrder')).toBeLessThan(on.journal.indexOf('startReceiver'))
    expect(on.parts.file.current.stoppedInOrder).toBe(false)
  })

  it('and was primary applies nothing while its own acknowledgements, which its applier would wait for, are on', async () => {
    const on = await scene(
      { promise: 3, revision: 10, assignment: counted },
      { readOnly: true, superReadOnly: true, channel: null, semiSyncSource: { enabled: true } },
    )
    settable(on.parts).told.trustsAssignment = true
    await passAsReplica(on.parts, counted, on.server.state)
    expect(on.journal).toContain('startReceiver')
    expect(on.journal).not.toContain('startApplier')
    await on.parts.jobs.switchingOff
    expect(on.journal.at(-1)).toBe('semiSyncSource 0')
  })

  it('and whose machine crashed throws its relay logs away before it follows', async () => {
    const on = await scene(
      { promise: 3, revision: 10, assignment: replicaOfEpoch3, forgetful: true },
      { ...followsShop1, channel: { sourceHost: hostOf('shop-2'), ioRunning: 'no' } },
    )
    await passAsReplica(on.parts, replicaOfEpoch3, on.server.state)
    expect(on.journal.indexOf('forgetSource')).toBeGreaterThanOrEqual(0)
    expect(on.journal.indexOf('forgetSource')).toBeLessThan(on.journal.indexOf('startReceiver'))
  })

  it.each([
    ['lacks one of what its primary held', gtids('shop-0', 101), true],
    ['holds all that its primary held', gtids('shop-0', 100), false],
    ['does not know what its primary held', null, true],
  ])(
    'and whose machine crashed stays forgetful unless it holds all of that: it %s',
    async (_, sourceHolds, forgetful) => {
      const on = await scene(
        { promise: 3, revision: 10, assignment: replicaOfEpoch3, forgetful: true },
        { ...followsShop1, channel: { sourceHost: hostOf('shop-1'), semiSync: false } },
      )
      changeLife(on.parts, { relayLogsDiscarded: true })
      settable(on.parts).course.converged = { revision: replicaOfEpoch3.revision, done: false, sentence: '' }
      settable(on.parts).told.catchUpTo = sourceHolds
      await passAsReplica(on.parts, replicaOfEpoch3, on.server.state)
      expect(on.parts.file.current.forgetful).toBe(forgetful)
    },
  )

  it.each<[string, string, 'counts' | 'harmless' | '', boolean]>([
    ['it was told of nothing, although what it was told its source holds is less', '', '', true],
    ['it was told of what it does not hold any more', gtids('shop-9', 1), '', true],
    ['it was told that its source never had what it holds', gtids('shop-0', 100), '', false],
    ['it was told so, but counts: writes may wait for it', gtids('shop-0', 100), 'counts', true],
    ['what its source never had changed no data', gtids('shop-0', 100), 'harmless', true],
  ])('stands by for errant transactions only where that is proven: %s', async (_, errant, how, follows) => {
    const counted = how === 'counts'
    const on = await scene(
      { promise: 3, revision: 10, assignment: replicaOfEpoch3 },
      { ...followsShop1, channel: { sourceHost: hostOf('shop-1'), semiSync: counted } },
    )
    const errantJudged = { of: errant, changesNothing: how === 'harmless' }
    Object.assign(on.parts.told, { sourceHolds: gtids('shop-0', 99), errant, errantJudged, trustsAssignment: true })
    await passAsReplica(on.parts, { ...replicaOfEpoch3, counted, sourceUuid: uuidOf('shop-1') }, on.server.state)
    expect(String(on.parts.course.converged.sentence).includes('errant')).toBe(!follows)
  })
})

describe('The start gate keeps mysqld down', () => {
  const tail: Partial<StoredState> = { promise: 3, revision: 10, mayHaveTail: true }

  async function atTheGate(
    stored: Partial<StoredState>,
    more: { readonly sourceHolds?: string | null; readonly mayRestart?: boolean } = {},
  ): Promise<Scene> {
    const on = await scene(stored)
    on.process.state = 'dead'
    settable(on.parts).told.sourceHolds = more.sourceHolds ?? null
    settable(on.parts).told.mayRestart = more.mayRestart ?? false
    await passWhileDown(on.parts)
    return on
  }

  it.each([
    [
      'while a seeding has not ended',
      { promise: 3, assignment: replicaOfEpoch3, seeding: true },
      'a seeding has not ended',
    ],
    [
      'of a primary that nobody lets start again',
      { ...tail, assignment: primaryOfEpoch3 },
      'it was primary; it waits for the manager',
    ],
    [
      'of a primary that promised a newer epoch',
      { ...tail, promise: 4, assignment: primaryOfEpoch3 },
      'it was primary and promised epoch 4',
    ],
    [
      'of a former primary until the new one’s set is known',
      { ...tail, assignment: replicaOfEpoch3 },
      'it waits to hear what the new primary holds',
    ],
  ] as const)('%s', async (_, stored, why) => {
    const on = await atTheGate(stored)
    expect(on.journal).not.toContain('started')
    expect(on.parts.course.converged).toMatchObject({ done: false, sentence: saying(why) })
  })

  it('not of a primary that may start again, nor of a former one that holds nothing else', async () => {
    expect((await atTheGate({ ...tail, assignment: primaryOfEpoch3 }, { mayRestart: true })).journal).toContain(
      'started',
    )
    const former = await atTheGate({ ...tail, assignment: replicaOfEpoch3 }, { sourceHolds: gtids('shop-0', 100) })
    expect(former.journal.indexOf('on disk: mayHaveTail, unsettled')).toBeLessThan(former.journal.indexOf('started'))
    expect(former.journal).toContain('started')
  })

  it('until how it ended is on disk, where a stranger stopped it', async () => {
    const on = await scene(
      { ...tail, assignment: primaryOfEpoch3 },
      {},
      { endedHow: async () => ({ how: 'stopped', sentence: 'SHUTDOWN' }) },
    )
    on.process.state = 'dead'
    settable(on.parts).told.mayRestart = true
    await passWhileDown(on.parts)
    expect(on.parts.file.current.unsettled).toBe(true)
    expect(on.journal.indexOf('on disk: unsettled')).toBeLessThan(on.journal.indexOf('started'))
  })
})

describe('A demotion', () => {
  const demotion: DemoteOrder = { ...order, graceMs: 0, deadlineMs: 200 }
  const primary: ServerOverrides = {
    semiSyncSource: { enabled: true, acks: 1 },
    dumpThreads: [{ threadId: 1, user: 'regent_r_1', host: '', serverUuid: '', semiSync: true }],
  }

  it('closes the server, waits until nobody waits for an acknowledgement, promises, and reads what it holds after that', async () => {
    const on = await scene({ promise: 3, revision: 10, assignment: primaryOfEpoch3 }, primary)
    let waiting = 3
    Object.assign(on.server, {
      waitingSessions: async () => (
        on.journal.push('somebody may wait'),
        waiting > 0 && on.journal.includes('readOnly closed') ? waiting-- : 0
      ),
    })
    await demote(on.parts, { ...demotion, deadlineMs: patienceMs })
    const steps = on.journal.filter((step) => step !== 'somebody may wait')
    expect(steps).toEqual([
      'readOnly closed',
      'offline on',
      'killForeignSessions',
      'on disk: promise, revision',
      'read what is held',
    ])
    expect(waiting).toBe(0)
    expect(on.journal.lastIndexOf('somebody may wait')).toBeLessThan(on.journal.indexOf('on disk: promise, revision'))
  })

  it('promises nothing while somebody waits, and opens again at its deadline', async () => {
    const on = await scene({ promise: 3, revision: 10, assignment: primaryOfEpoch3 }, primary)
    Object.assign(on.server, { waitingSessions: async () => (on.journal.includes('readOnly closed') ? 1 : 0) })
    await expect(demote(on.parts, demotion)).rejects.toThrow('still wait')
    expect(on.parts.file.current.promise).toBe(3)
    expect(on.journal.at(-1)).toBe('open')
  })
})

describe('Who makes ready to lead', () => {
  async function promisedReplica(): Promise<Scene> {
    const on = await scene({ promise: 3, revision: 10, assignment: counted }, followsShop1)
    await givePromise(on.parts, promiseOrder)
    on.journal.length = 0
    return on
  }

  it('is ready only once all that it received is applied', async () => {
    const on = await promisedReplica()
    Object.assign(on.server, { waitExecuted: async () => false })
    await prepareToLead(on.parts)
    expect(isPreparedFor(viewOf(on.parts, null), 4)).toBe(false)
    expect(on.journal).not.toContain('stopApplier')
  })

  it('is not ready any more when it fetches what it lacks', async () => {
    const on = await promisedReplica()
    await prepareToLead(on.parts)
    expect(isPreparedFor(viewOf(on.parts, null), 4)).toBe(true)
    const fetch: FetchOrder = {
      ...order,
      revision: 12,
      from: replicaOfEpoch3.source,
      until: gtids('shop-0', 101),
      deadlineMs: 100,
    }
    await fetchMissing(on.parts, fetch)
    expect(isPreparedFor(viewOf(on.parts, null), 4)).toBe(false)
  })

  it('makes nothing ready before it promised', async () => {
    const on = await scene({ promise: 3, revision: 10, assignment: counted }, followsShop1)
    await prepareToLead(on.parts)
    expect(on.journal).toEqual([])
  })
})

describe('A fetch', () => {
  const fetch: FetchOrder = {
    ...order,
    revision: 12,
    from: replicaOfEpoch3.source,
    until: gtids('shop-0', 101),
    deadlineMs: 100,
  }

  it('takes back the report and the mark of an orderly stop before anything arrives, and what arrived is on disk before that mark', async () => {
    const on = await scene({ promise: 4, revision: 11, assignment: counted, stoppedInOrder: true }, followsShop1)
    await givePromise(on.parts, { ...promiseOrder })
    on.journal.length = 0
    await fetchMissing(on.parts, fetch)
    expect(on.journal[0]).toBe('on disk: revision, stoppedInOrder')
    expect(on.journal.indexOf('startReceiver')).toBeGreaterThan(0)
    expect(on.journal.slice(-3)).toEqual(['stopReceiver', 'relay logs on disk', 'on disk: stoppedInOrder'])
    expect(on.parts.course.promiseReport).toBeNull()
  })
})

describe('Who renounces', () => {
  const renunciation: RenounceOrder = { ...order, epoch: 3, incarnation: 'i' }

  it('as a primary is killed before it is anybody else', async () => {
    const on = await scene({ promise: 3, revision: 10, assignment: primaryOfEpoch3 })
    await renounce(on.parts, renunciation)
    expect(on.journal[0]).toBe('killed')
    expect(on.journal.filter((step) => step.startsWith('on disk'))).toHaveLength(1)
  })

  it('as a replica acknowledges nothing any more before it is anybody else', async () => {
    const on = await scene({ promise: 3, revision: 10, assignment: counted }, followsShop1)
    await renounce(on.parts, renunciation)
    expect(on.journal[0]).toBe('stopReceiver')
    expect(on.parts.file.current).toMatchObject({ assignment: null, fromThePast: true })
  })
})

describe('An agent that starts', () => {
  const medium = { podUid: '', mounting: 'm', mount: null, filesystemErrors: null, file: 'f' }

  async function started(
    stored: Partial<StoredState>,
    machine: { readonly bootId?: string; readonly mounting?: string } = {},
  ) {
    const disk: Disk = new MemoryDisk()
    const file = await StoredStateFile.open(disk, 'state', () => freshState('volume-0', 'boot'))
    await file.update({ promise: 3, revision: 10, assignment: counted, medium, stoppedInOrder: false, ...stored })
    const parts = await testParts(new ScriptedServer(aServerState(followsShop1)))
    const agent = await Agent.create({
      ...parts,
      disk,
      machine: { bootId: async () => machine.bootId ?? 'boot' },
      medium: { read: async () => ({ ...medium, mounting: machine.mounting ?? 'm' }) },
      stateFile: 'state',
      log: () => undefined,
    })
    return agent.observation().stored
  }

  it('remembers what it received while its machine and its volume stayed as they were', async () => {
    expect(await started({})).toMatchObject({ forgetful: false })
  })

  it.each([
    ['its machine was booted', { bootId: 'another' }],
    ['the volume was mounted anew', { mounting: 'another' }],
  ])('may have forgotten what it received where %s', async (_, machine) => {
    expect(await started({}, machine)).toMatchObject({ forgetful: true })
  })

  it('has forgotten nothing where it stopped in order, or was primary', async () => {
    expect(await started({ stoppedInOrder: true }, { bootId: 'another' })).toMatchObject({ forgetful: false })
    expect(await started({ assignment: primaryOfEpoch3 }, { bootId: 'another' })).toMatchObject({ forgetful: false })
  })
})
