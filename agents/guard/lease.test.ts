import { saying } from '#test/support/said-as-text.ts'
import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import type { PrimaryAssignment } from '#failover/protocol/assignment.ts'
import type { Timer } from '#common/ports/ports.ts'
import { whyClosed } from '../instance/known.ts'
import { Lease, leaseLost } from './lease.ts'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
} from '../testing.ts'
import { settable } from '../testing-known.ts'

const orderOf = ({ version, cluster, member, epoch, revision }: PrimaryAssignment) => ({
  version,
  cluster,
  member,
  epoch,
  revision,
})

/** The primary of three that neither a manager nor a peer answers; a test says what time it is. */
const alone = (waiting = 0) => aPrimary({ waiting })

interface Given {
  readonly waiting?: number
  readonly instances?: number
  readonly granting?: Set<string>
  readonly mode?: 'async'
  /** What those `granting` have promised. */
  readonly promise?: number
  /** What an agent before had of a lease, from now on. */
  readonly leftMs?: number
}

/** The primary of `instances`; those `granting` answer as long as they are there. */
async function aPrimary({ waiting = 0, instances = 3, granting = new Set<string>(), ...more }: Given) {
  const process = new ScriptedProcess()
  const fixed = await testParts(
    new ScriptedServer(aServerState({ semiSyncSource: { enabled: true, acks: 1, waiting } })),
    { process },
  )
  const time = { nowMs: 1_000_000 }
  const ticks: (() => void)[] = []
  const every = (_ms: number, task: () => void): Timer => (ticks.push(task), { cancel: () => undefined })
  const world = {
    ...fixed.world,
    clock: { ...fixed.world.clock, monotonicMs: () => time.nowMs },
    timers: { ...fixed.world.timers, every },
  }
  const post = async (address: string): Promise<unknown> =>
    granting.has(address) ? { granted: true, promise: more.promise ?? 3 } : Promise.reject(new Error('no answer'))
  const config = { ...fixed.config, mode: more.mode ?? fixed.config.mode }
  const parts = { ...fixed, config, world, transport: { post } }
  settable(parts).contact.managerHeardAtMs = time.nowMs
  await parts.observer.refresh()
  await parts.file.update({
    promise: 3,
    revision: 10,
    ...(more.leftMs !== undefined && { leaseUntilMs: time.nowMs + more.leftMs }),
    assignment: {
      ...primaryOfEpoch3,
      peers: ['shop-0', 'shop-1', 'shop-2', 'shop-3'].slice(0, instances).map((instance) => ({
        instance,
        agent: instance,
        host: instance,
        port: 3306,
      })),
    },
  })
  const woken = { times: 0 }
  const lease = new Lease(parts, () => void (woken.times += 1))
  lease.start()
  const tick = (ms: number) => {
    time.nowMs += ms
    ticks[0]?.()
  }
  tick(0)
  /** As time passes where nothing stands still. */
  const pass = (ms: number) => {
    for (let left = ms; left > 0; left -= 500) tick(Math.min(500, left))
  }
  /** The same, and peers answer within each tick; what the manager was asked at each. */
  const answered = async (ms: number) => {
    const asked: (number | null)[] = []
    for (let left = ms; left > 0; left -= 500) {
      tick(Math.min(500, left))
      await new Promise((resolve) => setImmediate(resolve))
      asked.push(lease.question?.question ?? null)
    }
    return asked
  }
  return {
    parts,
    process,
    lease,
    tick,
    pass,
    answered,
    woken,
    leaseMs: parts.timings.leaseMs,
    askingMs: parts.timings.leaseAfterPauseMs,
  }
}

