import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { realClock, realDisk, realMachine, realRandom, realTimers } from './real-world.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-world-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true })
})

describe('the real disk', () => {
  it('allocates a file of zeroes of exactly the size, readable by its owner only', async () => {
    const path = join(folder, 'stored')
    await realDisk.allocate(path, 10_000)
    expect(await readFile(path)).toEqual(Buffer.alloc(10_000))
    const { mode, blocks } = await stat(path)
    expect(mode & 0o777).toBe(0o600)
    expect(blocks * 512).toBeGreaterThanOrEqual(10_000)
    expect(await readdir(folder)).toEqual(['stored'])
  })

  it('refuses to allocate over a file that exists, and leaves it as it was', async () => {
    const path = join(folder, 'stored')
    await writeFile(path, 'kept')
    await expect(realDisk.allocate(path, 100)).rejects.toMatchObject({ code: 'EEXIST' })
    expect(await readFile(path, 'utf8')).toBe('kept')
    expect(await readdir(folder)).toEqual(['stored'])
  })

  it('overwrites bytes at an offset and nothing else', async () => {
    const path = join(folder, 'stored')
    await realDisk.allocate(path, 8)
    await realDisk.writeAt(path, 3, new Uint8Array([1, 2, 3]))
    expect(await realDisk.read(path)).toEqual(Buffer.from([0, 0, 0, 1, 2, 3, 0, 0]))
  })

  it('reads undefined where there is no file, and says so of every other failure', async () => {
    expect(await realDisk.read(join(folder, 'absent'))).toBeUndefined()
    await expect(realDisk.read(folder)).rejects.toMatchObject({ code: 'EISDIR' })
  })

  it('writes into existing files only', async () => {
    await expect(realDisk.writeAt(join(folder, 'absent'), 0, new Uint8Array(1))).rejects.toMatchObject({
      code: 'ENOENT',
    })
  })
})

describe('the real timers', () => {
  it('sleep at least as long as asked, by the monotonic clock', async () => {
    const began = realClock.monotonicMs()
    await realTimers.sleep(20)
    expect(realClock.monotonicMs() - began).toBeGreaterThanOrEqual(19)
  })

  it('reject a sleep with the reason of its signal, before and while sleeping', async () => {
    await expect(realTimers.sleep(10_000, AbortSignal.abort(new Error('early')))).rejects.toThrow('early')
    const controller = new AbortController()
    const sleeping = realTimers.sleep(10_000, controller.signal)
    controller.abort(new Error('meanwhile'))
    await expect(sleeping).rejects.toThrow('meanwhile')
  })

  it('do not run what was cancelled', async () => {
    let ran = 0
    realTimers.after(5, () => ran++).cancel()
    const ticking = realTimers.every(5, () => ran++)
    ticking.cancel()
    await realTimers.sleep(25)
    expect(ran).toBe(0)
  })

  it.each(['after', 'every'] as const)(
    'hear first what arrived while the whole process was held up (%s)',
    async (kind) => {
      const heard: string[] = []
      const server = createServer((socket) => void socket.on('data', () => heard.push('word')))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      await new Promise((resolve) => server.once('connection', resolve))
      socket.write('a word')
      const timer = realTimers[kind](20, () => heard.push('timer'))
      for (const began = realClock.monotonicMs(); realClock.monotonicMs() - began < 200;);
      await expect.poll(() => heard.length, { interval: 5 }).toBeGreaterThan(1)
      timer.cancel()
      expect(heard.slice(0, 2)).toEqual(['word', 'timer'])
      socket.destroy()
      server.close()
    },
  )

  it('do not run what was cancelled while it was put off', async () => {
    let ran = false
    const timer = realTimers.after(1, () => (ran = true))
    setTimeout(() => timer.cancel(), 2)
    for (const began = realClock.monotonicMs(); realClock.monotonicMs() - began < 200;);
    await realTimers.sleep(20)
    expect(ran).toBe(false)
  })

  it('do not run at once what is due in a month', async () => {
    let ran = false
    const timer = realTimers.after(31 * 86_400_000, () => (ran = true))
    await realTimers.sleep(10)
    timer.cancel()
    expect(ran).toBe(false)
  })
})

describe('the real randomness and machine', () => {
  it('gives as many hexadecimal digits as asked', () => {
    expect(realRandom.hex(7)).toMatch(/^[0-9a-f]{7}$/)
    expect(realRandom.uuid()).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('reads the boot id from the file it is given', async () => {
    const path = join(folder, 'boot-id')
    await writeFile(path, 'abc-1\n')
    expect(await realMachine(path).bootId()).toBe('abc-1')
    expect(await realMachine().bootId()).toMatch(/^[0-9a-f-]{36}$/)
  })
})

it('A timer for a moment that is over, or for no number, runs at once, and Node warns of nothing', async () => {
  const warnings: string[] = []
  const listen = (warning: Error): void => void warnings.push(warning.name)
  process.on('warning', listen)
  await Promise.all([-5, Number.NaN, Number.NEGATIVE_INFINITY].map((ms) => realTimers.sleep(ms)))
  await new Promise<void>((resolve) => {
    const timer = realTimers.every(-1, () => resolve(timer.cancel()))
  })
  // Warnings are told on the next tick.
  await realTimers.sleep(10)
  process.off('warning', listen)
  expect(warnings).toEqual([])
})
