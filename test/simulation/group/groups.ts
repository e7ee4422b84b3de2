import type { Machine } from '../machine.ts'
import type { Mysqld } from '../mysqld/mysqld.ts'
import type { Network } from '../network.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { Ledger } from './ledger.ts'
import type { Member } from './member.ts'
import { GroupPlugin } from './plugin.ts'
import type { GroupPorts } from './ports.ts'

interface HubPorts extends Omit<GroupPorts, 'nextNumber'> {
  readonly machines: () => readonly Machine[]
  /** One of these has formed a group. */
  readonly formed: (member: Member) => void
}

/** All replication groups that there ever were, and the plugin of each mysqld. */
export class Groups implements GroupPorts {
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly network: Network
  readonly ledgers: Ledger[] = []
  readonly #ports: HubPorts
  readonly #plugins = new WeakMap<Mysqld, GroupPlugin>()
  readonly #lastNumbers = new Map<string, number>()

  constructor(ports: HubPorts) {
    this.#ports = ports
    this.time = ports.time
    this.random = ports.random
    this.network = ports.network
  }

  readonly nextNumber = (group: string): number => {
    const number = (this.#lastNumbers.get(group) ?? 0) + 1
    this.#lastNumbers.set(group, number)
    return number
  }

  /** A mysqld starts there. */
  started(machine: Machine): void {
    const { mysqld } = machine
    if (mysqld === null || this.#plugins.has(mysqld)) return
    const plugin = new GroupPlugin(machine, mysqld, this)
    this.#plugins.set(mysqld, plugin)
    mysqld.group = plugin
  }

  pluginOf(mysqld: Mysqld | null): GroupPlugin | undefined {
    return mysqld === null ? undefined : this.#plugins.get(mysqld)
  }

  memberAt({ mysqld }: Machine): Member | undefined {
    return this.pluginOf(mysqld)?.member ?? undefined
  }

  formed(member: Member): void {
    this.ledgers.push(member.ledger)
    this.#ports.formed(member)
  }

  /** A member that a joiner reaches, and that can have the group agree. */
  seedFor(joiner: Machine, group: string): Member | undefined {
    const members = this.#ports
      .machines()
      .filter((machine) => machine !== joiner && this.network.reachesBothWays(joiner.name, machine.name))
      .flatMap((machine) => this.memberAt(machine) ?? [])
      .filter((member) => member.ledger.name === group && member.runs && member.hearsMajority())
    return members.length === 0 ? undefined : this.random.pick(members)
  }
}
