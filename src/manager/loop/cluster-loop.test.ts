import { describe, expect, it } from 'vitest'
import { aRecord, aSpec, deadServer, fetchIntent, promised } from '#failover/testing.ts'
import { orders } from '#failover/protocol/order.ts'
import { defaultTimings } from '#failover/protocol/timings.ts'
import { anObservation, memberOf } from '#topology/testing.ts'
import type { PlatformInstance } from '#common/ports/platform.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { memoryStore } from '#store/memory.ts'
import type { Store } from '#store/store.ts'
import type { FeedListener } from './agent-feed.ts'
import { ClusterLoop, type LoopPorts } from './cluster-loop.ts'

const noTimer = { cancel: () => undefined }
const alone = { name: 'shop-0', host: '127.24.1.1', port: 3306, agent: '127.24.1.1:9000' } as const
const untouched = { promise: 0, revision: 0, assignment: null }
/** Of an instance that nobody has told anything yet. */
const untold = anObservation({
  instance: 'shop-0',
  stored: untouched,
  converged: { revision: 0, done: false, sentence: '' },
  markedRevision: 0,
})

/** A loop whose timers never fire, and for which no time passes: it goes on by what happens, or not at all. */
function timelessLoop(
  store: Store = memoryStore(),
  acted: string[] = [],
  instances: readonly PlatformInstance[] = [alone],
  platform: Partial<LoopPorts['platform']> = {},
) {
  const posted: string[] = []
  const listeners: FeedListener[] = []
  /** What would be done again and again. */
  const regular = new Set<() => void>()
  const every = (_ms: number, task: () => void) => {
    regular.add(task)
    return { cancel: () => void regular.delete(task) }
  }
  const ports: LoopPorts = {
    hooks: { machine: '', run: async () => ({ isDone: true, said: '' }) },
    world: {
      ...realWorld,
      clock: { ...realWorld.clock, monotonicMs: () => 0 },
      timers: { ...realWorld.timers, after: () => noTimer, every },
    },
    transport: { post: (_address, path) => (posted.push(path), new Promise(() => undefined)) },
    feed: { follow: (_address, _whom, listener) => (listeners.push(listener), () => undefined) },
    store,
    platform: {
      instances: async () => instances,
      onChange: () => undefined,
      publishPrimary: async () => true,
      publishedPrimary: async () => undefined,
      scaleTo: async () => undefined,
      ...platform,
    },
  }
  const quiet = {
    decided: () => undefined,
    acted: ({ kind }: { kind: string }) => void acted.push(kind),
    answered: () => undefined,
    recovered: () => undefined,
    hookEnded: () => undefined,
    failed: () => undefined,
    ledNoMore: () => undefined,
  }
  const loop = new ClusterLoop(
    ports,
    { cluster: 'shop', spec: aSpec({ instances: instances.length }), timings: defaultTimings, manager: 'm1' },
    quiet,
  )
  return { loop, posted, listeners, regular }
}

/** A cluster of three whose primary died and whose replicas have promised: the next decision commits another one. */
async function loopAboutToFailOver(prepare: (loop: ClusterLoop) => void = () => undefined, store = memoryStore()) {
  await store.compareAndSwap('shop', 0, aRecord())
  const { loop, listeners } = timelessLoop(
    store,
    [],
    ['shop-0', 'shop-1', 'shop-2'].map((name, at) => ({
      ...alone,
      name,
      host: `127.24.1.${at + 1}`,
      agent: `127.24.1.${at + 1}:9000`,
    })),
  )
  await loop.start()
  await loop.lead(true)
  prepare(loop)
  listeners[1]?.heard(anObservation({ instance: 'shop-1', ...promised() }))
  listeners[2]?.heard(anObservation({ instance: 'shop-2', ...promised() }))
  listeners[0]?.heard(anObservation({ instance: 'shop-0', ...deadServer }))
  await realWorld.timers.sleep(50)
  expect(loop.record).toMatchObject({ epoch: 2, primary: 'shop-1@volume-1' })
  return loop
}

