import { expect, test } from 'vitest'
import { createLogger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { withDowntime, withoutDowntime } from '#failover/judge/downtime.ts'
import { emptyNotes, type ClusterNotes } from '#failover/protocol/notes.ts'
import { anAdoption } from './testing.ts'
import { WatchedCluster } from './watched-cluster.ts'

test('Whoever begins to watch in between is told of a state that was told to others before', async () => {
  let notes: ClusterNotes = emptyNotes
  const cluster = new WatchedCluster(anAdoption(), {
    world: { ...realWorld, clock: { monotonicMs: () => 0, wallMs: () => 1_000 } },
    log: createLogger({ level: 'info', name: 'test', destination: { write: () => undefined } }),
    login: () => Promise.reject(new Error('nobody logs in')),
    ...{ recoveries: [], keep: () => undefined, notes },
    changeNotes: async (change) => (notes = change(notes)),
  })
  const downtime = { instance: cluster.looks[0]?.host.instance ?? '', untilWallMs: 9_000, reason: 'r', owner: 'o' }
  const told: string[] = []
  const first = cluster.subscribe(() => told.push('first'))
  await cluster.changeNotes((now) => withDowntime(now, downtime, 1_000))
  first()
  await cluster.changeNotes((now) => withoutDowntime(now, downtime.instance, 1_000))
  cluster.subscribe(() => told.push('second'))
  await cluster.changeNotes((now) => withDowntime(now, downtime, 1_000))
  expect(told).toEqual(['first', 'second'])
})
