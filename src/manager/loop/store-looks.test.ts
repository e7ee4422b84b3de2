import { describe, expect, it } from 'vitest'
import { regularLookMs, StoreLooks } from './store-looks.ts'

function looking(look: () => Promise<void>, cluster = 'shop') {
  const every: number[] = []
  const failed: unknown[] = []
  const slept: number[] = []
  const looks = new StoreLooks({
    timers: {
      after: () => ({ cancel: () => undefined }),
      every: (ms, task) => {
        every.push(ms)
        task()
        return { cancel: () => void every.pop() }
      },
      sleep: async (ms) => void slept.push(ms),
    },
    cluster,
    look,
    failed: (error) => failed.push(error),
  })
  return { looks, every, failed, slept }
}

describe('A manager’s looks at the store', () => {
  it('are one at a time', async () => {
    const ends: (() => void)[] = []
    const { looks } = looking(() => new Promise((resolve) => ends.push(resolve)))
    const first = looks.soon()
    await looks.soon()
    expect(ends).toHaveLength(1)
    ends[0]?.()
    await first
    void looks.soon()
    expect(ends).toHaveLength(2)
  })

  it('are put off as wanted, and go on after one that failed', async () => {
    const { looks, failed, slept } = looking(() => Promise.reject(new Error('no answer')))
    await looks.soon(1_000)
    await looks.soon()
    expect(slept).toEqual([1_000])
    expect(failed).toHaveLength(2)
  })

  it('are taken regularly while that is wanted, and by one timer', async () => {
    let looked = 0
    const { looks, every } = looking(async () => void (looked += 1))
    looks.regularly(true)
    looks.regularly(true)
    expect([every, looked]).toEqual([[expect.closeTo(regularLookMs, -4)], 1])
    looks.regularly(false)
    expect(every).toEqual([])
    looks.regularly(true)
    expect(every).toHaveLength(1)
  })

  it('at the stores of many clusters come at many times, though all began at one', async () => {
    const periods = Array.from({ length: 300 }, (_, at) => {
      const { looks, every } = looking(async () => undefined, `shop-${at}`)
      looks.regularly(true)
      return every[0] ?? 0
    })
    const [least, most] = [Math.min(...periods), Math.max(...periods)]
    expect([least >= regularLookMs * 0.8, most <= regularLookMs * 1.2]).toEqual([true, true])
    const inEachSecond = Map.groupBy(periods, (ms) => Math.floor(ms / 1_000))
    expect(inEachSecond.size).toBeGreaterThanOrEqual(8)
    expect(Math.max(...[...inEachSecond.values()].map(({ length }) => length))).toBeLessThan(75)
  })
})