describe('the budget of automatic failovers', () => {
  it('is used by a failover that nobody asked for', async () => {
    const beganWallMs = Date.now()
    const { notes } = await loopAboutToFailOver()
    expect(notes.automaticFailovers).toEqual([notes.lastFailoverWallMs])
    expect(notes.lastFailoverWallMs).toBeGreaterThanOrEqual(beganWallMs)
  })

  it('is not used by a failover that a person asked for', async () => {
    const { notes } = await loopAboutToFailOver((loop) =>
      loop.addRequest({ kind: 'failover', id: 'asked', to: null, acceptLoss: false }),
    )
    expect(notes).toMatchObject({ lastFailoverWallMs: null })
    expect(notes.automaticFailovers).toBeUndefined()
  })
})

describe('a manager that is told to stop', () => {
  const failedOver = { lastFailoverWallMs: expect.any(Number) as number }
  const stored = async (how: 'finish' | 'stop') => {
    const store = memoryStore()
    const loop = await loopAboutToFailOver(undefined, store)
    expect(loop.notes).toMatchObject(failedOver)
    await loop[how]()
    return store.readNotes('shop')
  }

  it('in order writes what waits to be written: the next one counts the failover too', async () => {
    expect(await stored('finish')).toMatchObject(failedOver)
  })

  it('at once writes nothing any more: another one may lead, or the cluster is no more', async () => {
    expect(await stored('stop')).not.toMatchObject(failedOver)
  })
})

