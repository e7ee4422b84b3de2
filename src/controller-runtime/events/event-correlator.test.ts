import { describe, expect, it } from 'vitest'
import { EventCorrelator, type CorrelatorLimits, type EventSeries, type Happening } from './event-correlator.ts'
import { widget } from '../testing-objects.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'

function rig(limits?: CorrelatorLimits) {
  const world = virtualWorld()
  const correlator = new EventCorrelator(world.clock, limits)
  const observe = (happening: Partial<Happening> = {}) =>
    correlator.observe({
      regarding: widget('a'),
      type: 'Normal',
      reason: 'Moved',
      action: 'Move',
      note: 'it moved',
      ...happening,
    })
  return { world, observe }
}

const noteOf = (series: EventSeries | undefined) => series?.happening.note

describe('The same happening', () => {
  it('is one series that counts, with the time of its first and its last', async () => {
    const { world, observe } = rig()
    const first = observe()
    await world.advance(90_000)
    expect(observe()).toBe(first)
    expect(first).toMatchObject({
      count: 2,
      firstAt: '2026-01-01T00:00:00.000000Z',
      lastAt: '2026-01-01T00:01:30.000000Z',
    })
  })

  it('begins a new series after ten quiet minutes', async () => {
    const { world, observe } = rig()
    const first = observe()
    await world.advance(600_000)
    expect(observe()).toBe(first)
    await world.advance(600_001)
    expect(observe()).not.toBe(first)
    expect(first?.count).toBe(2)
  })

  it('is another for another object, reason, action, type or note, and for a later object of the same name', () => {
    const { observe } = rig()
    const others: readonly Partial<Happening>[] = [
      {},
      { regarding: widget('b') },
      { regarding: widget('a', { uid: 'another' }) },
      { reason: 'Stayed' },
      { action: 'Stay' },
      { type: 'Warning' },
      { note: 'it moved twice' },
    ]
    expect(new Set(others.map(observe)).size).toBe(others.length)
  })
})

describe('Similar happenings', () => {
  it('are told one by one up to ten; from the eleventh on they are one series that says so', () => {
    const { observe } = rig()
    const told = Array.from({ length: 15 }, (_, n) => observe({ note: `try ${n}` }))
    expect(told.slice(0, 10).map(noteOf)).toEqual(Array.from({ length: 10 }, (_, n) => `try ${n}`))
    expect(new Set(told.slice(10)).size).toBe(1)
    expect(told[10]).toMatchObject({ count: 5, happening: { note: '(combined from similar events): try 10' } })
  })

  it('of which one was told before are still counted with it', () => {
    const { observe } = rig()
    const first = observe({ note: 'try 0' })
    for (let n = 1; n < 15; n++) observe({ note: `try ${n}` })
    expect(observe({ note: 'try 0' })).toBe(first)
  })

  it('are told one by one again after ten quiet minutes', async () => {
    const { world, observe } = rig()
    for (let n = 0; n < 11; n++) observe({ note: `try ${n}` })
    await world.advance(600_001)
    expect(noteOf(observe({ note: 'once more' }))).toBe('once more')
  })

  it('of another object are told one by one', () => {
    const { observe } = rig()
    for (let n = 0; n < 12; n++) observe({ note: `try ${n}` })
    expect(noteOf(observe({ regarding: widget('b'), note: 'try 99' }))).toBe('try 99')
  })
})

describe('A flood about one object', () => {
  it('is written 25 times, then once in five minutes, and what was not written is counted', async () => {
    const { world, observe } = rig()
    const first = observe()
    const written = () => Array.from({ length: 40 }, () => observe()).filter((each) => each !== undefined).length
    expect(written()).toBe(24)
    await world.advance(299_999)
    expect(written()).toBe(0)
    await world.advance(1)
    expect(written()).toBe(1)
    expect(first?.count).toBe(121)
  })

  it('takes nothing away from another object', () => {
    const { observe } = rig()
    for (let n = 0; n < 40; n++) observe()
    expect(observe()).toBeUndefined()
    expect(observe({ regarding: widget('b') })).toBeDefined()
  })

  it('takes nothing away from what is told of it for another reason', () => {
    const { observe } = rig()
    for (let n = 0; n < 40; n++) observe()
    expect(observe()).toBeUndefined()
    expect(observe({ reason: 'Ended' })).toBeDefined()
  })

  it('never saves up more than 25', async () => {
    const { world, observe } = rig()
    observe()
    await world.advance(86_400_000)
    expect(Array.from({ length: 40 }, () => observe()).filter((each) => each !== undefined)).toHaveLength(25)
  })
})

it('Of more objects than are remembered the least recently seen begins anew', () => {
  const { observe } = rig({ similar: 10, quietMs: 600_000, burst: 25, refillMs: 300_000, remembered: 2 })
  const first = observe()
  observe({ regarding: widget('b') })
  expect(observe()).toBe(first)
  const second = observe({ regarding: widget('b') })
  observe()
  observe({ regarding: widget('c') })
  expect(observe()).toBe(first)
  expect(observe({ regarding: widget('b') })).not.toBe(second)
})
