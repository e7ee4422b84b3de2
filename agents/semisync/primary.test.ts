import { describe, expect, it } from 'vitest'
import type { PrimaryAssignment } from '#failover/protocol/assignment.ts'
import { aDumpThreadOf, gtids, type ServerOverrides } from '#topology/testing.ts'
import { leaseLost } from '../guard/lease.ts'
import { tidyAfterMs } from './opening.ts'
import { prepareToLead } from './preparation.ts'
import { aServerState, primaryOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { changeLife, settable } from '../testing-known.ts'
import { lifeOf } from '../instance/life.ts'
import { opened, passAsPrimary } from '../testing-passes.ts'

const closed = { readOnly: true, superReadOnly: true, offlineMode: true }
const stoppedChannel = { ioRunning: 'no', sqlRunning: true } as const

describe('opening a promoted replica', () => {
  it('applies all that was received when its receiver had stopped, whatever was seen before', async () => {
    const server = new ScriptedServer(
      aServerState({ ...closed, channel: stoppedChannel, received: gtids('shop-1', 9) }),
    )
    const parts = await testParts(server)
    const seenEarlier = aServerState({ ...closed, channel: stoppedChannel, received: gtids('shop-1', 5) })
    await passAsPrimary(parts, primaryOfEpoch3, seenEarlier)
    expect(server.calls.indexOf(`waitExecuted ${gtids('shop-1', 9)}`)).toBeGreaterThan(
      server.calls.indexOf('stopReceiver'),
    )
    expect(server.calls.indexOf('open')).toBeGreaterThan(server.calls.indexOf(`waitExecuted ${gtids('shop-1', 9)}`))
  })

  it('that was primary a moment ago lets its applier wait for no acknowledgement, which nobody could give', async () => {
    const received = gtids('shop-1', 9)
    const enabled = { enabled: true, acks: 1, waiting: 1 }
    const state = aServerState({ ...closed, channel: stoppedChannel, received, semiSyncSource: enabled })
    const server = new ScriptedServer(state)
    const parts = await testParts(server)
    await passAsPrimary(parts, primaryOfEpoch3, state)
    const off = server.calls.indexOf('semiSyncSource 0')
    expect(off).toBeGreaterThan(server.calls.indexOf('stopReceiver'))
    expect(off).toBeLessThan(server.calls.indexOf(`waitExecuted ${received}`))
    expect(server.calls.indexOf('semiSyncSource 1')).toBeGreaterThan(off)
  })

  it('leaves the channel and the events for later, when clients have had a moment to come', async () => {
    const server = new ScriptedServer(aServerState({ ...closed, channel: stoppedChannel }))
    const parts = await testParts(server)
    const pass = () => passAsPrimary(parts, primaryOfEpoch3, server.state)
    const first = await pass()
    server.state = aServerState({ channel: stoppedChannel, readOnly: false, superReadOnly: false, offlineMode: false })
    const second = await pass()
    expect([first, second]).toEqual([{ afterMs: tidyAfterMs }, { afterMs: expect.any(Number) as number }])
    expect(server.calls).not.toContain('forgetSource')
    expect(server.calls).not.toContain('events on')
    await new Promise((resolve) => setTimeout(resolve, tidyAfterMs))
    await pass()
    await pass()
    expect(server.calls.filter((call) => call === 'forgetSource')).toHaveLength(2)
    expect(server.calls.filter((call) => call === 'events on')).toHaveLength(1)
  })
})

describe('a channel of an opened primary', () => {
  const open = { readOnly: false, superReadOnly: false, offlineMode: false }
  /** It executed 1–100 of its own uuid. */
  const withChannel = (received: string) => aServerState({ ...open, channel: stoppedChannel, received })

  async function converged(server: ScriptedServer, isOpen: boolean): Promise<void> {
    const parts = await testParts(server)
    if (isOpen) changeLife(parts, { stage: opened })
    await passAsPrimary(parts, primaryOfEpoch3, server.state)
  }

  it('is forgotten once everything it received is applied', async () => {
    const server = new ScriptedServer(withChannel(gtids('shop-0', 90)))
    await converged(server, true)
    expect(server.calls.indexOf('forgetSource')).toBeGreaterThan(server.calls.indexOf('stopReceiver'))
  })

  it('is kept, and applied, while something it received is not applied', async () => {
    const server = new ScriptedServer(withChannel(gtids('shop-1', 9)))
    await converged(server, true)
    expect(server.calls).not.toContain('forgetSource')
    expect(server.calls).toContain('startApplier')
  })

  it('makes a replica that somebody opened by hand be promoted as any other: what it received is applied before anybody writes', async () => {
    const server = new ScriptedServer(withChannel(gtids('shop-1', 9)))
    await converged(server, false)
    const applied = server.calls.indexOf(`waitExecuted ${gtids('shop-1', 9)}`)
    expect(server.calls.indexOf('offline on')).toBeGreaterThanOrEqual(0)
    expect(applied).toBeGreaterThan(server.calls.indexOf('offline on'))
    expect(server.calls.indexOf('open')).toBeGreaterThan(applied)
  })
})

describe('an agent that is started again right after it opened its primary', () => {
  const open = { readOnly: false, superReadOnly: false, offlineMode: false, openGates: ['shop-1', 'shop-2'] }
  const waiting = { enabled: true, acks: 1, waiting: 3 }
  const leftChannel = { ioRunning: 'no', sqlRunning: false } as const

  async function restarted(server: ScriptedServer) {
    const parts = await testParts(server)
    await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3 })
    settable(parts).course.reopening = true
    const unsettledBeforeKills: boolean[] = []
    const kill = server.killForeignSessions
    Object.assign(server, {
      killForeignSessions: () => (unsettledBeforeKills.push(parts.file.current.unsettled), kill()),
    })
    await passAsPrimary(parts, primaryOfEpoch3, server.state)
    return { parts, unsettledBeforeKills }
  }

  it('takes it as it is, ends nobody who waits, and tidies up what was left', async () => {
    const server = new ScriptedServer(aServerState({ ...open, channel: leftChannel, semiSyncSource: waiting }))
    const { parts } = await restarted(server)
    expect(server.calls).not.toContain('offline on')
    expect(server.calls).not.toContain('killForeignSessions')
    expect(server.calls.indexOf('forgetSource')).toBeGreaterThan(server.calls.indexOf('events on'))
    expect(server.calls).toContain('events on')
    expect(parts.course.converged).toMatchObject({ done: true })
    expect(parts.file.current.unsettled).toBe(false)
  })

  it('kills it where the agent before saw that its GTIDs were reset, and died', async () => {
    const server = new ScriptedServer(aServerState({ ...open, channel: null, semiSyncSource: waiting }))
    const parts = await testParts(server)
    await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3, gtidsReset: true })
    await passAsPrimary(parts, primaryOfEpoch3, server.state)
    expect(parts.process.state).toBe('dead')
  })

  it('has it on disk that its tail is unsettled before it ends those who may wait, where something is not applied', async () => {
    const received = gtids('shop-1', 9)
    const server = new ScriptedServer(
      aServerState({ ...open, channel: leftChannel, received, semiSyncSource: waiting }),
    )
    // Nobody acknowledges its marker.
    server.writeMarker = () => new Promise(() => undefined)
    const { parts, unsettledBeforeKills } = await restarted(server)
    expect(unsettledBeforeKills).toEqual([true])
    expect(lifeOf(parts).markedRevision).toBeLessThan(10)
  })
})

