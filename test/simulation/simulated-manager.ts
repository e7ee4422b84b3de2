import { Leader } from '../../src/manager/clusters/leader.ts'
import { ClusterLoop } from '../../src/manager/loop/cluster-loop.ts'
import { RegentError } from '../../src/common/errors.ts'
import type { Platform } from '../../src/common/platform.ts'
import { memoryStore, type MemoryCells } from '../../src/store/memory.ts'
import type { ClusterSpec } from '../../failover/protocol/spec.ts'
import type { Timings } from '../../failover/protocol/timings.ts'
import type { ProcessLife } from './process-life.ts'
import { simulatedFeed, simulatedTransport, type TransportPorts } from './transport.ts'

export interface ManagerPorts extends TransportPorts {
  readonly cluster: string
  readonly spec: ClusterSpec
  readonly timings: Timings
  readonly cells: MemoryCells
  readonly platform: Platform
  readonly said: (manager: string, sentence: string) => void
}

/** One run of a manager: the shipped loop and the shipped claim to lead, on ports that simulate. */
export class SimulatedManager {
  readonly name: string
  readonly life: ProcessLife
  readonly loop: ClusterLoop
  readonly #leader: Leader

  /** @param place where it runs, as the network knows it */
  constructor(place: string, life: ProcessLife, ports: ManagerPorts) {
    const { network, time, random, said } = ports
    const { world } = life
    this.name = `${place}-${world.random.hex(6)}`
    this.life = life
    const takes = async (there: boolean): Promise<void> => {
      await life.hear(new Promise<void>((resolve) => time.after(network.delayMs(), resolve)))
      const [from, to] = there ? [place, 'store'] : ['store', place]
      if (!network.reaches(from, to)) await new Promise(() => undefined)
      if (random.chance(0.005)) throw new RegentError('REGENT_STORE_UNAVAILABLE', 'the store is busy')
    }
    const store = memoryStore({
      cells: ports.cells,
      clock: world.clock,
      timers: world.timers,
      before: () => takes(true),
      after: () => takes(false),
    })
    this.loop = new ClusterLoop(
      {
        world,
        transport: life.port(simulatedTransport(place, ports)),
        feed: simulatedFeed(place, life, ports),
        store,
        platform: life.port(ports.platform),
      },
      { cluster: ports.cluster, spec: ports.spec, timings: ports.timings, manager: this.name },
      {
        decided: ({ sentence }, changed) => changed && said(this.name, sentence),
        acted: (action) =>
          said(this.name, action.kind === 'commit' ? `commits: ${action.why}` : `sends ${action.kind}`),
        answered: ({ action, error }) => said(this.name, `${action.kind} ${action.to}: ${error || 'done'}`),
        recovered: (recovery) => said(this.name, `recovery ended: ${recovery.kind} ${recovery.outcome}`),
        failed: (what, error) => said(this.name, `failed: ${what}: ${String(error)}`),
      },
    )
    this.#leader = new Leader({
      store,
      world,
      manager: this.name,
      leadershipMs: ports.timings.leadershipMs,
      changed: (leads) => this.loop.lead(leads),
      failed: (error) => said(this.name, `cannot lead: ${String(error)}`),
      storeIs: (trouble) => this.loop.storeIs(trouble),
    })
  }

  start(): void {
    this.life.enter(() => {
      void this.loop.start()
      this.#leader.start()
    })
  }
}