describe('a lease', () => {
  it('that nobody renews closes its primary, no sooner than it ends', async () => {
    const { parts, process, tick, pass, leaseMs } = await alone()
    pass(leaseMs)
    expect(parts.guards.closed.lease).toBeNull()
    tick(1)
    expect(parts.guards.closed.lease).toBe(leaseLost)
    expect(parts.notices.list.map(({ code }) => code)).toEqual(['LeaseLost'])
    expect(process.state).toBe('running')
  })

  it('that ran out while a session waits ends the server', async () => {
    const { process, pass, leaseMs } = await alone(1)
    pass(leaseMs + 1)
    await expect.poll(() => process.state).toBe('dead')
  })

  it('counts from when it was asked for, and opens again with a later answer', async () => {
    const { parts, lease, tick, pass, leaseMs } = await alone()
    // Its third question, asked at this very moment.
    pass(3_000)
    const { question } = lease.question ?? expect.fail('no question')
    pass(leaseMs - 1)
    const confirmed = (asked: number) => lease.confirmedByManager({ ...orderOf(primaryOfEpoch3), question: asked })
    confirmed(question)
    expect(parts.guards.closed.lease).toBeNull()
    tick(2)
    expect(parts.guards.closed.lease).toBe(leaseLost)
    confirmed(lease.question?.question ?? 0)
    expect(parts.guards.closed.lease).toBeNull()
  })

  it('that is back opens no primary that is short of space, and says so', async () => {
    const { parts, lease, tick, pass, leaseMs } = await alone()
    pass(leaseMs + 1)
    settable(parts).guards.closed.space = say`low space: 90.0 MiB free`
    tick(1)
    expect(parts.guards.closed.lease).toBe(leaseLost)
    lease.confirmedByManager({ ...orderOf(primaryOfEpoch3), question: lease.question?.question ?? 0 })
    expect(parts.guards.closed.lease).toBeNull()
    expect(String(whyClosed(parts.guards))).toBe('low space: 90.0 MiB free')
    expect(String(parts.notices.list.at(-1)?.sentence)).toBe(
      'the lease is confirmed again; the primary stays closed: low space: 90.0 MiB free',
    )
  })

  it('that ran out keeps nobody closed in another role: the next one is primary with a lease of its own', async () => {
    const { parts, tick, pass, leaseMs } = await alone()
    pass(leaseMs + 1)
    await parts.file.update({ promise: 4, revision: 11, assignment: { ...replicaOfEpoch3, epoch: 4, revision: 11 } })
    tick(1)
    expect(parts.guards.closed.lease).toBeNull()
  })

  it('that ran out while its agent was paused is asked for first, and closes nothing where it is confirmed', async () => {
    const { parts, lease, tick, pass, leaseMs } = await alone(1)
    tick(leaseMs + 2_000)
    expect(parts.guards.closed.lease).toBeNull()
    expect(parts.notices.list.at(-1)).toMatchObject({
      code: 'AgentPaused',
      sentence: saying('paused for 8.0 s'),
    })
    lease.confirmedByManager({ ...orderOf(primaryOfEpoch3), question: lease.question?.question ?? 0 })
    pass(leaseMs)
    expect(parts.guards.closed.lease).toBeNull()
    expect(parts.process.state).toBe('running')
    tick(1)
    expect(parts.guards.closed.lease).toBe(leaseLost)
  })

  it('that ran out while its agent was paused closes its primary a moment later where nobody confirms it, however often that is paused', async () => {
    const { parts, tick, pass, leaseMs, askingMs } = await alone()
    tick(leaseMs + 2_000)
    pass(askingMs)
    expect(parts.guards.closed.lease).toBeNull()
    tick(leaseMs)
    expect(parts.guards.closed.lease).toBe(leaseLost)
  })

  it('is not longer for a pause in which it did not run out', async () => {
    const { parts, tick, pass, leaseMs } = await alone()
    tick(leaseMs - 1_000)
    pass(1_000)
    expect(parts.guards.closed.lease).toBeNull()
    tick(1)
    expect(parts.guards.closed.lease).toBe(leaseLost)
  })

  it('that is back has its primary opened at once', async () => {
    const { parts, lease, pass, woken, leaseMs } = await alone()
    pass(leaseMs + 1)
    const before = woken.times
    lease.confirmedByManager({ ...orderOf(primaryOfEpoch3), question: lease.question?.question ?? 0 })
    expect(parts.guards.closed.lease).toBeNull()
    expect(woken.times).toBe(before + 1)
  })
})

