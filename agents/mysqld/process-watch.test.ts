import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { realTimers } from '#common/ports/real-world.ts'
import { hasOnlyExitingThreads, parseProcessStat, readProcessStat } from '#common/process/process-stat.ts'
import { phaseOf, type ProcessPhase } from './process-phase.ts'
import { ProcessWatch } from './process-watch.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const line = (name: string, state: string, flags: number, threads = 38) =>
  `4700 (${name}) ${state} 1 4700 4700 0 -1 ${flags} 120000 0 3 0 45 12 0 0 20 0 ${threads} 0 345678 1900000000 137156 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n`

describe('a process’s state in the kernel', () => {
  it.each([
    ['a server that waits', line('mysqld', 'S', 0x400040), 'running'],
    ['one in uninterruptible sleep', line('mysqld', 'D', 0x400040), 'running'],
    ['one that was stopped', line('mysqld', 'T', 0x400040), 'stopped'],
    ['one under a debugger', line('mysqld', 't', 0x400040), 'stopped'],
    ['one being torn down', line('mysqld', 'R', 0x400044), 'exiting'],
    ['one whose threads still run', line('mysqld', 'Z', 0x40004c), 'exiting'],
    ['a zombie alone', line('mysqld', 'Z', 0x40004c, 1), 'dead'],
    ['a program with brackets and spaces in its name', line('ld-linux (x) T 1', 'S', 0x400040), 'running'],
  ])('of %s is understood', (_, text, phase) => {
    expect(phaseOf(parseProcessStat(text), 345678)).toBe(phase)
  })

  it('writes no more once it is gone, and might while one of its threads runs', async () => {
    expect(hasOnlyExitingThreads(process.pid)).toBe(false)
    const child = spawn('true')
    await once(child, 'exit')
    expect(hasOnlyExitingThreads(child.pid ?? 0)).toBe(true)
  })

  it('is dead when another process has its pid', () => {
    expect(phaseOf(parseProcessStat(line('mysqld', 'S', 0)), 345679)).toBe('dead')
  })

  it.each([[''], ['4700 (mysqld)'], ['nonsense']])('is not read out of %j', (text) => {
    expect(parseProcessStat(text)).toBeUndefined()
  })
})

describe('the process watch', () => {
  const children: ChildProcess[] = []
  afterEach(() => children.splice(0).forEach((child) => child.kill('SIGKILL')))

  function watched(): { child: ChildProcess; watch: ProcessWatch; seen: (phase: ProcessPhase) => Promise<number> } {
    const child = spawn('sleep', ['60'])
    children.push(child)
    const pid = child.pid ?? 0
    const waiting = new Map<ProcessPhase, (ms: number) => void>()
    const watch = new ProcessWatch({ pid, startTicks: readProcessStat(pid)?.startTicks ?? 0 }, 5, realTimers, (phase) =>
      waiting.get(phase)?.(performance.now()),
    )
    return { child, watch, seen: (phase) => new Promise((resolve) => waiting.set(phase, resolve)) }
  }

  it('sees a process stopped, continued and killed, within a few looks', async () => {
    const { child, watch, seen } = watched()
    for (const [signal, phase] of [
      ['SIGSTOP', 'stopped'],
      ['SIGCONT', 'running'],
      ['SIGKILL', 'dead'],
    ] as const) {
      const began = performance.now()
      const seenAt = seen(phase)
      child.kill(signal)
      expectBelow(1_000, (await seenAt) - began)
    }
    expect(watch.phase).toBe('dead')
  })

  it('looks as often as it was told last', async () => {
    const { child, watch, seen } = watched()
    watch.lookEvery(60_000)
    child.kill('SIGSTOP')
    await expect.poll(() => readProcessStat(child.pid ?? 0)?.state).toBe('T')
    await realTimers.sleep(50)
    expect(watch.phase).toBe('running')
    const stopped = seen('stopped')
    watch.lookEvery(5)
    await stopped
    expect(watch.phase).toBe('stopped')
  })

  it('says dead of a pid that another process took', async () => {
    const { child, watch } = watched()
    watch.stop()
    const other = await new Promise<ProcessPhase>(
      (resolve) =>
        new ProcessWatch({ pid: child.pid ?? 0, startTicks: watch.identity.startTicks - 1 }, 5, realTimers, resolve),
    )
    expect(other).toBe('dead')
  })

  it('says dead of a process that ended before it was watched', async () => {
    const child = spawn('true')
    const pid = child.pid ?? 0
    await once(child, 'exit')
    expect(
      await new Promise<ProcessPhase>((resolve) => new ProcessWatch({ pid, startTicks: 1 }, 5, realTimers, resolve)),
    ).toBe('dead')
  })

  it('takes less than half a percent of a core at ten milliseconds a look', () => {
    const watch = new ProcessWatch(
      { pid: process.pid, startTicks: readProcessStat(process.pid)?.startTicks ?? 0 },
      60_000,
      realTimers,
      () => undefined,
    )
    watch.look()
    const before = process.cpuUsage()
    for (let look = 0; look < 2_000; look += 1) watch.look()
    const { user, system } = process.cpuUsage(before)
    watch.stop()
    expectBelow(50, (user + system) / 2_000)
  })
})
