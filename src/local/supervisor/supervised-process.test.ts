import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Child, Children } from './child.ts'
import { restartDelayMs, SupervisedProcess } from './supervised-process.ts'

/** Children that exist only here. Their pids are beyond any kernel's, so that no signal reaches a process. */
function fakeChildren() {
  const launched: { end: (how: string) => void }[] = []
  let refusal: Error | undefined
  const child = (): Child => {
    const { promise, resolve } = Promise.withResolvers<string>()
    launched.push({ end: resolve })
    return { identity: { pid: 2 ** 30 + launched.length, startTicks: 1 }, ended: promise }
  }
  const children: Children = {
    launch: async () => {
      if (refusal !== undefined) throw refusal
      return child()
    },
    adopt: async () => child(),
  }
  return { children, launched, refuse: (error: Error | undefined) => (refusal = error) }
}

function supervised(fake: ReturnType<typeof fakeChildren>, isMarkedStopped = async () => false) {
  return new SupervisedProcess({
    name: 'shop-0',
    command: { argv: ['x'], log: '' },
    children: fake.children,
    isMarkedStopped,
    changed: () => undefined,
    graceMs: 1,
  })
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

describe('a supervised process', () => {
  test('is started again one second after it ended', async () => {
    const fake = fakeChildren()
    const process = supervised(fake)
    await process.begin(undefined)
    fake.launched[0]?.end('signal SIGKILL')
    await vi.advanceTimersByTimeAsync(999)
    expect(process.status).toMatchObject({ state: 'waiting', ends: 1, lastEnd: 'signal SIGKILL', identity: null })
    await vi.advanceTimersByTimeAsync(1)
    expect(process.status.state).toBe('running')
    expect(fake.launched).toHaveLength(2)
  })

  test('waits twice as long each time it ends in a row, 30 s at most, and one second again after it ran for a minute', async () => {
    expect([1, 2, 3, 4, 5, 6, 7, 50].map(restartDelayMs)).toEqual([
      1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000,
    ])
    const fake = fakeChildren()
    const process = supervised(fake)
    await process.begin(undefined)
    for (const [at, delayMs] of [1000, 2000, 4000].entries()) {
      fake.launched[at]?.end('exit code 1')
      await vi.advanceTimersByTimeAsync(delayMs - 1)
      expect(fake.launched).toHaveLength(at + 1)
      await vi.advanceTimersByTimeAsync(1)
      expect(fake.launched).toHaveLength(at + 2)
    }
    await vi.advanceTimersByTimeAsync(60_000)
    fake.launched[3]?.end('exit code 1')
    await vi.advanceTimersByTimeAsync(1000)
    expect(fake.launched).toHaveLength(5)
  })

  test('that cannot be started is tried again', async () => {
    const fake = fakeChildren()
    const process = supervised(fake)
    fake.refuse(new Error('ENOENT'))
    await process.begin(undefined)
    expect(process.status).toMatchObject({ state: 'waiting', lastEnd: 'cannot be started: ENOENT' })
    fake.refuse(undefined)
    await vi.advanceTimersByTimeAsync(1000)
    expect(process.status.state).toBe('running')
  })

  test('is left alone once it is marked as stopped, until it is started by hand', async () => {
    const fake = fakeChildren()
    let marked = false
    const process = supervised(fake, async () => marked)
    await process.begin(undefined)
    marked = true
    fake.launched[0]?.end('signal SIGKILL')
    await vi.advanceTimersByTimeAsync(60_000)
    expect(process.status.state).toBe('stopped')
    expect(fake.launched).toHaveLength(1)
    await process.start()
    expect(process.status.state).toBe('running')
  })

  test('that is marked as stopped is not started by a new supervisor', async () => {
    const fake = fakeChildren()
    const process = supervised(fake, async () => true)
    await process.begin(undefined)
    expect(process.status.state).toBe('stopped')
  })

  test('that an earlier supervisor started is taken over, not started twice', async () => {
    const fake = fakeChildren()
    const launch = vi.spyOn(fake.children, 'launch')
    const process = supervised(fake)
    await process.begin({ pid: 5, startTicks: 5 })
    expect(process.status.state).toBe('running')
    expect(launch).not.toHaveBeenCalled()
  })

  test('is started once when it is asked for twice at the same time', async () => {
    const fake = fakeChildren()
    const process = supervised(fake)
    await Promise.all([process.start(), process.start()])
    expect(fake.launched).toHaveLength(1)
  })

  test('that is stopped while it waits to be started again stays stopped', async () => {
    const fake = fakeChildren()
    const process = supervised(fake)
    await process.begin(undefined)
    fake.launched[0]?.end('exit code 1')
    await vi.advanceTimersByTimeAsync(10)
    await process.stop()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(process.status.state).toBe('stopped')
    expect(fake.launched).toHaveLength(1)
  })
})
