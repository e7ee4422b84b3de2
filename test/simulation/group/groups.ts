import { groupAddress } from '#failover/protocol/group-address.ts'
import type { Machine } from '../machine.ts'
import type { Mysqld } from '../mysqld/mysqld.ts'
import type { Network } from '../network.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { Ledger, Proposal } from './ledger.ts'
import type { Member } from './member.ts'
import { GroupPlugin } from './plugin.ts'
import type { GroupPorts } from './ports.ts'
import type { RemovalAsked } from './xcom-lines.ts'

interface HubPorts extends Omit<GroupPorts, 'nextNumber'> {
  readonly machines: () => readonly Machine[]
  /** One of these has formed a group. */
  readonly formed: (member: Member) => void
  /** Somebody asks for the removal of a member. */
  readonly removing?: (asked: RemovalAsked) => void
  /** A removal took another incarnation than the one that was named. */
  readonly anotherRemoved?: (member: Member) => void
}

/** `group_replication_gtid_assignment_block_size`. */
const blockSize = 1_000_000
/** What a group takes to fill the turns of a member that sends nothing any more. */
const fillMs = [180, 700] as const

/** The turns of a member whose removal was asked for are open until then; messages from `position` on wait. */
interface Filling {
  readonly untilMs: number
  readonly position: number
}

/** All replication groups that there ever were, and the plugin of each mysqld. */
export class Groups implements GroupPorts {
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly network: Network
  readonly ledgers: Ledger[] = []
  readonly #ports: HubPorts
  readonly #plugins = new WeakMap<Mysqld, GroupPlugin>()
  /** By group, and then by block: how many numbers were given. */
  readonly #given = new Map<string, Map<number, number>>()
  readonly #filled = new WeakMap<Member, Filling>()
  readonly #proposed = new WeakMap<Member, { readonly removal: Proposal; readonly position: number }>()
  readonly #removals = new WeakMap<Member, Map<Machine, number>>()
  readonly #answeredMs = new WeakMap<Machine, Map<Member, number>>()

  constructor(ports: HubPorts) {
    this.#ports = ports
    this.time = ports.time
    this.random = ports.random
    this.network = ports.network
  }

  readonly nextNumber = (group: string, block: number): number => {
    const blocks = this.#given.get(group) ?? new Map<number, number>()
    const given = (blocks.get(block) ?? 0) + 1
    this.#given.set(group, blocks.set(block, given))
    return block * blockSize + given
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

  /** By its address in a group. */
  machineAt(address: string): Machine | undefined {
    return this.#ports.machines().find(({ host }) => groupAddress({ host, port: 3306 }) === address)
  }

  /** XCom has a number for each group. */
  idOf(ledger: Ledger): number {
    return this.ledgers.indexOf(ledger) + 1
  }

  /** When the turns of this member are filled, once somebody has asked for its removal. */
  filledMs(victim: Member): number {
    const known = this.#filled.get(victim)
    if (known !== undefined) return known.untilMs
    const untilMs = this.time.nowMs + this.random.between(...fillMs)
    this.#filled.set(victim, { untilMs, position: victim.ledger.entries.length })
    return untilMs
  }

  /** A member proposes a removal that it had accepted. */
  proposes(member: Member, removal: Proposal): void {
    this.#proposed.set(member, { removal, position: member.position })
  }

  /**
   * How far a member is, as it says: nothing is delivered after the turns of a dead member that are open, nor after a
   * message of its own that is not agreed on. Such a message is known, and is the newest.
   */
  progressOf(member: Member): { readonly delivered: number; readonly newest: number } {
    const { position, agreed, ledger } = member
    const open = agreed.seats.map((seat) => this.#filled.get(seat)).filter((filling) => filling !== undefined)
    const held = open.filter(({ untilMs }) => untilMs > this.time.nowMs)
    const own = this.#proposed.get(member)
    const isOwnOpen = own !== undefined && ledger.isPending(own.removal)
    const turns = [...held, ...(isOwnOpen ? [own] : [])]
    const newest = ledger.entries.length + (turns.length > 0 ? 1 : 0)
    return { delivered: Math.min(position, ...turns.map((turn) => turn.position)), newest }
  }

  removalAsked(from: Machine, by: Member, victim: Member): void {
    const asked = this.#removals.get(victim) ?? new Map<Machine, number>()
    const firstMs = asked.get(from) ?? this.time.nowMs
    this.#removals.set(victim, asked.set(from, firstMs))
    this.#ports.removing?.({ from, by, victim, firstMs })
  }

  anotherRemoved(member: Member): void {
    this.#ports.anotherRemoved?.(member)
  }

  /** A member has answered somebody on this machine. */
  answered(machine: Machine, by: Member): void {
    const answered = this.#answeredMs.get(machine) ?? new Map<Member, number>()
    this.#answeredMs.set(machine, answered.set(by, this.time.nowMs))
  }

  /** When each member has answered somebody on this machine last. */
  answersHeardAt(machine: Machine): ReadonlyMap<Member, number> {
    return this.#answeredMs.get(machine) ?? new Map<Member, number>()
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
