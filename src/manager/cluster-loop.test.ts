import { describe, expect, it } from 'vitest'
import { aSpec } from '../../failover/testing.ts'
import { defaultTimings } from '../../failover/timings.ts'
import { anObservation } from '../../topology/testing.ts'
import { realWorld } from '../common/real-world.ts'
import { memoryStore } from '../store/memory.ts'
import type { FeedListener } from './agent-feed.ts'
import { ClusterLoop, type LoopPorts } from './cluster-loop.ts'

const noTimer = { cancel: () => undefined }
const alone = { name: 'shop-0', host: '127.24.1.1', port: 3306, agent: '127.24.1.1:9000' } as const
const untouched = { promise: 0, revision: 0, assignment: null }

/** A loop whose timers never fire: it goes on by what happens, or not at all. */
function timelessLoop() {
  const posted: string[] = []
  const listeners: FeedListener[] = []
  const ports: LoopPorts = {
    world: { ...realWorld, timers: { ...realWorld.timers, after: () => noTimer, every: () => noTimer } },
    transport: { post: (_address, path) => (posted.push(path), new Promise(() => undefined)) },
    feed: { follow: (_address, listener) => (listeners.push(listener), () => undefined) },
    store: memoryStore(),
    platform: { instances: async () => [alone], onChange: () => undefined, publishPrimary: async () => true, publishedPrimary: async () => undefined, scaleTo: async () => undefined },
  }
  const quiet = { decided: () => undefined, acted: () => undefined, answered: () => undefined, recovered: () => undefined, failed: () => undefined }
  const loop = new ClusterLoop(ports, { cluster: 'shop', spec: aSpec({ instances: 1 }), timings: defaultTimings, manager: 'm1' }, quiet)
  return { loop, posted, listeners }
}

describe('the loop of a cluster', () => {
  it('goes on at once after a commit, without waiting for a timer', async () => {
    const { loop, posted, listeners } = timelessLoop()
    await loop.start()
    await loop.lead(true)
    listeners[0]?.heard(anObservation({ instance: 'shop-0', stored: untouched, converged: { revision: 0, done: false, sentence: '' }, markedRevision: 0 }))
    await realWorld.timers.sleep(50)
    expect(loop.record).toMatchObject({ epoch: 1, primary: 'shop-0@volume-0' })
    expect(posted).toEqual(['/v1/assign'])
  })
})
