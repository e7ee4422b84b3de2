import { describe, expect, it } from 'vitest'
import { VirtualTime } from './virtual-time.ts'

describe('Virtual time', () => {
  it('ends all that an event awakes before the next event happens', async () => {
    const time = new VirtualTime(() => 0)
    const told: string[] = []
    const expected: string[] = []
    for (let event = 0; event < 300; event += 1) {
      time.after(event, () => {
        told.push(`event ${event}`)
        void (async () => {
          for (let link = 0; link < 100; link += 1) await Promise.resolve()
          told.push(`end of ${event}`)
        })()
      })
      expected.push(`event ${event}`, `end of ${event}`)
    }
    await time.runUntil(1_000)
    expect(told).toEqual(expected)
  })

  it('stops where it is told to, with later events still to come', async () => {
    const time = new VirtualTime(() => 0)
    const happened: number[] = []
    for (const atMs of [30, 10, 20]) time.after(atMs, () => happened.push(atMs))
    time.after(15, () => happened.push(15)).cancel()
    await time.runUntil(100, () => happened.includes(20))
    expect(happened).toEqual([10, 20])
    await time.runUntil(100)
    expect([happened, time.nowMs, time.count]).toEqual([[10, 20, 30], 100, 3])
  })

  it('fails where an event fails', async () => {
    const time = new VirtualTime(() => 0)
    time.after(1, () => {
      throw new Error('broken')
    })
    await expect(time.runUntil(10)).rejects.toThrow('broken')
  })
})
