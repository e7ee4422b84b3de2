import { Agent } from '../../agents/agent.ts'
import { anAgentConfig } from '../../agents/testing.ts'
import type { ServerPort } from '../../agents/ports/server.ts'
import type { ClusterRecord } from '../../failover/protocol/record.ts'
import { clusterSpecSchema, type ClusterSpec } from '../../failover/protocol/spec.ts'
import { defaultTimings, type Timings } from '../../failover/protocol/timings.ts'
import type { PlatformInstance, PrimaryRoute } from '../../src/common/ports/platform.ts'
import { instanceName, type InstanceName } from '../../topology/snapshot/member.ts'
import type { Observation } from '../../topology/snapshot/observation.ts'
import { hostOf } from '../../topology/testing.ts'
import { Value } from 'typebox/value'
import { Machine } from './machine.ts'
import { RecordedCells } from './recorded-cells.ts'
import { SimulatedProcess } from './mysqld/process-port.ts'
import { SimulatedServer } from './mysqld/server-port.ts'
import { simulatedVolume } from './mysqld/volume-port.ts'
import { HeldLetters } from './held-letters.ts'
import { Network } from './network.ts'
import { ProcessLife, type MachineClock } from './process-life.ts'
import { SeededRandom } from './seeded-random.ts'
import { SimulatedManager } from './simulated-manager.ts'
import { StoreWeather } from './simulated-store.ts'
import { simulatedTransport, type Listening, type TransportPorts } from './transport.ts'
import { VirtualTime } from './virtual-time.ts'

export const cluster = 'shop'

export interface ClusterOptions {
  readonly seed: number
  readonly instances: number
  readonly spec?: Partial<ClusterSpec>
  /** Gets a line for what happens. */
  readonly trace?: ((line: string) => void) | undefined
}

/** What those who script a schedule may wait for. */
export type Happening =
  | { readonly kind: 'ordered'; readonly machine: Machine; readonly path: string }
  /** The store holds another record. */
  | { readonly kind: 'committed'; readonly before: ClusterRecord | undefined; readonly record: ClusterRecord }
  /** A server lets clients in. */
  | { readonly kind: 'opened'; readonly machine: Machine }

/** A whole cluster in one process: shipped agents and managers, on simulated servers, disks, networks and clocks. */
export class SimulatedCluster {
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly network: Network
  readonly held = new HeldLetters()
  readonly machines: readonly Machine[]
  /** What managers that start from now on are told to keep. */
  spec: ClusterSpec
  readonly timings: Timings = defaultTimings
  readonly cells = new RecordedCells()
  readonly managers: (SimulatedManager | null)[] = [null, null]
  readonly #listening = new Map<InstanceName, Listening>()
  /** The newest agent of each machine, dead or alive, and which start of the machine that agent knows. */
  readonly #agents = new Map<InstanceName, { readonly agent: Agent; readonly bootNumber: number }>()
  readonly #trace: ClusterOptions['trace']
  /** Managers keep a lease in their store by one machine's clock. */
  readonly #managerClock: MachineClock
  route: PrimaryRoute | undefined
  /** Nothing goes wrong from here on. */
  isHealed = false
  readonly weather = new StoreWeather()
  readonly #listeners = new Set<(happening: Happening) => void>()

