import type { AgentPorts } from '#agents/agent.ts'
import { instancesOf } from '#agents/instance/accounts.ts'
import type { Medium } from '#agents/instance/medium.ts'
import type { ServerPort } from '#agents/ports/server.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import { simulatedGroupPort } from './group/group-port.ts'
import type { OwnStart } from '#agents/far/own-start.ts'
import type { Groups } from './group/groups.ts'
import type { Machine } from './machine.ts'
import { SimulatedProcess } from './mysqld/process-port.ts'
import { SimulatedServer } from './mysqld/server-port.ts'
import { simulatedVolume, type Written } from './mysqld/volume-port.ts'
import type { Network } from './network.ts'
import type { ProcessLife } from './process-life.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { VirtualTime } from './virtual-time.ts'

interface World {
  readonly cluster: string
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly network: Network
  readonly groups: Groups | null
  readonly machines: readonly Machine[]
  readonly machineAt: (host: string) => Machine | undefined
  readonly opened: (machine: Machine) => void
}

/** A machine's mysqld as one agent reaches the server. */
export function serverOf(machine: Machine, life: ProcessLife, world: World, ownStart?: OwnStart): SimulatedServer {
  const { time, random, network, groups, machineAt, opened } = world
  const server = new SimulatedServer(machine, {
    time,
    random,
    machineAt: (host: string, from: InstanceName) => {
      const other = machineAt(host)
      return other && network.reachesBothWays(from, other.name) ? other : undefined
    },
    opened,
    ...(machine.far && { road: machine.far.sql }),
    ...(ownStart && { ownStart }),
    ...(groups && { groupOf: (one) => groups.pluginOf(one)?.shown() ?? {} }),
  })
  if (groups !== null) server.group = life.port(simulatedGroupPort(server.statement, groups))
  return server
}

/** What an agent is given that lives beside its server. */
export function nearPorts(
  machine: Machine,
  life: ProcessLife,
  { cluster, time, random, groups, machines }: World,
  { server, takes, written }: { server: SimulatedServer; takes: () => Promise<void>; written: Written },
): Pick<AgentPorts, 'machine' | 'medium' | 'process' | 'server' | 'volume'> {
  const everybody = groups === null ? machines.map(({ name }) => name) : instancesOf(cluster)
  const { bootNumber, mounting } = machine
  return {
    machine: { bootId: () => life.hear(Promise.resolve(`boot-${bootNumber}`)) },
    medium: { read: () => life.hear(Promise.resolve(mediumOf(mounting))) },
    process: life.port(new SimulatedProcess(machine, life, { time, random, everybody })),
    server: life.port<ServerPort>(server),
    volume: life.port(simulatedVolume(machine, takes, written)),
  }
}

function mediumOf(mounting: number): Medium {
  return { podUid: '', mounting: `mounted-${mounting}`, mount: null, filesystemErrors: null, file: `1:${mounting}` }
}
