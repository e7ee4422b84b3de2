import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exponentialRateLimiter } from './rate-limiter.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { WorkQueue, type QueueRecorder } from './work-queue.ts'

function queueOf(recorder?: QueueRecorder) {
  const world = virtualWorld()
  const queue = new WorkQueue({ ...world, rateLimiter: exponentialRateLimiter(), ...(recorder ? { recorder } : {}) })
  return { world, queue }
}

/** What the queue has at once, in its order; each is taken and not done. */
async function takeAll(queue: WorkQueue): Promise<string[]> {
  const taken: string[] = []
  while (queue.depth > 0) taken.push((await queue.get())!)
  return taken
}

describe('Keys that wait', () => {
  it('come out in the order they went in, and a key that waits already is not put in again', async () => {
    const { queue } = queueOf()
    for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key)
    expect(await takeAll(queue)).toEqual(['a', 'b', 'c'])
  })

  it('come out namespace after namespace: a flood in one keeps nobody else waiting', async () => {
    const { queue } = queueOf()
    for (const key of ['evil/1', 'evil/2', 'evil/3', 'evil/4', 'good/1', 'better/1', 'good/2']) queue.add(key)
    expect(await takeAll(queue)).toEqual(['evil/1', 'good/1', 'better/1', 'evil/2', 'good/2', 'evil/3', 'evil/4'])
    queue.add('evil/5')
    queue.add('good/3')
    queue.shutDown()
    expect(await queue.get()).toBeUndefined()
  })

  it('go to the worker that asked first, at once', async () => {
    const { queue, world } = queueOf()
    const got: string[] = []
    void queue.get().then((key) => got.push(`first ${key}`))
    void queue.get().then((key) => got.push(`second ${key}`))
    queue.add('a')
    queue.add('b')
    await world.settle()
    expect(got).toEqual(['first a', 'second b'])
  })

  it('are not given to a second worker while one has them, and any number of additions meanwhile give exactly one more run', async () => {
    const { queue } = queueOf()
    queue.add('a')
    await queue.get()
    for (let n = 0; n < 5; n++) queue.add('a')
    expect(queue.depth).toBe(0)
    queue.done('a')
    expect(await takeAll(queue)).toEqual(['a'])
    queue.done('a')
    expect(queue.depth).toBe(0)
  })

  it('are taken the moment they are handed out: an addition before the worker wakes gives another run', async () => {
    const { queue } = queueOf()
    const asked = queue.get()
    queue.add('a')
    queue.add('a')
    expect(await asked).toBe('a')
    queue.done('a')
    expect(queue.depth).toBe(1)
  })

  it('queue up behind the others when they were added during their own run', async () => {
    const { queue } = queueOf()
    queue.add('a')
    await queue.get()
    queue.add('a')
    queue.add('b')
    queue.done('a')
    expect(await takeAll(queue)).toEqual(['b', 'a'])
  })
})

describe('Keys that are added later', () => {
  it('come when their time has passed and not before', async () => {
    const { queue, world } = queueOf()
    queue.addAfter('a', 100)
    await world.advance(99)
    expect(queue.depth).toBe(0)
    await world.advance(1)
    expect(queue.depth).toBe(1)
  })

  it('come once, at the earliest of their times, whichever was said first', async () => {
    const { queue, world } = queueOf()
    queue.addAfter('a', 300)
    queue.addAfter('a', 100)
    queue.addAfter('a', 200)
    await world.advance(100)
    expect(await takeAll(queue)).toEqual(['a'])
    queue.done('a')
    await world.advance(1_000)
    expect(queue.depth).toBe(0)
  })

  it('come at once when the time is none or no number', async () => {
    const { queue } = queueOf()
    queue.addAfter('a', 0)
    queue.addAfter('b', -1)
    queue.addAfter('c', Number.NaN)
    expect(await takeAll(queue)).toEqual(['a', 'b', 'c'])
  })

  it('do not come before their time when a timer fires early', async () => {
    const world = virtualWorld()
    const timers = {
      ...world.timers,
      after: (ms: number, task: () => void) => world.timers.after(Math.min(ms, 1_000), task),
    }
    const queue = new WorkQueue({ clock: world.clock, timers, rateLimiter: exponentialRateLimiter() })
    queue.addAfter('a', 3_500)
    await world.advance(3_499)
    expect(queue.depth).toBe(0)
    await world.advance(1)
    expect(queue.depth).toBe(1)
  })

  it('wait longer with each failure until they are forgotten', async () => {
    const { queue, world } = queueOf()
    const waits: number[] = []
    const failOnce = async () => {
      const began = world.clock.monotonicMs()
      queue.addRateLimited('a')
      while (queue.depth === 0) await world.advance(1)
      waits.push(world.clock.monotonicMs() - began)
      queue.done((await queue.get())!)
    }
    await failOnce()
    await failOnce()
    await failOnce()
    expect(queue.failures('a')).toBe(3)
    queue.forget('a')
    await failOnce()
    expect(waits).toEqual([5, 10, 20, 5])
  })
})

