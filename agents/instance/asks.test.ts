import { describe, expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { Asks } from './asks.ts'

const wanted = { wants: 'switchover', from: 'shop-0', to: null } as const
const never = new AbortController().signal

function asking(deadlineMs: number | null = 60_000, signal = never) {
  let changes = 0
  const asks = new Asks(realWorld, () => (changes += 1))
  const answered = asks.ask(wanted, { deadlineMs, signal })
  return { asks, answered, changes: () => changes }
}

describe('What an agent asks for', () => {
  it('is shown until it is answered, with the time that is left', async () => {
    const { asks, answered, changes } = asking()
    const [ask] = asks.shown
    expect(ask).toMatchObject(wanted)
    expect(ask?.remainingMs).toBeGreaterThan(50_000)
    expect(changes()).toBe(1)
    asks.answer(ask?.id ?? '', { outcome: 'done', sentence: 'shop-1 leads' })
    expect(await answered).toEqual({ outcome: 'done', sentence: 'shop-1 leads' })
    expect(asks.shown).toEqual([])
    expect(changes()).toBe(2)
  })

  it('is not ended by an answer to something else, nor twice', async () => {
    const { asks, answered } = asking()
    asks.answer('another', { outcome: 'done', sentence: '' })
    const [ask] = asks.shown
    asks.answer(ask?.id ?? '', { outcome: 'refused', sentence: 'paused' })
    asks.answer(ask?.id ?? '', { outcome: 'done', sentence: '' })
    expect(await answered).toEqual({ outcome: 'refused', sentence: 'paused' })
  })

  it('ends without an answer when its time is over', async () => {
    const { asks, answered } = asking(5)
    expect(await answered).toBeNull()
    expect(asks.shown).toEqual([])
  })

  it('ends with its caller', async () => {
    const caller = new AbortController()
    const { asks, answered } = asking(null, caller.signal)
    caller.abort()
    expect(await answered).toBeNull()
    expect(asks.shown).toEqual([])
    expect(await asks.ask(wanted, { deadlineMs: null, signal: caller.signal })).toBeNull()
  })
})