describe('a primary that was demoted and goes on', () => {
  it('changes its gates, which a super read-only server refuses, and opens', async () => {
    const server = new ScriptedServer(aServerState({ ...closed, openGates: ['shop-1', 'shop-2', 'shop-3'] }))
    const parts = await testParts(server)
    changeLife(parts, { stage: opened })
    let superReadOnly = true
    const setReadOnly = server.setReadOnly
    server.setReadOnly = async (to) => {
      superReadOnly = to === 'closed'
      await setReadOnly(to)
    }
    server.setGates = async (open) => {
      if (superReadOnly) throw new Error('The MySQL server is running with the --super-read-only option')
      server.calls.push(`gates ${open.join(',')}`)
    }
    await passAsPrimary(parts, primaryOfEpoch3, server.state)
    expect(server.calls).toContain('gates shop-1,shop-2')
    expect(server.calls.indexOf('open')).toBeGreaterThan(server.calls.indexOf('gates shop-1,shop-2'))
  })
})

describe('the candidate of a switchover, or of a failover', () => {
  it('leaves only the connections of those alone that it gathered and counts', async () => {
    const server = new ScriptedServer(aServerState({ ...closed, channel: null }))
    const parts = await testParts(server)
    let keep: Parameters<typeof server.killDumpThreads>[0] = () => true
    server.killDumpThreads = async (given) => ((keep = given), [])
    const thread = (user: string) => ({ threadId: 7, user, host: '', serverUuid: '', semiSync: true })
    await passAsPrimary(
      parts,
      { ...primaryOfEpoch3, counted: ['shop-1'], connected: ['shop-1', 'shop-2'] },
      server.state,
    )
    expect([1, 2, 3].map((ordinal) => keep(thread(`regent_r_${ordinal}`)))).toEqual([true, false, false])
  })

  it('that made ready is opened with nothing more than gates and acknowledgements set', async () => {
    const server = new ScriptedServer(aServerState({ ...closed, channel: stoppedChannel }))
    const parts = await testParts(server)
    await parts.file.update({ promise: 3 })
    settable(parts).course.promiseReport = { epoch: 3, holds: '', executed: '', asPrimary: false }
    await prepareToLead(parts)
    expect(server.calls.splice(0)).toEqual([
      'offline on',
      'killForeignSessions',
      'startApplier',
      expect.stringContaining('waitExecuted'),
      'stopApplier',
      'beginBinlog',
    ])
    await passAsPrimary(parts, primaryOfEpoch3, server.state)
    expect(server.calls.slice(0, 5)).toEqual([
      'killDumpThreads',
      'readOnly accounts',
      'gates shop-1,shop-2',
      'semiSyncSource 1',
      'open',
    ])
  })

  it('does not open where its GTIDs were reset since, unless it is started again where it was', async () => {
    for (const [inPlace, opens] of [
      [false, false],
      [true, true],
    ] as const) {
      const server = new ScriptedServer(aServerState({ ...closed, channel: null }))
      const parts = await testParts(server)
      settable(parts).course.reopening = inPlace
      settable(parts).doubts.gtidsReset = true
      await passAsPrimary(parts, { ...primaryOfEpoch3, acks: 0 }, server.state)
      expect(server.calls.includes('open')).toBe(opens)
    }
  })

  it('that made ready for another epoch is made ready again', async () => {
    const server = new ScriptedServer(aServerState({ ...closed, channel: stoppedChannel }))
    const parts = await testParts(server)
    changeLife(parts, { stage: { is: 'prepared', epoch: 2, executed: '' } })
    await passAsPrimary(parts, primaryOfEpoch3, server.state)
    expect(server.calls.slice(0, 2)).toEqual(['killForeignSessions', 'stopReceiver'])
  })
})

