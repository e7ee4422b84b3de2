import { afterEach, describe, expect, it, vi } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { SqlPulse } from './pulse.ts'

const down = () => new RegentError('REGENT_SERVER_DOWN', say`connecting: ECONNREFUSED`)
const silent = () => new RegentError('REGENT_SERVER_TIMEOUT', say`no answer within 700 ms`)
const full = () => new RegentError('REGENT_SERVER_ERROR', say`Too many connections`, { cause: { errno: 1040 } })

describe('The pulse of a server that only SQL reaches', () => {
  let pulse: SqlPulse
  let says: () => Promise<number>

  async function begun(): Promise<SqlPulse> {
    vi.useFakeTimers()
    says = () => Promise.resolve(100)
    let nowMs = 0
    const clock = {
      ...realWorld.clock,
      monotonicMs: () => (nowMs = Math.max(nowMs, vi.getMockedSystemTime()!.getTime())),
    }
    const timers = {
      ...realWorld.timers,
      sleep: (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms)),
      every: (ms: number, done: () => void) => {
        const timer = setInterval(done, ms)
        return { cancel: () => clearInterval(timer) }
      },
    }
    pulse = new SqlPulse({ clock, timers, askStart: () => says() })
    await pulse.begin()
    return pulse
  }
  const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

  afterEach(() => {
    pulse.stop()
    vi.useRealTimers()
  })

  it('is seen while the server answers, and tells which start that is', async () => {
    await begun()
    says = () => Promise.resolve(200)
    await pass(1_000)
    expect(pulse).toMatchObject({ startedAt: 200, whyUnseen: null })
  })

  it('is not seen as soon as nobody listens, a second time as well', async () => {
    await begun()
    says = () => Promise.reject(down())
    await pass(250)
    expect(pulse.whyUnseen?.message).toContain('ECONNREFUSED')
    says = () => Promise.resolve(100)
    await pass(250)
    expect(pulse.whyUnseen).toBeNull()
  })

  it('is seen where only the session was ended, and another one answers', async () => {
    await begun()
    let times = 0
    says = () => ((times += 1) === 1 ? Promise.reject(down()) : Promise.resolve(100))
    await pass(250)
    expect(times).toBe(2)
    expect(pulse.whyUnseen).toBeNull()
  })

  it('is not seen only once a silence has lasted', async () => {
    await begun()
    says = () => Promise.reject(silent())
    await pass(700)
    expect(pulse.whyUnseen).toBeNull()
    await pass(300)
    expect(pulse.whyUnseen?.message).toContain('no answer')
  })

  it('is seen where the server has too many connections: that is no death', async () => {
    await begun()
    says = () => Promise.reject(full())
    await pass(5_000)
    expect(pulse).toMatchObject({ startedAt: 100, whyUnseen: null })
  })
})
