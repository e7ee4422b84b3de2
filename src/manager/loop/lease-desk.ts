import type { Transport } from '../../common/ports/ports.ts'
import { agentRoutes, orderVersion } from '../../../failover/protocol/order.ts'
import type { Timings } from '../../../failover/protocol/timings.ts'
import type { Observation } from '../../../topology/snapshot/observation.ts'
import type { Store } from '../../store/store.ts'
import type { Sightings } from './sightings.ts'

export interface LeaseDeskPorts {
  readonly store: Store
  readonly transport: Transport
  readonly timings: Timings
}

/** Answers primaries that ask whether their epoch goes on, each question once. */
export class LeaseDesk {
  readonly #ports: LeaseDeskPorts
  readonly #sightings: Pick<Sightings, 'addressOf' | 'forgetful'>
  #answered = ''

  constructor(ports: LeaseDeskPorts, sightings: Pick<Sightings, 'addressOf' | 'forgetful'>) {
    this.#ports = ports
    this.#sightings = sightings
  }

  /**
   * A manager confirms only from a record read begun later than the question (docs/why/safety.md, "A manager outage
   * alone stops nothing").
   */
  async confirm({ cluster, lease, member, instance, stored, agentRun, heardForgetful }: Observation): Promise<void> {
    const asked = `${agentRun} ${lease?.question}`
    if (lease === null || asked === this.#answered) return
    this.#answered = asked
    const { store, transport, timings } = this.#ports
    const record = await store.readRecord(cluster)
    const address = this.#sightings.addressOf(instance)
    if (
      record === undefined ||
      address === undefined ||
      record.primary !== member ||
      record.epoch !== stored.assignment?.epoch
    )
      return
    const { forgetful } = this.#sightings
    const confirmation = {
      version: orderVersion,
      cluster,
      member,
      epoch: record.epoch,
      revision: record.revision,
      question: lease.question,
      ...(heardForgetful === undefined || Object.keys(forgetful).length === 0 ? {} : { forgetful }),
    }
    await transport.post(address, agentRoutes.lease, confirmation, timings.leaseRenewMs)
  }
}