describe('a primary that is copied while too few can acknowledge', () => {
  const donating = { ...primaryOfEpoch3, donates: true as const }
  const acknowledging = { threadId: 7, user: 'regent_r_1', host: '127.24.1.2', serverUuid: '', semiSync: true }
  const gates = { openGates: ['shop-1', 'shop-2'], channel: null }

  async function converged(server: ScriptedServer) {
    const parts = await testParts(server)
    changeLife(parts, { stage: opened })
    await passAsPrimary(parts, donating, server.state)
    return parts
  }

  it('is closed, and writes no marker', async () => {
    const server = new ScriptedServer(
      aServerState({ ...gates, dumpThreads: [], semiSyncSource: { enabled: true, acks: 1 } }),
    )
    const parts = await converged(server)
    expect(server.calls).toEqual(expect.arrayContaining(['readOnly closed', 'offline on', 'killForeignSessions']))
    expect(server.calls.filter((call) => call.startsWith('marker'))).toEqual([])
    expect(parts.course.converged).toMatchObject({
      done: false,
      sentence: 'closed: it is being copied, and too few replicas can acknowledge',
    })
  })

  it('is killed where something waits, never drained, and may start again by itself', async () => {
    const server = new ScriptedServer(
      aServerState({ ...gates, dumpThreads: [], semiSyncSource: { enabled: true, acks: 1, waiting: 1 } }),
    )
    const parts = await converged(server)
    expect(parts.process.state).toBe('dead')
    expect(parts.told.mayRestart).toBe(true)
    expect(server.calls).not.toContain('readOnly closed')
  })

  it('is killed, too, where a marker waits that it wrote when it was started again', async () => {
    const server = new ScriptedServer(
      aServerState({ ...closed, ...gates, dumpThreads: [], semiSyncSource: { enabled: true, acks: 1, waiting: 1 } }),
    )
    const parts = await testParts(server)
    settable(parts).course.reopening = true
    await passAsPrimary(parts, donating, server.state)
    expect(parts.process.state).toBe('dead')
    expect(parts.told.mayRestart).toBe(true)
  })

  it('stays open, or opens again, as soon as enough can acknowledge', async () => {
    const server = new ScriptedServer(
      aServerState({ ...closed, ...gates, dumpThreads: [acknowledging], semiSyncSource: { enabled: true, acks: 1 } }),
    )
    await converged(server)
    expect(server.calls).toEqual(expect.arrayContaining(['open']))
  })

  it('and that was started again for it waits for no marker', async () => {
    const server = new ScriptedServer(
      aServerState({ ...closed, ...gates, dumpThreads: [], semiSyncSource: { enabled: true, acks: 1 } }),
    )
    const parts = await testParts(server)
    settable(parts).course.reopening = true
    await passAsPrimary(parts, donating, server.state)
    expect(server.calls.filter((call) => call.startsWith('marker') || call === 'open')).toEqual([])
    expect(String(parts.course.converged.sentence)).toBe(
      'closed: it is being copied, and too few replicas can acknowledge',
    )
  })
})

