import { later, managers, type FaultTable } from '../faults/fault.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import type { SimulatedRouter } from './routers.ts'

type Blow = (cluster: SimulatedCluster, router: SimulatedRouter, random: SeededRandom) => void

function atRouter(blow: Blow): FaultTable[string] {
  return [
    0,
    (cluster, _, random) => {
      const [router, draws] = [random.pick(cluster.routers), random.fork()]
      if (router !== undefined) blow(cluster, router, draws)
    },
  ]
}

function cutFor(cluster: SimulatedCluster, { place }: SimulatedRouter, others: readonly string[], ms: number): void {
  for (const other of others) cluster.network.separate(place, other)
  later(cluster, ms, () => {
    for (const other of others) cluster.network.join(place, other)
  })
}

/** What befalls routers. Their HAProxy goes on as it was led. */
export const routerFaults: FaultTable = {
  'a router stands still': atRouter((cluster, router, random) => {
    router.freeze()
    later(cluster, random.pick([500, 3_000, 10_000, 60_000]), () => router.thaw())
  }),
  'a router is started again': atRouter((cluster, router, random) => {
    router.die()
    later(cluster, random.between(50, 4_000), () => router.start())
  }),
  'a router is cut off from the managers': atRouter((cluster, router, random) =>
    cutFor(cluster, router, managers, random.between(300, 8_000)),
  ),
  'a router is cut off from agents': atRouter((cluster, router, random) => {
    const names = cluster.machines.map(({ name }) => name)
    const some = random.chance(0.3) ? names : [random.pick(names), random.pick(names)]
    cutFor(cluster, router, some, random.between(300, 8_000))
  }),
  'the socket of HAProxy is full': atRouter((cluster, router, random) => {
    router.proxy.isSocketBroken = true
    later(cluster, random.between(300, 4_000), () => (router.proxy.isSocketBroken = false))
  }),
  'HAProxy refuses commands': atRouter((cluster, router, random) => {
    router.proxy.isRefusing = true
    later(cluster, random.between(300, 4_000), () => (router.proxy.isRefusing = false))
  }),
  'HAProxy is killed': atRouter((_, router) => router.proxy.start()),
  'no manager is there': [
    0,
    (cluster, _, random) => {
      for (const index of cluster.managers.keys()) {
        cluster.killManager(index)
        later(cluster, random.between(4_000, 14_000), () => cluster.startManager(index))
      }
    },
  ],
}
