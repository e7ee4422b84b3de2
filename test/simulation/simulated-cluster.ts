import { Agent } from '#agents/agent.ts'
import { anAgentConfig } from '#agents/testing.ts'
import { instancesOf } from '#agents/instance/accounts.ts'
import type { Medium } from '#agents/instance/medium.ts'
import type { ServerPort } from '#agents/ports/server.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { clusterSpecSchema, type ClusterSpec } from '#failover/protocol/spec.ts'
import { defaultTimings, type Timings } from '#failover/protocol/timings.ts'
import type { PrimaryRoute } from '#common/ports/platform.ts'
import { instanceOf, ordinalOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { hostOf } from '#topology/testing.ts'
import { Value } from 'typebox/value'
import { Machine, type VolumeSnapshot } from './machine.ts'
import { Excuses } from './excuses.ts'
import { RecordedCells } from './recorded-cells.ts'
import type { DataFolder } from './mysqld/data-folder.ts'
import { SimulatedProcess } from './mysqld/process-port.ts'
import { SimulatedServer } from './mysqld/server-port.ts'
import { Groups } from './group/groups.ts'
import { createExpulsion } from '#agents/group/expulsion.ts'
import { heardLines } from './group/heard-lines.ts'
import { simulatedLines, type RemovalAsked } from './group/xcom-lines.ts'
import { simulatedGroupPort } from './group/group-port.ts'
import type { Member } from './group/member.ts'
import { simulatedVolume, type Written } from './mysqld/volume-port.ts'
import { HeldLetters } from './held-letters.ts'
import { Network } from './network.ts'
import { ProcessLife, type MachineClock } from './process-life.ts'
import { SeededRandom } from './seeded-random.ts'
import { SimulatedHooks } from './simulated-hooks.ts'
import { SimulatedPlatform } from './simulated-platform.ts'
import { SimulatedManager } from './simulated-manager.ts'
import { StoreWeather } from './simulated-store.ts'
import { simulatedTransport, type Listening, type TransportPorts } from './transport.ts'
import { UnseenResets } from './unseen-resets.ts'
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
  | { readonly kind: 'ordered'; readonly machine: Machine; readonly path: string; readonly order: unknown }
  /** The store holds another record. */
  | { readonly kind: 'committed'; readonly before: ClusterRecord | undefined; readonly record: ClusterRecord }
  /** A server lets clients in. */
  | { readonly kind: 'opened'; readonly machine: Machine }
  /** An agent tells somebody what it sees. */
  | { readonly kind: 'said'; readonly machine: Machine; readonly observation: Observation }
  /** An agent has carried out an order, or answered a question. */
  | { readonly kind: 'answered'; readonly path: string; readonly order: unknown; readonly answer: unknown }
  /** Clients are sent somewhere else. */
  | { readonly kind: 'routed'; readonly route: PrimaryRoute }
  /** A server has formed a replication group. */
  | { readonly kind: 'formed'; readonly machine: Machine; readonly member: Member }
  /** Somebody asks members of a group to remove another one. */
  | { readonly kind: 'removing'; readonly asked: RemovalAsked }
  /** Members of a group have removed another incarnation than the one that was named. */
  | { readonly kind: 'anotherRemoved'; readonly member: Member }
  /** mysqld starts. */
  | { readonly kind: 'started'; readonly machine: Machine }
  /** One data folder takes the place of another, for good. */
  | { readonly kind: 'gaveUp'; readonly machine: Machine; readonly gone: DataFolder; readonly instead: DataFolder }
  /** The end of a binlog is cut off. */
  | { readonly kind: 'cut'; readonly machine: Machine; readonly tail: GtidSet }

/** A whole cluster in one process: shipped agents and managers, on simulated servers, disks, networks and clocks. */
export class SimulatedCluster {
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly network: Network
  readonly held = new HeldLetters()
  readonly platform: SimulatedPlatform
  /** What managers that start from now on are told to keep. */
  spec: ClusterSpec
  readonly timings: Timings = defaultTimings
  readonly cells = new RecordedCells()
  readonly managers: (SimulatedManager | null)[] = [null, null]
  readonly #listening = new Map<InstanceName, Listening>()
  /** The newest agent of each machine, dead or alive, and which start of the machine that agent knows. */
  readonly #agents = new Map<InstanceName, { readonly agent: Agent; readonly start: string }>()
  /** What may be given from one volume to another server. */
  readonly #written: Written = new Map()
  readonly #trace: ClusterOptions['trace']
  /** Managers keep a lease in their store by one machine's clock. Their wall clocks may differ. */
  readonly managerClocks: readonly MachineClock[]
  readonly excuses = new Excuses()
  readonly unseenResets = new UnseenResets()
  /** So many people wait for a failover, whatever is lost. */
  acceptingLoss = 0
  /** Whom people named who accepted any loss: to give up what others hold, too, where that cannot be fetched. */
  readonly namedByPeople = new Set<InstanceName>()
  /** Nothing goes wrong from here on. */
  isHealed = false
  readonly weather = new StoreWeather()
  readonly hooks: SimulatedHooks
  /** In mode `group` alone. */
  readonly groups: Groups | null
  readonly #listeners = new Set<(happening: Happening) => void>()

  constructor({ seed, instances, spec, trace }: ClusterOptions) {
    this.random = new SeededRandom(seed)
    const order = this.random.fork()
    this.time = new VirtualTime(() => order.next())
    this.network = new Network(this.random.fork())
    this.hooks = new SimulatedHooks(this.time, new SeededRandom(seed))
    this.#trace = trace
    this.spec = { ...(Value.Default(clusterSpecSchema, {}) as ClusterSpec), instances, ...spec }
    this.groups = this.spec.mode === 'group' ? this.#makeGroups() : null
    this.platform = new SimulatedPlatform(instances, {
      cluster,
      time: this.time,
      random: this.random.fork(),
      network: this.network,
      made: (name) => this.#made(name),
      startAgent: (machine) => this.startAgent(machine),
      killAgent: (machine) => this.killAgent(machine),
      putVolume: (machine, volume) => this.putVolume(machine, volume),
      routed: (route) => this.#happened({ kind: 'routed', route }),
      say: (what) => this.say(what),
    })
    const clock = this.#clock()
    this.managerClocks = [clock, { ...clock }]
    for (const machine of this.machines) machine.onMysqldChange(() => this.#sayHowMysqldIs(machine))
    this.cells.committed = (before, record) => this.#happened({ kind: 'committed', before, record })
  }

  #makeGroups(): Groups {
    return new Groups({
      time: this.time,
      random: this.random.fork(),
      network: this.network,
      machines: () => this.machines,
      formed: (member) => {
        this.say(`${member.name} has formed a group`)
        this.#happened({ kind: 'formed', machine: this.machine(member.name), member })
      },
      removing: (asked) => {
        this.say(`${asked.from.name} asks ${asked.by.name} to remove ${asked.victim.name}`)
        this.#happened({ kind: 'removing', asked })
      },
      anotherRemoved: (member) => this.#happened({ kind: 'anotherRemoved', member }),
    })
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
    return { offsetMs: this.random.between(0, 1e6), rate: this.random.between(0.98, 1.02), wallStepMs: 0 }
  }

  #made(name: InstanceName): Machine {
    const host = this.groups === null ? hostOf(name) : hostInGroup(name)
    const machine = new Machine(name, host, this.#clock(), {
      time: this.time,
      random: this.random.fork(),
      network: this.network,
      sourceAt: (host) => {
        const machine = this.#machineAt(host)
        return machine && { instance: machine.name, mysqld: machine.mysqld }
      },
    })
    machine.started = () => {
      this.groups?.started(machine)
      this.#happened({ kind: 'started', machine })
    }
    machine.gaveUp = (gone, instead) => this.#happened({ kind: 'gaveUp', machine, gone, instead })
    machine.cut = (tail) => this.#happened({ kind: 'cut', machine, tail })
    return machine
  }

  /** Those that there are now, by ordinal. */
  get machines(): readonly Machine[] {
    return this.platform.machines
  }

  /** Where clients are sent. */
  get route(): PrimaryRoute | undefined {
    return this.platform.route
  }

  #sayHowMysqldIs({ name, mysqld }: Machine): void {
    if (mysqld !== null) this.say(`mysqld ${mysqld.pid} of ${name} is ${mysqld.state}`)
  }

  say(what: string): void {
    this.#trace?.(`${(this.time.nowMs / 1_000).toFixed(4).padStart(9)} s  ${what}`)
  }

  get record(): ClusterRecord | undefined {
    return this.cells.record
  }

  machine(name: InstanceName): Machine {
    const found = this.platform.everybody.find((machine) => machine.name === name)
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

  /** The rule that is broken, and what the agents knew until then. */
  sayBroken(violation: string): void {
    this.say(`══ ${violation}`)
    for (const [name, { agent }] of this.#agents)
      for (const { agoMs, fact, detail } of agent.facts)
        this.say(`   ${name} learnt ${agoMs} ms ago: ${fact} ${detail}`)
  }

  /** Its instance is on another volume: an empty one, or an older one that knows nothing of what came since. */
  isElsewhere(member: MemberId): boolean {
    const name = instanceOf(member)
    return this.machine(name).goneMember === member || this.#agents.get(name)?.agent.observation().member !== member
  }

  /** The agent says that its replica has forgotten something, or will say so, or lives on another volume. */
  mayForget(machine: Machine): boolean {
    const known = this.#agents.get(machine.name)
    return known?.start !== startOf(machine) || known.agent.observation().stored.forgetful
  }

  /** A loss is accepted ahead of time, by the spec. */
  get acceptsLoss(): boolean {
    return this.spec.failover.acceptLoss === 'always'
  }

  /** A person gave up what this one may still tell clients, and its agent has not heard of that (`Excuses.deposed`). */
  isDeposedUnheard({ name }: Machine): boolean {
    const epoch = this.excuses.deposed.get(name)
    return epoch !== undefined && (this.observation(name)?.stored.promise ?? 0) < epoch
  }

  /** Where clients are sent. */
  get primary(): Machine | undefined {
    return this.machines.find(({ name }) => name === this.route?.instance)
  }

  transportPorts(): TransportPorts {
    const { time, network, held } = this
    return {
      time,
      network,
      held,
      random: this.random.fork(),
      observed: (name, observation) => this.#happened({ kind: 'said', machine: this.machine(name), observation }),
      answered: (path, order, answer) => this.#happened({ kind: 'answered', path, order, answer }),
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
    if (machine.agentLife?.isDead === false || !this.machines.includes(machine)) return
    const { time } = this
    const random = this.random.fork()
    const life = new ProcessLife(time, random.fork(), machine.clock)
    machine.agentLife = life
    const takes = (): Promise<void> => new Promise((resolve) => time.after(random.between(0.5, 15), resolve))
    const process = new SimulatedProcess(machine, life, {
      time,
      random,
      everybody: this.groups === null ? this.machines.map(({ name }) => name) : instancesOf(cluster),
    })
    const { groups } = this
    const server = new SimulatedServer(machine, {
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
      ...(groups && { groupOf: (one) => groups.pluginOf(one)?.shown() ?? {} }),
    })
    if (groups !== null) server.group = life.port(simulatedGroupPort(server.statement, groups))
    const { bootNumber, mounting } = machine
    const start = startOf(machine)
    this.say(`the agent of ${machine.name} starts`)
    const creating = Agent.create({
      config: anAgentConfig({ instance: machine.name, host: machine.host, mode: this.spec.mode }),
      timings: this.timings,
      world: life.world,
      transport: life.port(simulatedTransport(machine.name, this.transportPorts())),
      disk: life.port(machine.disk),
      machine: { bootId: () => life.hear(Promise.resolve(`boot-${bootNumber}`)) },
      medium: {
        read: () => life.hear(Promise.resolve(mediumOf(mounting))),
      },
      termination: life.port({
        isTerminating: () => Promise.resolve(machine.isTerminating),
        quit: async () => this.endPod(machine),
      }),
      stateFile: 'state',
      replicationPassword: 'secret',
      process: life.port(process),
      server: life.port<ServerPort>(server),
      ...(groups && {
        expulsion: createExpulsion({ open: heardLines(life, simulatedLines(machine, groups)), world: life.world }),
      }),
      volume: life.port(simulatedVolume(machine, takes, this.#written)),
      log: (sentence) => this.say(`  ${machine.name} notes: ${sentence}`),
    })
    void creating.then(async (agent) => {
      if (life.isDead) return
      const ordered = (path: string, order: unknown): void => this.#happened({ kind: 'ordered', machine, path, order })
      this.#listening.set(machine.name, { name: machine.name, life, agent, ordered })
      this.#agents.set(machine.name, { agent, start })
      await agent.start()
    })
  }

  killAgent(machine: Machine): void {
    this.say(`the agent of ${machine.name} dies`)
    machine.agentLife?.die()
    machine.agentLife = null
    machine.disk.tear()
    this.#listening.delete(machine.name)
  }

  /** The volume of an instance is gone. Another one is there: an empty one, or an older one. */
  putVolume(machine: Machine, volume: VolumeSnapshot): void {
    machine.goneMember = this.observation(machine.name)?.member
    this.killAgent(machine)
    machine.putVolume(volume)
  }

  /** The pod of an instance ends, and another one is made on the same volume. */
  endPod(machine: Machine): void {
    this.killAgent(machine)
    machine.mountAgain()
    machine.isTerminating = false
    this.time.after(this.random.between(50, 3_000), () => this.startAgent(machine))
  }

  crashMachine(machine: Machine): void {
    this.say(`the machine of ${machine.name} crashes`)
    this.#listening.delete(machine.name)
    machine.crash()
  }

  #managerClock(index: number): MachineClock {
    const clock = this.managerClocks[index]
    if (clock === undefined) throw new Error(`there is no manager ${index}`)
    return clock
  }

  startManager(index: number): void {
    if (this.managers[index]?.life.isDead === false) return
    const life = new ProcessLife(this.time, this.random.fork(), this.#managerClock(index))
    const manager = new SimulatedManager(`manager-${index}`, life, {
      ...this.transportPorts(),
      cluster,
      spec: this.spec,
      timings: this.timings,
      cells: this.cells,
      weather: this.weather,
      platform: this.platform.for(life),
      hooks: this.hooks,
      said: (name, sentence) => this.say(`  ${name}: ${sentence}`),
    })
    this.managers[index] = manager
    manager.start()
  }

  killManager(index: number): void {
    this.say(`manager-${index} dies`)
    this.managers[index]?.life.die()
  }

  start(): void {
    for (const machine of this.machines) this.startAgent(machine)
    for (const index of this.managers.keys()) this.startManager(index)
  }
}

/** Members of a group have one address on the loopback network (`groupHost`), and one each on any other. */
export function hostInGroup(name: InstanceName): string {
  return `10.24.1.${ordinalOf(name) + 1}`
}

/** What a crash, or another volume, took away is known to the agents that start after it. */
function startOf({ bootNumber, mounting }: Machine): string {
  return `${bootNumber} ${mounting}`
}

function mediumOf(mounting: number): Medium {
  return { podUid: '', mounting: `mounted-${mounting}`, mount: null, filesystemErrors: null, file: `1:${mounting}` }
}