describe('the loop of a cluster', () => {
  it('goes on at once after a commit, without waiting for a timer', async () => {
    const { loop, posted, listeners } = timelessLoop()
    await loop.start()
    await loop.lead(true)
    listeners[0]?.heard(untold)
    await realWorld.timers.sleep(50)
    expect(loop.record).toMatchObject({ epoch: 1, primary: 'shop-0@volume-0' })
    expect(posted).toEqual(['/v1/assign'])
  })

  it('says that the store is gone with everything it decides, also once it leads no more, and goes on when it is back', async () => {
    const store = memoryStore()
    let gone = true
    const compareAndSwap: Store['compareAndSwap'] = async (...parameters) => {
      if (gone) throw new Error('no answer within 2000 ms')
      return store.compareAndSwap(...parameters)
    }
    const { loop, posted, listeners } = timelessLoop({ ...store, compareAndSwap })
    await loop.start()
    await loop.lead(true)
    listeners[0]?.heard(untold)
    await realWorld.timers.sleep(50)
    const trouble = /nothing can be committed until the store is back: no answer within 2000 ms/
    expect(loop.decision).toMatchObject({ blocked: true, sentence: expect.stringMatching(trouble) as string })
    loop.storeSaid('no answer within 2000 ms')
    await loop.lead(false)
    loop.wake()
    await realWorld.timers.sleep(10)
    expect(loop.decision).toMatchObject({
      blocked: true,
      actions: [],
      sentence: expect.stringMatching(trouble) as string,
    })
    expect(loop.record).toBeUndefined()
    loop.storeSaid('connection refused')
    loop.wake()
    await realWorld.timers.sleep(10)
    expect(loop.decision?.sentence).toMatch(/until the store is back: connection refused$/)
    gone = false
    loop.storeSaid('')
    expect(loop.decision).toBeNull()
    await loop.lead(true)
    await realWorld.timers.sleep(50)
    expect(loop.decision?.sentence).not.toMatch(trouble)
    expect(loop.record).toMatchObject({ epoch: 1 })
    expect(posted).toEqual(['/v1/assign'])
  })

  it.each<[string, (loop: ClusterLoop) => Promise<void>]>([
    ['leads', (loop) => loop.reread()],
    ['is to lead', async (loop) => (await loop.lead(false), loop.lead(true))],
  ])(
    'says that its record cannot be read while it %s, whatever else the store answers, until it can',
    async (_what, reads) => {
      const store = memoryStore()
      let forged = false
      const readRecord: Store['readRecord'] = async (cluster) => {
        if (forged) throw new Error('shop-record is no record')
        return store.readRecord(cluster)
      }
      const { loop } = timelessLoop({ ...store, readRecord })
      await loop.start()
      await loop.lead(true)
      forged = true
      await expect(reads(loop)).rejects.toThrow('shop-record is no record')
      for (let answers = 0; answers < 3; answers++) {
        loop.storeSaid('')
        await realWorld.timers.sleep(10)
        expect(loop.decision).toMatchObject({
          blocked: true,
          sentence: expect.stringMatching(
            /nothing can be committed until the store is back: shop-record is no record$/,
          ) as string,
        })
      }
      forged = false
      loop.storeSaid('')
      await realWorld.timers.sleep(10)
      await loop.lead(true)
      await realWorld.timers.sleep(10)
      expect(loop.decision?.sentence).not.toMatch(/until the store is back/)
    },
  )

  it('says why its commit was refused, whatever else the store answers, until one is taken', async () => {
    const store = memoryStore()
    let refused = true
    const compareAndSwap: Store['compareAndSwap'] = async (...parameters) => {
      if (refused) throw new Error('not allowed to change shop-record')
      return store.compareAndSwap(...parameters)
    }
    const { loop, listeners } = timelessLoop({ ...store, compareAndSwap })
    await loop.start()
    await loop.lead(true)
    listeners[0]?.heard(untold)
    for (let answers = 0; answers < 3; answers++) {
      await realWorld.timers.sleep(10)
      expect(loop.decision).toMatchObject({
        blocked: true,
        sentence: expect.stringMatching(/until the store is back: not allowed to change shop-record$/) as string,
      })
      loop.storeSaid('')
    }
    refused = false
    loop.wake()
    await realWorld.timers.sleep(10)
    expect(loop.record).toMatchObject({ epoch: 1 })
    expect(loop.decision?.sentence).not.toMatch(/until the store is back/)
  })

  it('tells its primary that it leads, also where that shows nothing new, but not while nothing can be committed', async () => {
    const { loop, posted, listeners } = timelessLoop()
    await loop.start()
    await loop.lead(true)
    listeners[0]?.heard(untold)
    await realWorld.timers.sleep(50)
    const words = () => posted.filter((path) => path === '/v1/word').length
    const assignment = { epoch: 1, revision: 1, role: 'primary', counted: false, fenced: false, source: null } as const
    const primary = {
      ...untold,
      takesWord: true,
      stored: { ...untold.stored, promise: 1, revision: 1, assignment },
    } as const
    loop.storeSaid('connection refused')
    listeners[0]?.heard({ ...primary, sequence: 2 })
    listeners[0]?.alive()
    expect(words()).toBe(0)
    loop.storeSaid('')
    listeners[0]?.alive()
    listeners[0]?.alive()
    expect(words()).toBe(1)
    await loop.lead(false)
    listeners[0]?.heard({ ...primary, sequence: 1, agentRun: 'another' })
    expect(words()).toBe(1)
  })

  it('says nothing any more once it is stopped, whatever the store does', async () => {
    const { loop, listeners } = timelessLoop()
    await loop.start()
    await loop.lead(true)
    loop.storeSaid('connection refused')
    loop.stop()
    listeners[0]?.heard(untold)
    await realWorld.timers.sleep(10)
    expect([loop.leads, loop.decision]).toEqual([false, null])
  })

  it('takes a commit for done that the store did without saying so', async () => {
    const store = memoryStore()
    const compareAndSwap: Store['compareAndSwap'] = async (...parameters) => {
      await store.compareAndSwap(...parameters)
      throw new Error('no answer within 2000 ms')
    }
    const acted: string[] = []
    const { loop, listeners } = timelessLoop({ ...store, compareAndSwap }, acted)
    await loop.start()
    await loop.lead(true)
    listeners[0]?.heard(untold)
    await realWorld.timers.sleep(50)
    expect(loop.record).toMatchObject({ epoch: 1 })
    expect(acted).toEqual(['commit', 'assign'])
  })

  it('knows the record of a manager that leads elsewhere, once an agent was told a newer one', async () => {
    const store = memoryStore()
    const leading = timelessLoop(store)
    const following = timelessLoop(store)
    for (const { loop } of [leading, following]) await loop.start()
    await leading.loop.lead(true)
    leading.listeners[0]?.heard(untold)
    await realWorld.timers.sleep(50)
    expect(following.loop.record).toBeUndefined()
    following.listeners[0]?.heard({
      ...untold,
      sequence: untold.sequence + 1,
      stored: { ...untold.stored, revision: 1 },
    })
    await realWorld.timers.sleep(1_200)
    expect(following.loop.record).toEqual(leading.loop.record)
    expect(following.loop.decision).toBeNull()
  })

  it('asks for no promise above a record that another manager made, once an agent acts on that record', async () => {
    const stored = memoryStore()
    let isBusy = false
    const busy = () => Promise.reject(new Error('the store is busy'))
    const store = { ...stored, readRecord: (name: string) => (isBusy ? busy() : stored.readRecord(name)) }
    const { loop, listeners, posted } = timelessLoop(store)
    await loop.start()
    await loop.lead(true)
    isBusy = true
    const made = { epoch: 3, revision: 1_000_001 } as const
    await stored.compareAndSwap('shop', 0, aRecord({ ...made, syncSet: [], acks: 0, acksWanted: 0 }))
    const assignment = { ...made, role: 'primary', counted: false, fenced: false, source: null } as const
    listeners[0]?.heard(anObservation({ instance: 'shop-0', stored: { ...made, promise: 3, assignment } }))
    for (const isBusyNext of [true, false]) {
      await realWorld.timers.sleep(20)
      isBusy = isBusyNext
      loop.wake()
    }
    await realWorld.timers.sleep(20)
    expect(posted).not.toContain(orders.promise.route)
    expect(loop.record).toMatchObject({ epoch: 3 })
  })

  it('finds an intent of another one that believed that it leads too, although no agent was told of that, and takes it back', async () => {
    const store = memoryStore()
    const { loop, listeners, regular } = timelessLoop(store)
    await loop.start()
    await loop.lead(true)
    listeners[0]?.heard(untold)
    await realWorld.timers.sleep(50)
    expect(loop.record).toMatchObject({ revision: 1 })
    const intent = { ...fetchIntent({ candidate: memberOf('shop-0') }), by: 'another' }
    await store.compareAndSwap('shop', 1, { ...aRecord({}, 1), ...loop.record, revision: 2, intent })
    await store.updateNotes('shop', (notes) => ({ ...notes, paused: { reason: 'a person said so', wallMs: 0 } }))
    for (const look of regular) look()
    await realWorld.timers.sleep(50)
    expect(loop.record).toMatchObject({ revision: 3, intent: null })
    expect(loop.notes.paused).toMatchObject({ reason: 'a person said so' })
    await loop.lead(false)
    expect(regular.size).toBe(0)
  })

  it('notes that its primary’s tail is unsettled, for the manager that comes after it, and that it is settled again', async () => {
    const store = memoryStore()
    const first = timelessLoop(store)
    await first.loop.start()
    await first.loop.lead(true)
    first.listeners[0]?.heard(untold)
    await realWorld.timers.sleep(50)
    const leading = { ...untold, stored: { ...untold.stored, ...{ promise: 1, revision: 1 } } }
    first.listeners[0]?.heard({
      ...leading,
      sequence: 2,
      process: 'dead',
      server: null,
      stored: { ...leading.stored, unsettled: true },
    })
    await realWorld.timers.sleep(50)
    const second = timelessLoop(store)
    await second.loop.start()
    await second.loop.lead(true)
    expect(second.loop.notes.unsettled).toMatchObject([{ member: 'shop-0@volume-0', epoch: 1, sequence: 2 }])
    second.listeners[0]?.heard({ ...leading, sequence: 3 })
    await realWorld.timers.sleep(50)
    expect(await store.readNotes('shop')).not.toHaveProperty('unsettled')
  })
})

it('Of two changes of the instances the later counts, however long the reading of the first takes', async () => {
  const reads: ((count: number) => void)[] = []
  let changed = () => undefined as void
  const { loop } = timelessLoop(memoryStore(), [], [alone], {
    instances: () =>
      new Promise((resolve) =>
        reads.push((count) => resolve(Array.from({ length: count }, (_, at) => ({ ...alone, name: `shop-${at}` })))),
      ),
    onChange: (told) => void (changed = told),
  })
  const started = loop.start()
  reads[0]?.(1)
  await started
  changed()
  changed()
  reads[2]?.(3)
  await new Promise(setImmediate)
  reads[1]?.(2)
  await new Promise(setImmediate)
  expect(loop.input().snapshot.instances.map(({ name }) => name)).toEqual(['shop-0', 'shop-1', 'shop-2'])
  loop.stop()
})
