import { say } from '../sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import { virtualWorld } from '../ports/testing-world.ts'
import type { Watch } from './watch.ts'
import { Watches } from './watches.ts'

function watching(...watches: readonly Watch[]) {
  const world = virtualWorld()
  const told: string[] = []
  const book = new Watches(world, (code, sentence) => told.push(`${code}: ${String(sentence)}`))
  book.every(100, watches)
  return { world, told, book, views: () => book.list(), one: () => book.list()[0] }
}

/** A look that goes on until `end` is called. */
function endless(more: Partial<Watch> = {}) {
  const looks: PromiseWithResolvers<void>[] = []
  const look = (): Promise<void> => {
    const promised = Promise.withResolvers<void>()
    looks.push(promised)
    return promised.promise
  }
  return { looks, watch: { name: 'locks', look, ...more } satisfies Watch }
}

function throws(): never {
  throw new Error('no answer')
}

const failure = { code: 'LocksUnknown', sentence: say`locks could not be read` }

describe('A watch', () => {
  it('looks each time, not before the first, and in the order of the list', async () => {
    const seen: string[] = []
    const named = (name: string): Watch => ({ name, look: () => seen.push(name) })
    const { world, views } = watching(named('space'), named('locks'))
    expect(views()).toEqual(
      ['space', 'locks'].map((name) => ({
        ...{ name, everyMs: 100, rests: false },
        ...{ last: null, underWayMs: null, failure: '' },
      })),
    )
    await world.advance(99)
    expect(seen).toEqual([])
    await world.advance(101)
    expect(seen).toEqual(['space', 'locks', 'space', 'locks'])
    await world.advance(30)
    expect(views()[1]?.last).toEqual({ agoMs: 30, tookMs: 0 })
  })

  it('has one look at a time, and another as soon as one is due after its end', async () => {
    const { watch, looks } = endless()
    const { world, one } = watching(watch)
    await world.advance(350)
    expect([looks.length, one()?.underWayMs]).toEqual([1, 250])
    looks[0]?.resolve()
    await world.advance(50)
    expect([looks.length, one()?.last]).toEqual([2, { agoMs: 50, tookMs: 250 }])
  })

  it('holds up no other', async () => {
    let looked = 0
    const { world } = watching(endless().watch, { name: 'space', look: () => void (looked += 1) })
    await world.advance(300)
    expect(looked).toBe(3)
  })

  it.each<[string, Watch['look']]>([
    ['rejects', () => Promise.reject(new Error('no answer'))],
    ['throws', throws],
  ])('tells of a look that %s, and looks again', async (_, look) => {
    let looked = 0
    const { world, told, one } = watching({ name: 'locks', failure, look: () => ((looked += 1), look()) })
    await world.advance(200)
    expect(looked).toBe(2)
    expect(new Set(told)).toEqual(new Set(['LocksUnknown: locks could not be read: no answer']))
    expect(one()?.failure).toBe('locks could not be read: no answer')
  })

  it('forgets a failure once a look went well', async () => {
    const fails = [true, false]
    const look = () => (fails.shift() ? Promise.reject(new Error('no answer')) : null)
    const { world, told, one } = watching({ name: 'locks', look })
    await world.advance(100)
    expect([one()?.failure, told]).toEqual(['no answer', []])
    await world.advance(100)
    expect(one()?.failure).toBe('')
  })

  it('rests while there is nothing of the kind, and keeps what it saw last', async () => {
    let [looked, isThere] = [0, true]
    const { world, one } = watching({ name: 'locks', while: () => isThere, look: () => void (looked += 1) })
    await world.advance(100)
    isThere = false
    await world.advance(200)
    expect([looked, one()?.rests, one()?.last?.agoMs]).toEqual([1, true, 200])
    isThere = true
    await world.advance(100)
    expect([looked, one()?.rests]).toEqual([2, false])
  })

  it('does not rest where no look is due yet', async () => {
    let looked = 0
    const { world, one } = watching({ name: 'needs', isDue: () => false, look: () => void (looked += 1) })
    await world.advance(200)
    expect([looked, one()?.rests, one()?.last]).toEqual([0, false, null])
  })

  it('whose condition throws has failed, and is asked again', async () => {
    let asked = 0
    const isThere = (): boolean => ((asked += 1), throws())
    const { world, one } = watching({ name: 'locks', while: isThere, look: () => undefined })
    await world.advance(200)
    expect([asked, one()?.failure, one()?.underWayMs]).toEqual([2, 'no answer', null])
  })

  it('tells once of a look that takes longer than its deadline, and begins no second one beside that', async () => {
    const { watch, looks } = endless({ deadlineMs: 250 })
    const { world, told } = watching(watch)
    await world.advance(300)
    expect(told).toEqual([])
    await world.advance(500)
    expect(told).toEqual([
      'WatchLate: the watch of locks has been at one look for 300 ms: the next look begins when this one ends',
    ])
    expect(looks).toHaveLength(1)
    looks[0]?.resolve()
    await world.advance(500)
    expect([looks.length, told.length]).toEqual([2, 2])
  })
})

describe('A book of watches', () => {
  it('that is stopped looks at nothing more, waits for no look, and tells of none', async () => {
    const { watch, looks } = endless({ failure, deadlineMs: 10 })
    const { world, told, book } = watching(watch)
    await world.advance(100)
    book.stop()
    book.every(10, [watch])
    await world.advance(1_000)
    looks[0]?.reject(new Error('the session is closed'))
    await world.settle()
    expect([looks.length, told, world.pending]).toEqual([1, [], 0])
  })

  it('looks at watches of another period in a rhythm of their own', async () => {
    let looked = 0
    const { world, book, views } = watching({ name: 'space', look: () => undefined })
    await world.advance(50)
    book.every(30, [{ name: 'locks', look: () => void (looked += 1) }])
    await world.advance(60)
    expect([looked, views().map(({ name, everyMs }) => `${name} ${everyMs}`)]).toEqual([2, ['space 100', 'locks 30']])
  })
})
