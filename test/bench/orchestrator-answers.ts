import { performance } from 'node:perf_hooks'
import { aSituation } from '#failover/testing.ts'
import { knownShop, orchestratorOver } from '#orchestrator/testing.ts'

/**
 * How long orchestrator’s interface takes for an answer where 500 instances are known: 100 clusters of five, in memory.
 * What a loop takes to hand out what it knows is not in it.
 */
const clusters = Array.from({ length: 100 }, (_, at) => ({
  ...knownShop({ snapshot: aSituation({ shape: { instances: 5 } }).snapshot, shape: { instances: 5 } }),
  name: `shop${at}`,
}))
const { app } = await orchestratorOver(clusters)
const paths = [
  'clusters-info',
  'cluster/shop50',
  'master/shop50',
  'all-instances',
  'topology/shop99',
  'replication-analysis',
]
for (const path of paths) {
  const took: number[] = []
  for (let turn = 0; turn < 60; turn++) {
    const began = performance.now()
    await app.inject({ method: 'GET', url: `/api/${path}` })
    if (turn >= 10) took.push(performance.now() - began)
  }
  const sorted = took.toSorted((one, other) => one - other)
  console.log(`${path}: ${sorted[25]?.toFixed(1)} ms at the median, ${sorted.at(-1)?.toFixed(1)} ms at most`)
}
