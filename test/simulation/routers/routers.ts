import { routerSettings } from '#failover/protocol/router-settings.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { EpochMemory } from '#router/epoch-memory.ts'
import { Router } from '#router/router.ts'
import type { Machine } from '../machine.ts'
import { ProcessLife } from '../process-life.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { simulatedFeed } from '../transport.ts'
import { SimulatedProxy } from './proxy.ts'

const recordEveryMs = 50

/** One address in front of the cluster: the shipped router, and an HAProxy that goes on without the router. */
export class SimulatedRouter {
  /** Where it runs, as the network knows that. */
  readonly place: string
  readonly proxy: SimulatedProxy
  life: ProcessLife | null = null
  /** Since when it runs without a break. */
  awakeSinceMs = 0
  readonly #cluster: SimulatedCluster
  readonly #random: SeededRandom
  /** On the disk of its machine. */
  readonly #memory = aMemory()
  #last: Shown | null = null

  constructor(place: string, cluster: SimulatedCluster) {
    this.place = place
    this.#cluster = cluster
    this.#random = cluster.random.fork()
    this.proxy = new SimulatedProxy(cluster.time, this.#random.fork())
  }

  start(): void {
    if (this.life?.isDead === false) return
    const { time, machines, managerClocks } = this.#cluster
    const life = new ProcessLife(time, this.#random.fork(), managerClocks[0] ?? { offsetMs: 0, rate: 1, wallStepMs: 0 })
    this.life = life
    this.awakeSinceMs = time.nowMs
    const router = new Router({
      cluster: 'shop',
      settings: routerSettings({}),
      feed: simulatedFeed(this.place, life, this.#cluster.transportPorts(), 'router'),
      proxy: life.port(this.proxy),
      memory: this.#memory,
      nowMs: () => life.world.clock.monotonicMs(),
      told: (sentence) => this.#cluster.say(`  ${this.place}: ${String(sentence)}`),
      warn: (sentence) => this.#cluster.say(`  ${this.place}: ${String(sentence)}`),
    })
    router.setInstances(machines.map(({ name, host }) => ({ name, host, port: 3306, agent: `${host}:9400` })))
    router.look()
    this.#followRecord(router, life)
    life.world.timers.every(1_000, () => router.look())
  }

  die(): void {
    this.life?.die()
  }

  freeze(): void {
    this.life?.freeze()
  }

  thaw(): void {
    this.life?.thaw()
    this.awakeSinceMs = this.#cluster.time.nowMs
  }

  /** What the stream of a manager brings; nothing where none answers. */
  #followRecord(router: Router, life: ProcessLife): void {
    const look = (): void => {
      if (life.isDead) return
      life.enter(() => router.setRecord(this.#shown()))
      this.#cluster.time.after(recordEveryMs, look)
    }
    look()
  }

  /** A manager that is frozen says nothing new, and its stream stays. */
  #shown(): Shown | null {
    const { managers, network } = this.#cluster
    const heard = managers.filter(
      (one, index) => one?.life.isDead === false && network.reachesBothWays(`manager-${index}`, this.place),
    )
    const manager = heard.find((one) => one?.loop.leads) ?? heard[0]
    if (manager == null) return (this.#last = null)
    const record = manager.life.runs ? manager.loop.input().record : undefined
    if (record !== undefined) this.#last = { epoch: record.epoch, primary: instanceOf(record.primary) }
    return this.#last
  }

  /** The server that its HAProxy leads writers to. */
  get target(): Machine | null {
    const host = this.proxy.target
    return this.#cluster.machines.find((machine) => machine.host === host) ?? null
  }
}

function aMemory(): EpochMemory {
  let highest = 0
  return {
    get highest() {
      return highest
    },
    note: (epoch) => void (highest = Math.max(highest, epoch)),
    forget: () => void (highest = 0),
  }
}

interface Shown {
  readonly epoch: number
  readonly primary: string
}

export function makeRouters(cluster: SimulatedCluster, count: number): readonly SimulatedRouter[] {
  return Array.from({ length: count }, (_, at) => new SimulatedRouter(`router-${at}`, cluster))
}