describe('a primary that keeps itself closed', () => {
  it.each([
    ['without its lease is killed', { lease: leaseLost, space: null }, 'dead'],
    ['for want of space waits', { lease: null, space: 'low space: 1 MiB free' }, 'running'],
    ['without both is killed', { lease: leaseLost, space: 'low space: 1 MiB free' }, 'dead'],
  ])('%s where sessions wait for an acknowledgement, never drained', async (_what, closed, state) => {
    const server = new ScriptedServer(
      aServerState({
        openGates: ['shop-1', 'shop-2'],
        channel: null,
        semiSyncSource: { enabled: true, acks: 1, waiting: 1 },
      }),
    )
    const parts = await testParts(server)
    changeLife(parts, { stage: opened })
    Object.assign(parts.guards.closed, closed)
    await passAsPrimary(parts, primaryOfEpoch3, server.state)
    expect(parts.process.state).toBe(state)
    expect(server.calls).not.toContain('readOnly closed')
  })
})

it('an open primary writes once more where somebody waits although enough replicas are connected: with that they acknowledge what waits', async () => {
  const dumpThreads = [aDumpThreadOf('shop-1', { semiSync: true })]
  const semiSyncSource = { enabled: true, acks: 1, waiting: 1 }
  const open = { readOnly: false, superReadOnly: false, offlineMode: false, channel: null }
  const server = new ScriptedServer(aServerState({ ...open, dumpThreads, semiSyncSource }))
  const parts = await testParts(server)
  changeLife(parts, { stage: opened })
  await passAsPrimary(parts, primaryOfEpoch3, server.state)
  expect(server.calls).toContain('marker 2')
})

