import type { Transport } from '../common/ports.ts'
import { agentRoutes, orderVersion } from '../../failover/order.ts'
import type { Timings } from '../../failover/timings.ts'
import type { Observation } from '../../topology/observation.ts'
import type { Store } from '../store/store.ts'

export interface LeaseDeskPorts {
  readonly store: Store
  readonly transport: Transport
  readonly timings: Timings
}

/** Answers primaries that ask whether their epoch goes on, each question once. */
export class LeaseDesk {
  readonly #ports: LeaseDeskPorts
  readonly #addressOf: (instance: string) => string | undefined
  #answered = ''

  constructor(ports: LeaseDeskPorts, addressOf: (instance: string) => string | undefined) {
    this.#ports = ports
    this.#addressOf = addressOf
  }

  /** A manager confirms only from a record read begun later than the question (design §5, "Lease"). */
  async confirm({ cluster, lease, member, instance, stored, agentRun }: Observation): Promise<void> {
    const asked = `${agentRun} ${lease?.question}`
    if (lease === null || asked === this.#answered) return
    this.#answered = asked
    const { store, transport, timings } = this.#ports
    const record = await store.readRecord(cluster)
    const address = this.#addressOf(instance)
    if (record === undefined || address === undefined || record.primary !== member || record.epoch !== stored.assignment?.epoch) return
    const confirmation = { version: orderVersion, cluster, member, epoch: record.epoch, revision: record.revision, question: lease.question }
    await transport.post(address, agentRoutes.lease, confirmation, timings.leaseRenewMs)
  }
}