describe('who confirms a lease', () => {
  const none = (count: number) => Array.from({ length: count }, () => null)

  it('is a majority of agents: a manager that leads is asked nothing, however long that goes on', async () => {
    const { parts, answered, woken } = await aPrimary({ granting: new Set(['shop-1']) })
    for (let words = 0; words < 12; words += 1) {
      expect(await answered(5_000)).toEqual(none(10))
      settable(parts).contact.managerHeardAtMs += 5_000
    }
    expect(parts.guards.closed.lease).toBeNull()
    expect(woken.times).toBe(0)
  })

  it('is the manager where a majority is missing, before half of the lease is over, and until a majority is back', async () => {
    const granting = new Set(['shop-1'])
    const { lease, parts, answered, leaseMs, woken } = await aPrimary({ granting })
    await answered(3_000)
    granting.clear()
    const asked = await answered(leaseMs / 2)
    expect(asked).toContainEqual(expect.any(Number))
    expect(woken.times).toBe(asked.filter((one, at) => one !== null && one !== asked[at - 1]).length)
    lease.confirmedByManager({ ...orderOf(primaryOfEpoch3), question: lease.question?.question ?? 0 })
    // Each later question goes to everybody at once.
    expect(await answered(4_500)).not.toContain(null)
    expect(parts.guards.closed.lease).toBeNull()
    granting.add('shop-2')
    settable(parts).contact.managerHeardAtMs = parts.world.clock.monotonicMs()
    expect((await answered(2_000)).at(-1)).toBeNull()
  })

  it.each([
    ['both agents of two', 2, ['shop-1'], null],
    ['the manager where the other of two is gone', 2, [], 3],
    ['the manager where half of four answer', 4, ['shop-1'], 3],
    ['nobody where there is nobody else', 1, [], null],
  ])('is %s', async (_, instances, granting, question) => {
    const { answered } = await aPrimary({ instances, granting: new Set(granting) })
    expect((await answered(3_000)).at(-1)).toBe(question)
  })

  it('is the manager too where none has said for long that it leads: an older one says so only with that', async () => {
    const { lease, parts, answered } = await aPrimary({ granting: new Set(['shop-1']) })
    const { restartAloneMs } = parts.timings
    expect(await answered(restartAloneMs / 2 - 500)).toEqual(none(14))
    expect(await answered(500)).toEqual([6])
    expect(await answered(1_500)).toContain(7)
    settable(parts).contact.managerHeardAtMs = parts.world.clock.monotonicMs()
    expect(lease.question).toBeNull()
  })
})

describe('In mode async, where the lease alone is the fence, a lease', () => {
  const noticed = ({ notices }: { notices: { list: readonly { code: string }[] } }) =>
    notices.list.map(({ code }) => code)

  /** Its server is ended in this turn of the event loop, or never. */
  const ended = async (process: ScriptedProcess): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve))
    expect(process.state).toBe('dead')
  }

  it('that ran out ends the server, though nobody waits', async () => {
    const { process, pass, tick } = await aPrimary({ mode: 'async', leftMs: 3_000 })
    pass(3_000)
    expect(process.state).toBe('running')
    tick(1)
    await ended(process)
  })

  it.each(['stopped', 'starting'] as const)(
    'that ran out ends a server that is %s: such a server may go on later, and tell clients OK',
    async (state) => {
      const { process, pass } = await aPrimary({ mode: 'async', leftMs: 3_000 })
      process.state = state
      pass(3_001)
      await ended(process)
    },
  )

  it('that ran out while its agent was paused ends the server at once, and is not asked for first', async () => {
    const { parts, process, tick, leaseMs } = await aPrimary({ mode: 'async', leftMs: 3_000 })
    tick(leaseMs * 2)
    await ended(process)
    expect(noticed(parts)).toEqual(['LeaseLost'])
  })

  it('is no longer for an agent that is started again, and over where nothing of it was stored', async () => {
    const { process } = await aPrimary({ mode: 'async' })
    await ended(process)
  })

  it('is stored when it is confirmed, until when it lasts', async () => {
    const granting = new Set(['shop-1'])
    const { parts, answered, leaseMs } = await aPrimary({ mode: 'async', leftMs: 1_000, granting })
    const askedMs = parts.world.clock.monotonicMs()
    await answered(500)
    await expect.poll(() => parts.file.current.leaseUntilMs).toBe(askedMs + leaseMs)
  })

  it.each([
    ['an agent that has promised nothing: it may have lost what it promised', 0, true],
    ['an agent that was told of an epoch before', 2, false],
  ])('is confirmed by %s: runs out %s', async (_, promise, runsOut) => {
    const { parts, answered } = await aPrimary({ mode: 'async', leftMs: 3_000, promise, granting: new Set(['shop-1']) })
    await answered(4_000)
    expect(noticed(parts).includes('LeaseLost')).toBe(runsOut)
  })

  it('of an epoch that has just begun is confirmed by agents that are new, as all are in a new cluster', async () => {
    const { parts, answered } = await aPrimary({
      mode: 'async',
      leftMs: 3_000,
      promise: 0,
      granting: new Set(['shop-1']),
    })
    const { peers } = parts.file.current.assignment ?? expect.fail('it is nobody')
    await parts.file.update({ promise: 4, assignment: { ...primaryOfEpoch3, peers, epoch: 4 } })
    await answered(4_000)
    expect(noticed(parts)).toEqual([])
  })

  it('of an epoch that has just begun is short until it is confirmed: the order may have been late', async () => {
    const { parts, process, pass } = await aPrimary({ mode: 'async', leftMs: 3_000 })
    const { peers } = parts.file.current.assignment ?? expect.fail('it is nobody')
    await parts.file.update({ promise: 4, assignment: { ...primaryOfEpoch3, peers, epoch: 4 } })
    pass(1_000)
    pass(1)
    await ended(process)
  })
})
