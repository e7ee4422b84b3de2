import { createExpulsion } from '#agents/group/expulsion.ts'
import type { ExpulsionPort } from '#agents/ports/expulsion.ts'
import type { GroupPort } from '#agents/ports/group.ts'
import { groupAddress } from '#failover/protocol/group-address.ts'
import { instanceName } from '#topology/snapshot/member.ts'
import { Machine } from '#test/simulation/machine.ts'
import { DataFolder } from '#test/simulation/mysqld/data-folder.ts'
import { SimulatedServer } from '#test/simulation/mysqld/server-port.ts'
import { playInTime, SimulatedStagedServer } from '#test/simulation/mysqld/steps/simulated-stage.ts'
import { Network } from '#test/simulation/network.ts'
import { ProcessLife } from '#test/simulation/process-life.ts'
import { SeededRandom } from '#test/simulation/seeded-random.ts'
import { VirtualTime } from '#test/simulation/virtual-time.ts'
import { simulatedGroupPort } from '../group-port.ts'
import { Groups } from '../groups.ts'
import { simulatedLines } from '../xcom-lines.ts'
import type { GroupScript, GroupStage, StagedMember } from './stage.ts'

const lookMs = 5
const patienceMs = 60_000

/** Plays a script with members of a simulated group and gives what was seen. */
export function playSimulatedGroup(script: GroupScript, seed: number): Promise<readonly string[]> {
  return playInTime(script, new SimulatedGroupStage(seed, script.servers))
}

class SimulatedGroupStage implements GroupStage {
  readonly servers: readonly StagedMember[]
  readonly time: VirtualTime
  readonly #random: SeededRandom
  readonly #machines: Machine[] = []
  readonly #groups: Groups

  constructor(seed: number, count: number) {
    this.#random = new SeededRandom(seed)
    const order = this.#random.fork()
    this.time = new VirtualTime(() => order.next())
    this.#groups = new Groups({
      time: this.time,
      random: this.#random.fork(),
      network: new Network(this.#random.fork()),
      machines: () => this.#machines,
      formed: () => undefined,
    })
    for (let ordinal = 0; ordinal < count; ordinal += 1) this.#machines.push(this.#machineOf(ordinal, count))
    this.servers = this.#machines.map((machine) => this.#memberOn(machine))
  }

  #machineOf(ordinal: number, count: number): Machine {
    const names = Array.from({ length: count }, (_, at) => instanceName('bare', at))
    const clock = { offsetMs: 0, rate: 1, wallStepMs: 0 }
    const machine = new Machine(instanceName('bare', ordinal), `10.24.1.${ordinal + 1}`, clock, {
      time: this.time,
      random: this.#random.fork(),
      network: this.#groups.network,
      sourceAt: () => undefined,
    })
    machine.folders.set('data', new DataFolder('', new Set(names)))
    machine.started = () => this.#groups.started(machine)
    return machine
  }

  #memberOn(machine: Machine): StagedMember {
    const groups = this.#groups
    const server = new SimulatedServer(machine, {
      time: this.time,
      random: this.#random.fork(),
      machineAt: () => undefined,
      opened: () => undefined,
      groupOf: (mysqld) => groups.pluginOf(mysqld)?.shown() ?? {},
    })
    server.group = simulatedGroupPort(server.statement, groups)
    const { world } = new ProcessLife(this.time, this.#random.fork(), machine.clock)
    return new SimulatedMember(machine, server, this, createExpulsion({ open: simulatedLines(machine, groups), world }))
  }

  sleep = (ms: number): Promise<void> => new Promise((resolve) => this.time.after(ms, resolve))

  until: GroupStage['until'] = async (look, what) => {
    const untilMs = this.time.nowMs + patienceMs
    while (!(await look())) {
      if (this.time.nowMs > untilMs) throw new Error(`not within ${patienceMs} ms: ${what}`)
      await this.sleep(lookMs)
    }
  }
}

class SimulatedMember extends SimulatedStagedServer implements StagedMember {
  readonly group: GroupPort
  readonly expulsion: ExpulsionPort

  constructor(
    machine: Machine,
    port: SimulatedServer & { group?: GroupPort },
    stage: GroupStage,
    expulsion: ExpulsionPort,
  ) {
    super(machine, port, stage)
    if (port.group === undefined) throw new TypeError('every server of this stage has the plugin')
    this.group = port.group
    this.expulsion = expulsion
  }

  get address(): string {
    return groupAddress({ host: this.machine.host, port: 3306 })
  }

  freeze(): void {
    this.machine.mysqld?.freeze()
  }

  thaw(): void {
    this.machine.mysqld?.thaw()
  }
}
