import { describe, expect, it } from 'vitest'
import type { Timers } from '#common/ports/ports.ts'
import { Watches } from '#common/watch/watches.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { defaultTimings } from '#failover/protocol/timings.ts'
import type { ServerState, WriteProbe } from '#topology/snapshot/observation.ts'
import { gtids } from '#topology/testing.ts'
import { inGroup, outsideGroup } from '#topology/testing-group.ts'
import { Observer } from './observer.ts'
import { aServerState, quietVolume, ScriptedProcess, ScriptedServer, testParts } from '../testing.ts'

/** A server whose answers a test gives one by one. */
class SlowServer extends ScriptedServer {
  readonly answers: ((state: ServerState) => void)[] = []
  override readonly readState = (): Promise<ServerState> => new Promise((resolve) => this.answers.push(resolve))
}

const older = aServerState({ received: gtids('shop-1', 5) })

describe('the observer', () => {
  it('shows what a promise reported, although the server was read before that', async () => {
    const { observer } = await testParts(new ScriptedServer(older))
    await observer.refresh()
    observer.knownToHold(gtids('shop-1', 9))
    expect(observer.server?.received).toBe(gtids('shop-1', 9))
  })

  it('looks again after a change, although a look is under way', async () => {
    const server = new SlowServer(older)
    const { observer } = await testParts(server)
    const before = observer.refresh()
    observer.outdate()
    const after = observer.recent(60_000)
    server.answers[0]?.(aServerState({ offlineMode: true }))
    server.answers[1]?.(aServerState({ offlineMode: false }))
    await before
    expect((await after).offlineMode).toBe(false)
    expect(observer.server?.offlineMode).toBe(false)
  })

  it('does not go back to a read that began before what it knows', async () => {
    const server = new SlowServer(older)
    const { observer } = await testParts(server)
    const first = observer.refresh()
    server.answers[0]?.(older)
    await first
    const outdated = observer.refresh()
    observer.knownToHold(gtids('shop-1', 9))
    const fresh = observer.refresh()
    expect(server.answers).toHaveLength(3)
    server.answers[1]?.(older)
    await realWorld.timers.sleep(1)
    expect(observer.server?.received).toBe(gtids('shop-1', 9))
    server.answers[2]?.(aServerState({ received: gtids('shop-1', 12) }))
    await Promise.all([outdated, fresh])
    expect(observer.server?.received).toBe(gtids('shop-1', 12))
  })

  it('takes no server for silent for the time in which the agent itself stood still: answers may lie there', async () => {
    let nowMs = 0
    const beats: { everyMs: number; task: () => void }[] = []
    const clock = { ...realWorld.clock, monotonicMs: () => nowMs }
    const timers: Timers = {
      ...realWorld.timers,
      every: (everyMs, task) => (beats.push({ everyMs, task }), { cancel: () => undefined }),
    }
    const unanswered: ((error: Error) => void)[] = []
    const server = new ScriptedServer(older)
    const { process, volume, timings } = await testParts(server)
    const observer = new Observer({ process, server, volume, clock, timers, timings }, () => undefined)
    await observer.refresh()
    Object.assign(server, { readState: () => new Promise((_, reject) => unanswered.push(reject)) })
    observer.start(new Watches({ clock, timers }, () => undefined))
    const pass = (ms: number) => {
      for (const untilMs = nowMs + ms; nowMs < untilMs;) {
        nowMs += 50
        for (const { everyMs, task } of beats) if (nowMs % everyMs === 0) task()
      }
    }
    pass(500)
    // The agent stands still for a minute. Its deadlines come before what was answered.
    nowMs += 60_000
    for (const { task } of beats) task()
    for (const reject of unanswered.splice(0)) reject(new Error('no answer within 800 ms'))
    await realWorld.timers.sleep(1)
    expect(observer.silentMs).toBeGreaterThan(0)
    expect(observer.silentMs).toBeLessThan(timings.frozenMs)
    pass(1_000)
    expect(observer.silentMs).toBeGreaterThanOrEqual(timings.frozenMs)
  })

  it('counts the age of what is shown from the moment in which that look began', async () => {
    const server = new SlowServer(older)
    const { observer, world } = await testParts(server)
    const beganMs = world.clock.monotonicMs()
    const look = observer.refresh()
    const askedMs = world.clock.monotonicMs()
    await realWorld.timers.sleep(20)
    server.answers[0]?.(older)
    await look
    const answeredMs = world.clock.monotonicMs()
    expect(observer.lookAgeMs).toBeGreaterThanOrEqual(answeredMs - askedMs)
    expect(observer.lookAgeMs).toBeLessThanOrEqual(world.clock.monotonicMs() - beganMs)
  })

  it('gives whoever waits for a look that ceased to count the next one: what is decided by it is shown', async () => {
    const server = new SlowServer(older)
    const { observer } = await testParts(server)
    const first = observer.refresh()
    server.answers[0]?.(older)
    await first
    const asked = observer.refresh()
    observer.outdate()
    server.answers[1]?.(aServerState({ received: gtids('shop-1', 6) }))
    await expect.poll(() => server.answers.length).toBe(3)
    server.answers[2]?.(aServerState({ received: gtids('shop-1', 7) }))
    expect(await asked).toBe(observer.server)
    expect(observer.server?.received).toBe(gtids('shop-1', 7))
    expect(observer.isFresh).toBe(true)
  })
})

it('The observer tells that the server of a group was read again after a change, also where nothing else is new', async () => {
  const server = new ScriptedServer({ ...aServerState(inGroup('shop-1', outsideGroup())) })
  const { process, volume, timings, world } = await testParts(server)
  let told = 0
  const observer = new Observer({ server, process, volume, timings, ...world }, () => (told += 1))
  await observer.refresh()
  await observer.refresh()
  expect(told).toBe(1)
  observer.outdate()
  await observer.refresh()
  expect(told).toBe(2)
})

