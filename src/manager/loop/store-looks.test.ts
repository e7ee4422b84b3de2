import { describe, expect, it } from 'vitest'
import { regularLookMs, StoreLooks } from './store-looks.ts'

function looking(look: () => Promise<void>) {
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
    expect([every, looked]).toEqual([[regularLookMs], 1])
    looks.regularly(false)
    expect(every).toEqual([])
    looks.regularly(true)
    expect(every).toEqual([regularLookMs])
  })
})