it('a primary that answers and is open needs no leave to start again', async () => {
  const server = new ScriptedServer(aServerState({ openGates: ['shop-1', 'shop-2'], channel: null }))
  const parts = await testParts(server)
  changeLife(parts, { stage: opened })
  settable(parts).told.mayRestart = true
  await passAsPrimary(parts, primaryOfEpoch3, server.state)
  expect(parts.told.mayRestart).toBe(false)
})

describe('an open primary whose acknowledgements another hand switched off before a new assignment came', () => {
  const off = { enabled: false, acks: 1 }
  const earlier = { ...primaryOfEpoch3, revision: 9 }

  /** Whether the tail was unsettled, on disk, as acknowledgements were set. */
  async function doubted(
    applied: PrimaryAssignment | null,
    semiSyncSource: NonNullable<ServerOverrides['semiSyncSource']>,
  ) {
    const server = new ScriptedServer(aServerState({ openGates: ['shop-1', 'shop-2'], channel: null, semiSyncSource }))
    const parts = await testParts(server)
    changeLife(parts, { stage: { ...opened, applied }, markedRevision: 10 })
    const unsettled: boolean[] = []
    server.setSemiSyncSource = async () => void unsettled.push(parts.file.current.unsettled)
    await passAsPrimary(parts, primaryOfEpoch3, server.state)
    return unsettled[0]
  }

  it.each([
    ['switched off', off],
    ['waiting for fewer', { enabled: true, acks: 0 }],
    ['with another wait point', { enabled: true, acks: 1, intact: false }],
  ])('doubts its tail before it sets them again: %s', async (_what, semiSyncSource) => {
    expect(await doubted(earlier, semiSyncSource)).toBe(true)
  })

  it('doubts its tail, too, where an agent that died had applied something unknown', async () => {
    expect(await doubted(null, off)).toBe(true)
  })

  it('doubts nothing where the earlier assignment asked for no acknowledgement, or nobody touched them', async () => {
    expect(await doubted({ ...earlier, acks: 0 }, off)).toBe(false)
    expect(await doubted(earlier, { enabled: true, acks: 1 })).toBe(false)
  })
})

describe('a primary that closed itself', () => {
  it('opens at once when its lease is back, by what is so now and not by what was seen before, and takes it for nobody’s hand', async () => {
    const server = new ScriptedServer(
      aServerState({
        readOnly: false,
        superReadOnly: false,
        offlineMode: false,
        openGates: ['shop-1', 'shop-2'],
        semiSyncSource: { enabled: true, acks: 1 },
      }),
    )
    const parts = await testParts(server)
    changeLife(parts, { stage: { ...opened, applied: primaryOfEpoch3 } })
    settable(parts).guards.closed.lease = leaseLost
    await parts.observer.refresh()
    const pass = async () => passAsPrimary(parts, primaryOfEpoch3, await parts.observer.recent(60_000))
    server.setReadOnly = async () => void (server.state = { ...server.state, ...closed })
    await pass()
    settable(parts).guards.closed.lease = null
    await pass()
    expect(server.calls).toContain('open')
    expect(parts.notices.list.map(({ sentence }) => sentence).join()).not.toContain('by another hand')
  })
})

describe('a fenced primary', () => {
  it('writes no marker', async () => {
    const server = new ScriptedServer(
      aServerState({ ...closed, openGates: ['shop-1', 'shop-2'], semiSyncSource: { enabled: true, acks: 1 } }),
    )
    const parts = await testParts(server)
    changeLife(parts, { stage: opened })
    await passAsPrimary(parts, { ...primaryOfEpoch3, fenced: true }, server.state)
    expect(server.calls.filter((call) => call.startsWith('marker'))).toEqual([])
    expect(parts.course.converged).toMatchObject({ revision: 10, done: false })
  })
})
