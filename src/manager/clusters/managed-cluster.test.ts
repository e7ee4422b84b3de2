import { describe, expect, it } from 'vitest'
import { aRecord, aSituation, aSpec } from '#failover/testing.ts'
import { defaultTimings } from '#failover/protocol/timings.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import type { ClusterNotes, Recovery } from '#failover/protocol/notes.ts'
import { anObservation, memberOf, type ObservationOverrides } from '#topology/testing.ts'
import { RegentError } from '#common/errors/errors.ts'
import type { PlatformInstance, PrimaryRoute } from '#common/ports/platform.ts'
import { say } from '#common/sentence/sentence.ts'
import { createLogger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { memoryStore } from '#store/memory.ts'
import type { FeedListener } from '../loop/agent-feed.ts'
import type { LoopPorts } from '../loop/cluster-loop.ts'
import { ManagedCluster } from './managed-cluster.ts'
import { createMetrics } from './metrics.ts'

const noTimer = { cancel: () => undefined }
const alone = { name: 'shop-0', host: '127.24.1.1', port: 3306, agent: '127.24.1.1:9000' } as const

/** A cluster whose log is read; its timers never fire, and its route cannot be published. */
async function logged({
  decided = () => undefined,
  notes = {},
  record = aRecord({ syncSet: [], acks: 0, acksWanted: 0 }),
  instances = [alone],
  answers = true,
  published,
}: {
  decided?: (sentence: string, isNews: boolean) => void
  notes?: Partial<ClusterNotes>
  record?: ClusterRecord
  instances?: readonly PlatformInstance[]
  /** Agents refuse whatever they are told; or else no agent ever answers. */
  answers?: boolean
  published?: PrimaryRoute
} = {}) {
  const lines: string[] = []
  const listeners: FeedListener[] = []
  const clock = { ...realWorld.clock, monotonicMs: () => time.nowMs }
  const time = { nowMs: 1_000_000 }
  const store = memoryStore()
  await store.compareAndSwap('shop', 0, record)
  await store.updateNotes('shop', (before) => ({ ...before, ...notes }))
  const ports: LoopPorts = {
    hooks: { machine: '', run: async () => ({ isDone: true, said: '' }) },
    world: { ...realWorld, clock, timers: { ...realWorld.timers, after: () => noTimer, every: () => noTimer } },
    transport: {
      post: async () => {
        if (answers) throw new RegentError('REGENT_ORDER_NOT_ALLOWED', say`refused at ${time.nowMs} ms`)
        return new Promise(() => undefined)
      },
    },
    feed: { follow: (_address, _whom, listener) => (listeners.push(listener), () => undefined) },
    store,
    platform: {
      instances: async () => instances,
      onChange: () => undefined,
      publishPrimary: async () => Promise.reject(new Error(`no route at ${time.nowMs} ms`)),
      publishedPrimary: async () => published,
      scaleTo: async () => undefined,
    },
  }
  const log = createLogger({ level: 'warn', name: 'manager', destination: { write: (line) => void lines.push(line) } })
  const cluster = new ManagedCluster(
    ports,
    { cluster: 'shop', spec: aSpec({ instances: instances.length }), timings: defaultTimings, manager: 'm1' },
    {
      log,
      metrics: createMetrics(),
      told: {
        decided: ({ sentence }, _analyses, isNews) => decided(sentence, isNews),
        recovered: () => undefined,
        hookEnded: () => undefined,
        declined: () => undefined,
      },
    },
  )
  await cluster.loop.start()
  await cluster.loop.lead(true)
  const turn = async (sequence: number, laterMs = 1_000, looks: ObservationOverrides = {}): Promise<void> => {
    time.nowMs += laterMs
    listeners[0]?.heard(
      anObservation({
        instance: 'shop-0',
        sequence,
        stored: { revision: 0 },
        converged: { revision: 0, done: true, sentence: '' },
        ...looks,
      }),
    )
    await realWorld.timers.sleep(5)
  }
  return {
    cluster,
    listeners,
    store,
    turn,
    told: (what: RegExp) =>
      lines.map((line) => (JSON.parse(line) as { readonly msg: string }).msg).filter((line) => what.test(line)),
  }
}

/** The same with two replicas, of which all is well. */
async function withReplicas() {
  const others = [1, 2].map((at) => ({
    ...{ name: `shop-${at}`, host: `127.24.1.${at + 1}`, port: 3306 },
    agent: `127.24.1.${at + 1}:9000`,
  }))
  const { name: instance, host, port } = alone
  const published = { epoch: 1, instance, host, port }
  const made = await logged({ record: aRecord(), instances: [alone, ...others], answers: false, published })
  const { snapshot } = aSituation()
  for (const [at, { observation }] of snapshot.instances.entries())
    if (observation !== null) made.listeners[at]?.heard(observation)
  // Who is there is noted before anybody is believed.
  await realWorld.timers.sleep(20)
  return made
}

describe('the log of a manager', () => {
  it('tells what fails again and again once a minute, with how often it was left out', async () => {
    const { turn, told } = await logged()
    for (let step = 1; step <= 20; step += 1) await turn(step)
    expect(told(/^publishing the primary failed/)).toEqual(['publishing the primary failed'])
    expect(told(/^assign of shop-0: /)).toHaveLength(1)
    await turn(21, 60_000)
    expect(told(/^publishing the primary failed/)[1]).toMatch(/\(\d+ times? more since this was last said\)$/)
    expect(told(/^assign of shop-0: /)[1]).toMatch(/\(\d+ times? more since this was last said\)$/)
  })

  it('tells a sentence anew that names another instance, and not one with other figures', async () => {
    const { cluster, store, told, turn } = await logged()
    await turn(1)
    for (const [revision, primary] of [
      [2, 'shop-1'],
      [3, 'shop-1'],
      [4, 'shop-2'],
    ] as const) {
      const record = aRecord({ primary: memberOf(primary), revision, syncSet: [], acks: 0, acksWanted: 0 })
      await store.compareAndSwap('shop', revision - 1, record)
      await cluster.lookAgain()
      await turn(revision)
    }
    expect(told(/another history/)).toEqual([
      expect.stringContaining('the record says shop-1 in the same epoch, revision 2'),
      expect.stringContaining('the record says shop-2 in the same epoch, revision 4'),
    ])
  })

  it('tells what another hand does again and again once a minute, and each other thing', async () => {
    const { cluster, told } = await logged()
    for (let time = 0; time < 5; time += 1) cluster.remark('routes.json was removed by another hand')
    cluster.remark('routes.json was changed by another hand')
    expect(told(/routes\.json/)).toEqual([
      'routes.json was removed by another hand',
      'routes.json was changed by another hand',
    ])
    expect(cluster.remarks).toEqual(['0 s ago: routes.json was changed by another hand'])
  })
})

describe('what is decided of a cluster', () => {
  it('is news while something is done, and where another sentence comes of it; not where the same comes again', async () => {
    const decided: { readonly sentence: string; readonly isNews: boolean }[] = []
    const { cluster, store, turn } = await logged({
      decided: (sentence, isNews) => void decided.push({ sentence, isNews }),
    })
    await turn(1)
    await turn(2)
    expect(decided.at(-1)).toMatchObject({ isNews: true })
    const elsewhere = aRecord({ primary: memberOf('shop-1'), revision: 2, syncSet: [], acks: 0, acksWanted: 0 })
    await store.compareAndSwap('shop', 1, elsewhere)
    await cluster.lookAgain()
    await turn(3)
    expect(decided.find(({ sentence }) => sentence.startsWith('record of another history'))).toMatchObject({
      isNews: true,
    })
    decided.length = 0
    for (let sequence = 4; sequence < 9; sequence += 1) await turn(sequence)
    expect(decided.map(({ isNews }) => isNews)).toEqual(Array.from({ length: 5 }, () => false))
  })
})

describe('a repair that goes on', () => {
  const copying = { seedingProgress: { stage: 'copying', percent: 1, donor: 'shop-1' } }

  it('is filed as it begins, shown once, and filed again as it ends', async () => {
    const { cluster, turn } = await logged()
    await turn(1)
    await turn(2, 1_000, copying)
    await turn(3, 1_000, { seedingProgress: { ...copying.seedingProgress, percent: 2 } })
    const outcomes = () =>
      [cluster.loop.notes.recoveries, cluster.recoveries].map((all) => all.map((one) => one.outcome))
    expect(outcomes()).toEqual([['running'], ['running']])
    await turn(4)
    expect(outcomes()).toEqual([['succeeded'], ['succeeded']])
  })

  it('and whose manager is gone is ended by the next one that leads', async () => {
    const from = memberOf('shop-0')
    const orphan: Recovery = {
      ...{ id: 'orphan', kind: 'repair', startedWallMs: 1, analysis: 'copying: copying', sentence: 'copying: copying' },
      ...{ from, to: from, fromEpoch: 1, toEpoch: null, outcome: 'running', timeline: [] },
    }
    const { cluster, turn } = await logged({ notes: { recoveries: [orphan] } })
    await turn(1, 1_000, copying)
    expect(cluster.recoveries).toMatchObject([{ id: 'orphan', outcome: 'running', timeline: [{}, {}] }])
    await turn(2)
    expect(cluster.recoveries).toMatchObject([{ id: 'orphan', outcome: 'succeeded' }])
    expect(cluster.loop.notes.recoveries).toMatchObject([{ id: 'orphan', outcome: 'succeeded' }])
  })
})

it('A failover that goes on is filed as it begins, as the store takes it', async () => {
  const { cluster, store, turn } = await logged()
  await turn(1)
  await turn(2, 1_000, { process: 'dead', server: null, mysqldPid: null })
  expect(cluster.loop.recovery).not.toBeNull()
  expect(cluster.loop.notes.recoveries).toContainEqual(expect.objectContaining({ outcome: 'running' }))
  await expect(store.updateNotes('shop', () => cluster.loop.notes)).resolves.toBeDefined()
})

it('Whoever asked for something hears at once that this manager leads no more, and nothing is done for that later', async () => {
  const { cluster } = await withReplicas()
  const asked = cluster.operations.perform('switchover', { to: 'shop-1', reason: '', dryRun: false })
  const refused = expect(asked).rejects.toMatchObject({
    code: 'REGENT_TIMED_OUT',
    message: expect.stringMatching(/^switchover to shop-1 has not ended: this manager leads no more, /) as string,
  })
  expect(cluster.loop.input().requests).toHaveLength(1)
  await cluster.loop.lead(false)
  await refused
  expect(cluster.loop.input().requests).toEqual([])
})
