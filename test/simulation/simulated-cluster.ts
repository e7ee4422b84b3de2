import { Agent, type AgentPorts } from '#agents/agent.ts'
import { anAgentConfig } from '#agents/testing.ts'
import { describeError, type RegentError } from '#common/errors/errors.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { clusterSpecSchema, type ClusterSpec } from '#failover/protocol/spec.ts'
import { defaultTimings, type Timings } from '#failover/protocol/timings.ts'
import type { PrimaryRoute } from '#common/ports/platform.ts'
import { instanceOf, ordinalOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { hostOf } from '#topology/testing.ts'
import { Value } from 'typebox/value'
import { nearPorts, serverOf } from './agent-ports.ts'
import { adopt } from './far/adopted.ts'
import { FarHost, type Reach } from './far/host.ts'
import { farConfigOf, farPlaceOf } from './far/place.ts'
import { watchSight } from './far/sight.ts'
import type { Happening } from './happening.ts'
import { Machine, type VolumeSnapshot } from './machine.ts'
import { commitKey } from './far/watch.ts'
import type { SimulatedRouter } from './routers/routers.ts'
import { OwnStart } from '#agents/far/own-start.ts'
import { Excuses } from './excuses.ts'
import { RecordedCells } from './recorded-cells.ts'
import type { DataFolder } from './mysqld/data-folder.ts'
import { Groups } from './group/groups.ts'
import { createExpulsion } from '#agents/group/expulsion.ts'
import { heardLines } from './group/heard-lines.ts'
import { simulatedLines } from './group/xcom-lines.ts'
import type { Written } from './mysqld/volume-port.ts'
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
  /** By what the server of each ordinal is reached, of servers that are far from their agents. */
  readonly far?: readonly Reach[] | undefined
  /** Gets a line for what happens. */
  readonly trace?: ((line: string) => void) | undefined
}

type PlacePorts = 'machine' | 'medium' | 'process' | 'server' | 'volume'