describe('A queue that is shut down', () => {
  it('drops what waits and what was to come later, sends the workers home and takes nothing any more', async () => {
    const { queue, world } = queueOf()
    queue.add('a')
    queue.addAfter('b', 100)
    queue.shutDown()
    queue.add('c')
    queue.addAfter('d', 100)
    queue.addRateLimited('e')
    await world.advance(1_000)
    expect(queue.depth).toBe(0)
    expect(world.pending).toBe(0)
    expect(await queue.get()).toBeUndefined()
  })

  it('wakes the workers that wait for a key', async () => {
    const { queue } = queueOf()
    const asked = [queue.get(), queue.get()]
    queue.shutDown()
    expect(await Promise.all(asked)).toEqual([undefined, undefined])
  })

  it('gives out what waits when it drains, also what was added during a run, and is drained when the workers are done with all of it', async () => {
    const { queue, world } = queueOf()
    for (const key of ['a', 'b']) queue.add(key)
    expect(await queue.get()).toBe('a')
    queue.add('a')
    queue.addAfter('z', 5)
    let drained = false
    void queue.drain().then(() => (drained = true))
    queue.add('c')
    queue.done('a')
    const rest = await takeAll(queue)
    expect(rest).toEqual(['b', 'a'])
    queue.done('b')
    await world.advance(10)
    expect(drained).toBe(false)
    queue.done('a')
    await world.settle()
    expect(drained).toBe(true)
    expect(await queue.get()).toBeUndefined()
  })

  it('still waits, when draining is cut short, for what a worker has', async () => {
    const { queue, world } = queueOf()
    for (const key of ['a', 'b']) queue.add(key)
    await queue.get()
    let drained = false
    void queue.drain().then(() => (drained = true))
    queue.shutDown()
    await world.settle()
    expect(drained).toBe(false)
    expect(await queue.get()).toBeUndefined()
    queue.done('a')
    await world.settle()
    expect(drained).toBe(true)
  })
})

it('A queue tells how long keys waited and were worked on, and which run now', async () => {
  const told: string[] = []
  const { queue, world } = queueOf({
    added: () => told.push('added'),
    taken: (ms) => told.push(`taken after ${ms}`),
    worked: (ms) => told.push(`worked ${ms}`),
    retried: () => told.push('retried'),
  })
  queue.add('a')
  queue.add('a')
  await world.advance(30)
  await queue.get()
  await world.advance(40)
  expect(queue.runningMs()).toEqual([40])
  queue.done('a')
  queue.addRateLimited('a')
  expect(queue.runningMs()).toEqual([])
  expect(told).toEqual(['added', 'taken after 30', 'worked 40', 'retried'])
})

type Step = { readonly add: string } | 'take' | { readonly finish: number }

const key = fc.constantFrom('a', 'b', 'c', 'd')
const step: fc.Arbitrary<Step> = fc.oneof(
  key.map((add) => ({ add })),
  fc.constant<Step>('take'),
  fc.nat(9).map((finish) => ({ finish })),
)

it('Whatever the order of additions, takings and finishings, a key waits exactly when it was added since it was last taken and nobody has it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { queue } = queueOf()
      const wanted = new Set<string>()
      const held: string[] = []
      const waiting = () => [...wanted].filter((each) => !held.includes(each))
      const take = async () => {
        const taken = (await queue.get())!
        expect(waiting()).toContain(taken)
        wanted.delete(taken)
        held.push(taken)
      }
      for (const each of steps) {
        if (each === 'take') {
          if (waiting().length > 0) await take()
        } else if ('add' in each) {
          queue.add(each.add)
          wanted.add(each.add)
        } else if (held.length > 0) {
          queue.done(held.splice(each.finish % held.length, 1)[0]!)
        }
        expect(queue.depth).toBe(waiting().length)
      }
      // Nothing is lost: once the workers are done, whatever was wanted comes, once.
      for (const each of held.splice(0)) queue.done(each)
      expect((await takeAll(queue)).sort()).toEqual([...wanted].sort())
    }),
  )
})

const addition = fc.record({ key, afterMs: fc.nat(20), delayMs: fc.option(fc.nat(30), { nil: undefined }) })

it('With several workers, every addition is followed by a run that begins after it and not much later than asked, and no key is with two workers at once', async () => {
  const workMs = 7
  // All four keys may be before it with a single worker.
  const longestWaitMs = 4 * workMs
  await fc.assert(
    fc.asyncProperty(
      fc.array(addition, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 4 }),
      async (additions, workers) => {
        const { queue, world } = queueOf()
        const { clock, timers } = world
        const begun: { key: string; atMs: number }[] = []
        const running = new Set<string>()
        let together = 0
        const work = async () => {
          for (let taken = await queue.get(); taken !== undefined; taken = await queue.get()) {
            if (running.has(taken)) together++
            running.add(taken)
            begun.push({ key: taken, atMs: clock.monotonicMs() })
            await timers.sleep(workMs)
            running.delete(taken)
            queue.done(taken)
          }
        }
        const team = Array.from({ length: workers }, work)
        const wanted: { key: string; runsBefore: number; dueMs: number }[] = []
        for (const each of additions) {
          await world.advance(each.afterMs)
          wanted.push({ key: each.key, runsBefore: begun.length, dueMs: clock.monotonicMs() + (each.delayMs ?? 0) })
          if (each.delayMs === undefined) queue.add(each.key)
          else queue.addAfter(each.key, each.delayMs)
        }
        await world.advance(1_000)
        queue.shutDown()
        await Promise.all(team)
        expect(together).toBe(0)
        expect(begun.length).toBeLessThanOrEqual(additions.length)
        for (const want of wanted) {
          const next = begun.slice(want.runsBefore).find((run) => run.key === want.key)
          expect(next?.atMs).toBeLessThanOrEqual(want.dueMs + longestWaitMs)
        }
      },
    ),
    { numRuns: 50 },
  )
})
