import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Machine } from '../machine.ts'
import type { Transaction } from '../mysqld/data-folder.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'

/** What a commit takes on its way to the store, at most, where the store is well. */
const commitMs = 1_000

/** Transactions that people wrote on servers that do not lead, and when an agent showed each of these first. */
export class WrittenByHand {
  readonly #cluster: SimulatedCluster
  readonly #shownAtMs = new Map<Transaction, number>()

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster
  }

  /** Something leaves the agent of a machine. */
  hear({ folder }: Machine, { server }: Observation): void {
    const news = [...(folder?.byHand ?? [])].filter((one) => !this.#shownAtMs.has(one))
    if (news.length === 0 || server === null) return
    const executed = parseGtidSet(server.executed)
    for (const one of news) if (executed.contains(one.gtid)) this.#shownAtMs.set(one, this.#cluster.time.nowMs)
  }

  /** Nobody could know of these when what is committed now was decided. */
  unknownOf({ folder }: Machine): GtidSet {
    const { time, weather } = this.#cluster
    const decidedMs = time.nowMs - commitMs - weather.requestsLateMs
    return [...(folder?.byHand ?? [])]
      .filter((one) => (this.#shownAtMs.get(one) ?? Infinity) > decidedMs)
      .reduce((all, { gtid }) => all.union(gtid), GtidSet.empty)
  }
}
