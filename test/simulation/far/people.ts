import type { Machine } from '../machine.ts'
import { primaryOf } from '../outcome.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { heldBy } from '../watch/held.ts'

/** A person looks at what an instance alone has for so long before that person gives it up. */
const patienceMs = 8_000

/**
 * Nothing is cut from a far host, and no far server is seeded: what an old primary alone has is a person's to decide.
 * That person keeps it, makes the server a copy of the primary, and has it managed anew (docs/guide/adopt-managed.md).
 */
export class FarPeople {
  readonly #cluster: SimulatedCluster
  readonly #seenSince = new Map<Machine, number>()

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster
  }

  look(): void {
    const { record, machines } = this.#cluster
    const primary = record && primaryOf(this.#cluster, record)
    if (primary?.mysqld?.mayWrite !== true) return
    for (const machine of machines) if (this.#isLeft(machine, primary)) this.#copy(primary, machine)
  }

  #isLeft(machine: Machine, primary: Machine): boolean {
    const { nowMs } = this.#cluster.time
    if (machine === primary || !hasErrant(machine, primary)) this.#seenSince.delete(machine)
    else if (!this.#seenSince.has(machine)) this.#seenSince.set(machine, nowMs)
    return nowMs - (this.#seenSince.get(machine) ?? nowMs) > patienceMs
  }

  #copy(primary: Machine, machine: Machine): void {
    if (primary.folder === undefined) return
    this.#seenSince.delete(machine)
    this.#cluster.say(`a person makes ${machine.name} a copy of ${primary.name}, and has it managed anew`)
    machine.archived.push(heldBy(machine).subtract(heldBy(primary)).toString())
    this.#cluster.manageAnew(machine, primary.folder.clone(this.#cluster.random.uuid()))
  }
}

function hasErrant(machine: Machine, primary: Machine): boolean {
  return machine.far !== null && !heldBy(machine).subtract(heldBy(primary)).isEmpty()
}
