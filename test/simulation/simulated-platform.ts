import type { Platform, PlatformInstance, PrimaryRoute } from '#common/ports/platform.ts'
import { ordinalOf, instanceName, type InstanceName } from '#topology/snapshot/member.ts'
import { emptyVolume, type Machine, type VolumeSnapshot } from './machine.ts'
import type { Network } from './network.ts'
import type { ProcessLife } from './process-life.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { VirtualTime } from './virtual-time.ts'

export interface PlatformPorts {
  readonly cluster: string
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly network: Network
  readonly made: (name: InstanceName) => Machine
  readonly startAgent: (machine: Machine) => void
  readonly killAgent: (machine: Machine) => void
  readonly putVolume: (machine: Machine, volume: VolumeSnapshot) => void
  readonly routed: (route: PrimaryRoute) => void
  readonly say: (what: string) => void
}

/** The place where instances run: which there are, and where clients are sent. */
export class SimulatedPlatform {
  readonly #ports: PlatformPorts
  readonly #machines: Machine[] = []
  /** Scaled away. Their volumes are kept. */
  readonly #retired = new Map<InstanceName, Machine>()
  readonly #listeners = new Set<() => void>()
  route: PrimaryRoute | undefined
  /** What it takes besides to have another number of instances. */
  lateMs = 0

  constructor(instances: number, ports: PlatformPorts) {
    this.#ports = ports
    for (let ordinal = 0; ordinal < instances; ordinal += 1) this.#add(instanceName(ports.cluster, ordinal))
  }

  /** Those that there are now, by ordinal. */
  get machines(): readonly Machine[] {
    return this.#machines
  }

  /** All that there ever were. */
  get everybody(): readonly Machine[] {
    return [...this.#machines, ...this.#retired.values()]
  }

  /** As one manager sees the place. */
  for(life: ProcessLife): Platform {
    const { time, network } = this.#ports
    return {
      instances: async () => this.#machines.map(instanceAt),
      onChange: (changed) => void this.#listeners.add(() => life.enter(changed)),
      publishPrimary: async (route) => {
        await new Promise<void>((resolve) => time.after(network.delayMs(), resolve))
        if (route.epoch < (this.route?.epoch ?? 0)) return false
        this.route = route
        this.#ports.routed(route)
        return true
      },
      publishedPrimary: async () => this.route,
      scaleTo: (count) => this.#scaleTo(count),
      replace: (instance) => this.#replace(instance),
    }
  }

  async #scaleTo(count: number): Promise<void> {
    await this.#takes(20 + this.lateMs, 600 + this.lateMs)
    const { cluster, say } = this.#ports
    for (const leaver of this.#machines.filter(({ name }) => ordinalOf(name) >= count)) {
      say(`${leaver.name} is taken away`)
      this.#ports.killAgent(leaver)
      leaver.end()
      this.#retired.set(leaver.name, leaver)
      this.#machines.splice(this.#machines.indexOf(leaver), 1)
    }
    for (let ordinal = this.#machines.length; ordinal < count; ordinal += 1) {
      const machine = this.#add(instanceName(cluster, ordinal))
      say(`${machine.name} is made`)
      this.#ports.time.after(this.#ports.random.between(10, 900), () => this.#startIfThere(machine))
    }
    for (const changed of this.#listeners) changed()
  }

  /** Its volume is given up, and the instance is made again with an empty one. */
  async #replace(instance: string): Promise<void> {
    await this.#takes(20, 600)
    const machine = this.#machines.find(({ name }) => name === instance)
    if (machine === undefined) return
    this.#ports.putVolume(machine, emptyVolume)
    this.#ports.time.after(this.#ports.random.between(10, 2_000), () => this.#startIfThere(machine))
  }

  #startIfThere(machine: Machine): void {
    if (this.#machines.includes(machine)) this.#ports.startAgent(machine)
  }

  #add(name: InstanceName): Machine {
    const machine = this.#retired.get(name) ?? this.#ports.made(name)
    this.#retired.delete(name)
    this.#machines.push(machine)
    return machine
  }

  #takes(leastMs: number, mostMs: number): Promise<void> {
    return new Promise((resolve) => this.#ports.time.after(this.#ports.random.between(leastMs, mostMs), resolve))
  }
}

function instanceAt({ name, host }: Machine): PlatformInstance {
  return { name, host, port: 3306, agent: `${host}:9400` }
}