/** After so long a supervisor starts again what ended. */
const againMs = 1_000

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
  readonly #far: ClusterOptions['far']
  /** Managers keep a lease in their store by one machine's clock. Their wall clocks may differ. */
  readonly managerClocks: readonly MachineClock[]
  /** Of the machine where the agents of far servers run. */
  readonly #agentsClock: MachineClock
  readonly excuses = new Excuses()
  readonly unseenResets = new UnseenResets()
  /** Why each change of the record was made, as the manager said (`commitKey`). */
  readonly commits = new Map<string, string>()
  /** So many people wait for a failover, whatever is lost. */
  acceptingLoss = 0
  /** Whom people named who accepted any loss: to give up what others hold, too, where that cannot be fetched. */
  readonly namedByPeople = new Set<InstanceName>()
  /** Nothing goes wrong from here on. */
  isHealed = false
  readonly weather = new StoreWeather()
  /** In front of it, where clients come through routers. */
  routers: readonly SimulatedRouter[] = []
  readonly hooks: SimulatedHooks
  /** In mode `group` alone. */
  readonly groups: Groups | null
  readonly #listeners = new Set<(happening: Happening) => void>()

  constructor({ seed, instances, spec, far, trace }: ClusterOptions) {
    this.#far = far
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
    this.#agentsClock = { ...clock }
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
    const reach = this.#far?.[ordinalOf(name)]
    if (reach !== undefined)
      machine.far = new FarHost(machine, reach, { time: this.time, random: this.random.fork(), network: this.network })
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
    return (this.spec.failover.acceptLoss ?? 'never') !== 'never'
  }

  /** A person gave up what this one may still tell clients, and its agent has not heard of that (`Excuses.deposed`). */
  isDeposedUnheard({ name, far }: Machine): boolean {
    if (far?.isDeposed === true) return true
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
        return {
          ...{ name: machine.name, place: machine.agentPlace },
          listening: listening?.life.isDead === false ? listening : null,
        }
      },
    }
  }

  /** Starts the agent of a machine unless an agent runs there. */
  startAgent(machine: Machine): void {
    if (machine.agentLife?.isDead === false || !this.machines.includes(machine)) return
    const { time } = this
    const random = this.random.fork()
    const { groups } = this
    const life = new ProcessLife(time, random.fork(), machine.far === null ? machine.clock : this.#agentsClock)
    machine.agentLife = life
    const takes = (): Promise<void> => new Promise((resolve) => time.after(random.between(0.5, 15), resolve))
    const world = {
      ...{ cluster, time, random, network: this.network, groups, machines: this.machines },
      machineAt: (host: string) => this.#machineAt(host),
      opened: (one: Machine) => {
        this.say(`${one.name} is open`)
        this.#happened({ kind: 'opened', machine: one })
      },
    }
    const given = { server: serverOf(machine, life, world), takes, written: this.#written }
    const config = anAgentConfig({ instance: machine.name, host: machine.host, mode: this.spec.mode })
    const start = startOf(machine)
    this.say(`the agent of ${machine.name} starts`)
    const create = (own: Pick<AgentPorts, 'config' | PlacePorts>): Promise<Agent> =>
      Agent.create({
        timings: this.timings,
        world: life.world,
        transport: life.port(simulatedTransport(machine.agentPlace, this.transportPorts())),
        disk: life.port(machine.disk),
        termination: life.port({
          isTerminating: () => Promise.resolve(machine.isTerminating),
          quit: async () => this.endPod(machine),
        }),
        stateFile: 'state',
        replicationPassword: 'secret',
        ...(groups && {
          expulsion: createExpulsion({ open: heardLines(life, simulatedLines(machine, groups)), world: life.world }),
        }),
        log: (sentence) => this.say(`  ${machine.name} notes: ${sentence}`),
        ...own,
      })
    const listens = async (agent: Agent, whyBlind?: () => RegentError | null): Promise<void> => {
      if (life.isDead) return
      const ordered = (path: string, order: unknown): void => this.#happened({ kind: 'ordered', machine, path, order })
      const listening: Listening = {
        ...{ name: machine.name, place: machine.agentPlace, life, agent, ordered, connections: new Set() },
        ...(whyBlind && { whyBlind }),
      }
      this.#listening.set(machine.name, listening)
      this.#agents.set(machine.name, { agent, start })
      if (whyBlind !== undefined) watchSight(listening, whyBlind)
      await agent.start()
    }
    if (machine.far === null)
      return void create({ config, ...nearPorts(machine, life, world, given) }).then((agent) => listens(agent))
    const far = { ...config, far: farConfigOf(machine.far, machine) }
    const ownStart = new OwnStart()
    const asAgent = serverOf(machine, life, world, ownStart)
    farPlaceOf(
      { machine, host: machine.far, life, far },
      {
        ...{ time, ...given, looking: given.server, server: asAgent, ownStart },
        beginAnew: (why) => this.#startFarAgain(machine, life, why),
      },
    )
      .then(async ({ ports, whyBlind }) => listens(await create({ config: far, ...ports }), whyBlind))
      .catch((error: unknown) => this.#startFarAgain(machine, life, error))
  }

  /** Its supervisor starts it again. */
  #startFarAgain(machine: Machine, life: ProcessLife, error: unknown): void {
    if (life.isDead) return
    this.say(`the agent of ${machine.name} ends: ${describeError(error)}`)
    this.killAgent(machine)
    this.time.after(againMs, () => this.startAgent(machine))
  }

  killAgent(machine: Machine): void {
    this.say(`the agent of ${machine.name} dies`)
    machine.agentLife?.die()
    machine.agentLife = null
    machine.disk.tear()
    // Its machine lives on, and resets its connections.
    if (machine.far !== null) for (const end of [...(this.#listening.get(machine.name)?.connections ?? [])]) end()
    this.#listening.delete(machine.name)
  }

  /** The volume of an instance is gone. Another one is there: an empty one, or an older one. */
  putVolume(machine: Machine, volume: VolumeSnapshot): void {
    machine.goneMember = this.observation(machine.name)?.member
    this.killAgent(machine)
    machine.putVolume(volume)
  }

  /** Other data for a far server, and an agent that knows nothing of what was before. */
  manageAnew(machine: Machine, folder: DataFolder): void {
    this.putVolume(machine, { files: new Map(), folders: new Map([['data', folder]]) })
    machine.far?.forget()
    machine.far?.startMysqld()
    this.startAgent(machine)
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
    if (machine.far !== null) return machine.far.losePower(this.random.between(500, 8_000))
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
      commits: (next, why) => void this.commits.set(commitKey(next), why),
    })
    this.managers[index] = manager
    manager.start()
  }

  killManager(index: number): void {
    this.say(`manager-${index} dies`)
    this.managers[index]?.life.die()
  }

  start(): void {
    if (this.#far !== undefined) adopt(this.machines, this.random.fork())
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