  constructor({ seed, instances, spec, trace }: ClusterOptions) {
    this.random = new SeededRandom(seed)
    const order = this.random.fork()
    this.time = new VirtualTime(() => order.next())
    this.network = new Network(this.random.fork())
    this.#trace = trace
    this.spec = { ...(Value.Default(clusterSpecSchema, {}) as ClusterSpec), instances, ...spec }
    const names = Array.from({ length: instances }, (_, ordinal) => instanceName(cluster, ordinal))
    this.machines = names.map(
      (name) =>
        new Machine(name, hostOf(name), this.#clock(), {
          time: this.time,
          random: this.random.fork(),
          network: this.network,
          sourceAt: (host) => {
            const machine = this.#machineAt(host)
            return machine && { instance: machine.name, mysqld: machine.mysqld }
          },
        }),
    )
    this.#managerClock = this.#clock()
    this.cells.committed = (before, record) => this.#happened({ kind: 'committed', before, record })
  }

  /** Calls `listener` for all that happens until the returned function is called. */
  onHappening(listener: (happening: Happening) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #happened(happening: Happening): void {
    for (const listener of this.#listeners) listener(happening)
  }

  #clock(): MachineClock {
    return { offsetMs: this.random.between(0, 1e6), rate: this.random.between(0.98, 1.02) }
  }

  say(what: string): void {
    this.#trace?.(`${(this.time.nowMs / 1_000).toFixed(4).padStart(9)} s  ${what}`)
  }

  get record(): ClusterRecord | undefined {
    return this.cells.record
  }

  machine(name: InstanceName): Machine {
    const found = this.machines.find((machine) => machine.name === name)
    if (found === undefined) throw new Error(`there is no ${name}`)
    return found
  }

  #machineAt(host: string): Machine | undefined {
    return this.machines.find((machine) => machine.host === host)
  }

  /** What the newest agent of an instance says, or would say if that agent lived. */
  observation(name: InstanceName): Observation | undefined {
    return this.#agents.get(name)?.agent.observation()
  }

  /** The machine crashed: the agent says that its replica has forgotten something, or will say so. */
  mayForget({ name, bootNumber }: Machine): boolean {
    const known = this.#agents.get(name)
    return known?.bootNumber !== bootNumber || known.agent.observation().stored.forgetful
  }

  /** Where clients are sent. */
  get primary(): Machine | undefined {
    return this.machines.find(({ name }) => name === this.route?.instance)
  }

  #transportPorts(): TransportPorts {
    const { time, network, held } = this
    return {
      time,
      network,
      held,
      random: this.random.fork(),
      at: (address) => {
        const machine = this.#machineAt(address.split(':')[0] ?? '')
        if (machine === undefined) return undefined
        const listening = this.#listening.get(machine.name) ?? null
        return { name: machine.name, listening: listening?.life.isDead === false ? listening : null }
      },
    }
  }

  /** Starts the agent of a machine unless an agent runs there. */
  startAgent(machine: Machine): void {
    if (machine.agentLife?.isDead === false) return
    const { time } = this
    const random = this.random.fork()
    const life = new ProcessLife(time, random.fork(), machine.clock)
    machine.agentLife = life
    const takes = (): Promise<void> => new Promise((resolve) => time.after(random.between(0.5, 15), resolve))
    const process = new SimulatedProcess(machine, life, {
      time,
      random,
      everybody: this.machines.map(({ name }) => name),
    })
    const server: ServerPort = new SimulatedServer(machine, {
      time,
      random,
      machineAt: (host, from) => {
        const other = this.#machineAt(host)
        return other && this.network.reaches(from, other.name) && this.network.reaches(other.name, from)
          ? other
          : undefined
      },
      opened: (one) => {
        this.say(`${one.name} is open`)
        this.#happened({ kind: 'opened', machine: one })
      },
    })
    const bootNumber = machine.bootNumber
    this.say(`the agent of ${machine.name} starts`)
    const creating = Agent.create({
      config: anAgentConfig({ instance: machine.name, host: machine.host }),
      timings: this.timings,
      world: life.world,
      transport: life.port(simulatedTransport(machine.name, this.#transportPorts())),
      disk: life.port(machine.disk),
      machine: { bootId: () => life.hear(Promise.resolve(`boot-${bootNumber}`)) },
      medium: {
        read: () =>
          life.hear(
            Promise.resolve({ podUid: '', mounting: 'mounted-1', mount: null, filesystemErrors: null, file: '1:1' }),
          ),
      },
      stateFile: 'state',
      replicationPassword: 'secret',
      process: life.port(process),
      server: life.port(server),
      volume: life.port(simulatedVolume(machine, takes)),
      log: (sentence) => this.say(`  ${machine.name} notes: ${sentence}`),
    })
    void creating.then(async (agent) => {
      if (life.isDead) return
      const ordered = (path: string): void => this.#happened({ kind: 'ordered', machine, path })
      this.#listening.set(machine.name, { name: machine.name, life, agent, ordered })
      this.#agents.set(machine.name, { agent, bootNumber })
      await agent.start()
    })
  }

  killAgent(machine: Machine): void {
    machine.agentLife?.die()
    machine.agentLife = null
    machine.disk.tear()
    this.#listening.delete(machine.name)
  }

  crashMachine(machine: Machine): void {
    this.#listening.delete(machine.name)
    machine.crash()
  }

  startManager(index: number): void {
    if (this.managers[index]?.life.isDead === false) return
    const life = new ProcessLife(this.time, this.random.fork(), this.#managerClock)
    const manager = new SimulatedManager(`manager-${index}`, life, {
      ...this.#transportPorts(),
      cluster,
      spec: this.spec,
      timings: this.timings,
      cells: this.cells,
      weather: this.weather,
      platform: {
        instances: async () => this.machines.map(instanceAt),
        onChange: () => undefined,
        publishPrimary: async (route) => {
          await new Promise<void>((resolve) => this.time.after(this.network.delayMs(), resolve))
          if (route.epoch < (this.route?.epoch ?? 0)) return false
          this.route = route
          return true
        },
        publishedPrimary: async () => this.route,
        scaleTo: async () => undefined,
      },
      said: (name, sentence) => this.say(`  ${name}: ${sentence}`),
    })
    this.managers[index] = manager
    manager.start()
  }

  killManager(index: number): void {
    this.managers[index]?.life.die()
  }

  start(): void {
    for (const machine of this.machines) this.startAgent(machine)
    for (const index of this.managers.keys()) this.startManager(index)
  }
}

function instanceAt({ name, host }: Machine): PlatformInstance {
  return { name, host, port: 3306, agent: `${host}:9400` }
}
