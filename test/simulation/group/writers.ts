import type { Machine } from '../machine.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import type { Groups } from './groups.ts'

/** What a hand opened, or had the whole group open, agents close again within this time. */
const closedAgainMs = 8_000

/** Members of one group that take writes at one time, where agents could see that, and since when. */
export class Writers {
  readonly #cluster: SimulatedCluster
  readonly #groups: Groups
  readonly #since = new Map<Machine, number>()

  constructor(cluster: SimulatedCluster, groups: Groups) {
    this.#cluster = cluster
    this.#groups = groups
  }

  look(): string | undefined {
    const { machines, time } = this.#cluster
    for (const machine of machines) {
      if (!this.#writesBeside(machine)) this.#since.delete(machine)
      else if (!this.#since.has(machine)) this.#since.set(machine, time.nowMs)
      const forMs = time.nowMs - (this.#since.get(machine) ?? time.nowMs)
      if (forMs > closedAgainMs)
        return `${machine.name} takes writes for ${Math.round(forMs / 1_000)} s beside the primary of its group`
    }
    return undefined
  }

  /** Its agent runs, and its group has a majority: so it knows who is primary, and could close its server. */
  #writesBeside(machine: Machine): boolean {
    const member = this.#groups.memberAt(machine)
    const { agentLife, mysqld } = machine
    if (member === undefined || agentLife?.runs !== true || mysqld?.mayWrite !== true) return false
    return member.isOnline && member.hearsMajority() && member.agreed.primary !== member
  }
}