it('The observer tells of what it read too early to count, once that is read again', async () => {
  const server = new SlowServer(older)
  const { process, volume, timings, world } = await testParts(server)
  let told = 0
  const ports = { process, server, volume, timings, clock: world.clock, timers: world.timers }
  const observer = new Observer(ports, () => (told += 1))
  const newer = aServerState({ received: gtids('shop-1', 6) })
  const reads = [observer.refresh()]
  server.answers[0]?.(older)
  await reads[0]
  reads.push(observer.refresh())
  observer.outdate()
  reads.push(observer.refresh())
  server.answers[1]?.(newer)
  await realWorld.timers.sleep(1)
  expect([told, observer.server]).toEqual([1, older])
  server.answers[2]?.(newer)
  await Promise.all(reads)
  expect([told, observer.server]).toEqual([2, newer])
})

class ProbedServer extends ScriptedServer {
  silent = false
  override readonly readState = async (): Promise<ServerState> => {
    if (this.silent) throw new Error('SHOW BINARY LOG STATUS does not return')
    return older
  }
  readonly answers: ((result: WriteProbe) => void)[] = []
  override readonly probeWrite = (): Promise<{ result: WriteProbe; detail: string }> =>
    new Promise((resolve) => this.answers.push((result) => resolve({ result, detail: '' })))
}

/** An observer whose clock and timers are a test's: `tryWrite` is what the timer of the write probe does, the last. */
async function probing(timings = defaultTimings) {
  const server = new ProbedServer(older)
  const tasks: (() => void)[] = []
  const disk = { freeBytes: 1e10, failure: null as 'diskFull' | null, detail: '' }
  const hangs = { asked: 0, until: Promise.resolve() }
  let nowMs = 0
  const clock = { ...realWorld.clock, monotonicMs: () => nowMs }
  const timers: Timers = {
    ...realWorld.timers,
    every: (_ms, task) => (tasks.push(task), { cancel: () => undefined }),
  }
  const observer = new Observer(
    {
      process: new ScriptedProcess(),
      server,
      volume: {
        ...quietVolume,
        probe: async () => {
          hangs.asked += 1
          await hangs.until
          return { ...disk }
        },
      },
      clock,
      timers,
      timings,
    },
    () => undefined,
  )
  observer.start(new Watches({ clock, timers }, () => undefined))
  await observer.refresh()
  const tryWrite = async (answer?: WriteProbe): Promise<void> => {
    tasks.at(-1)?.()
    await realWorld.timers.sleep(1)
    if (answer) server.answers.shift()?.(answer)
    await realWorld.timers.sleep(1)
  }
  return { server, observer, disk, hangs, tryWrite, pass: (ms: number) => (nowMs += ms) }
}

describe('the write probe', () => {
  it('takes a server for stuck only after another look at its disk, which may have become full since', async () => {
    const { observer, disk, tryWrite } = await probing()
    await tryWrite('ok')
    Object.assign(disk, { failure: 'diskFull', freeBytes: 0 })
    await tryWrite('stuck')
    expect(observer.probe.result).toBe('diskFull')
    expect(observer.freeBytes).toBe(0)
  })

  it('takes a server for stuck whose disk answers nothing, which is asked once', async () => {
    const { observer, disk, hangs, tryWrite } = await probing({ ...defaultTimings, queryDeadlineMs: 10 })
    await tryWrite('ok')
    const answers = Promise.withResolvers<void>()
    Object.assign(hangs, { asked: 0, until: answers.promise })
    await tryWrite('stuck')
    await expect.poll(() => observer.probe.result).toBe('stuck')
    await tryWrite('stuck')
    await realWorld.timers.sleep(20)
    expect(hangs.asked).toBe(1)
    Object.assign(disk, { freeBytes: 7 })
    answers.resolve()
    await expect.poll(() => observer.freeBytes).toBe(7)
  })

  it('does not take a server for stuck that still waits out its minute after its disk was full', async () => {
    const { observer, disk, tryWrite, pass } = await probing()
    Object.assign(disk, { failure: 'diskFull' })
    await tryWrite()
    expect(observer.probe.result).toBe('diskFull')
    Object.assign(disk, { failure: null })
    pass(40_000)
    await tryWrite()
    await tryWrite('stuck')
    expect(observer.probe).toMatchObject({
      result: 'diskFull',
      detail: 'the disk was full 40 s ago, and mysqld tries again only after a minute',
    })
    pass(30_000)
    await tryWrite('stuck')
    expect(observer.probe.result).toBe('stuck')
  })

  it('does not call a server well that waits out that minute with its binlog alone, which the probe does not touch', async () => {
    const { server, observer, disk, tryWrite, pass } = await probing()
    Object.assign(disk, { failure: 'diskFull' })
    await tryWrite()
    Object.assign(disk, { failure: null })
    server.silent = true
    await observer.refresh().catch(() => undefined)
    pass(40_000)
    await tryWrite()
    await tryWrite('ok')
    expect(observer.probe).toMatchObject({
      result: 'diskFull',
      detail: 'the disk was full 40 s ago, and mysqld tries again only after a minute',
    })
    server.silent = false
    await observer.refresh()
    await tryWrite('ok')
    expect(observer.probe.result).toBe('ok')
  })

  it('is made one at a time, so that an answer that comes late hides no newer one', async () => {
    const { server, observer, tryWrite } = await probing()
    await tryWrite()
    await tryWrite()
    expect(server.answers).toHaveLength(1)
    server.answers[0]?.('locked')
    await realWorld.timers.sleep(1)
    expect(observer.probe.result).toBe('locked')
  })
})
