import type { Transport } from '#common/ports/ports.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { sayWord, type LeaseConfirmation } from '#failover/protocol/word.ts'
import type { Timings } from '#failover/protocol/timings.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Store } from '#store/store.ts'
import type { Sightings } from './sightings.ts'

export interface LeaseDeskPorts {
  readonly store: Store
  readonly transport: Transport
  readonly timings: Timings
  readonly failed: (what: string, error: unknown) => void
}

/** Answers primaries whose peers do not say whether their epoch goes on, each question once. */
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
   * alone stops nothing"). Never rejects.
   */
  confirm(observation: Observation): Promise<void> {
    return this.#confirm(observation).catch((error: unknown) =>
      this.#ports.failed(`confirming the lease of ${observation.instance}`, error),
    )
  }

  async #confirm(observation: Observation): Promise<void> {
    const { cluster, lease, member, instance, agentRun } = observation
    const asked = `${agentRun} ${lease?.question}`
    if (lease === null || asked === this.#answered) return
    this.#answered = asked
    const { store, transport, timings } = this.#ports
    const record = await store.readRecord(cluster)
    const address = this.#sightings.addressOf(instance)
    if (record === undefined || address === undefined || !isLedBy(record, observation)) return
    const confirmation: LeaseConfirmation = {
      version: orderVersion,
      cluster,
      member,
      epoch: record.epoch,
      revision: record.revision,
      question: lease.question,
      ...this.#forgetfulFor(observation),
    }
    await sayWord({ transport, deadlineMs: timings.leaseRenewMs }, address, 'lease', confirmation)
  }

  /**
   * An agent that takes words hears of the forgetful by a word (`leader-words.ts`), and an agent older still would
   * refuse this.
   */
  #forgetfulFor({ takesWord, heardForgetful }: Observation): Pick<LeaseConfirmation, 'forgetful'> {
    const { forgetful } = this.#sightings
    return takesWord === true || heardForgetful === undefined || Object.keys(forgetful).length === 0
      ? {}
      : { forgetful }
  }
}

/**
 * The epoch of the record is the one in which this instance was told to lead, and nobody is about to take it over: with
 * an intent to fetch a manager may wait for the end of the lease (`failover/judge/primary/lease-out.ts`).
 */
function isLedBy({ primary, epoch, intent }: ClusterRecord, { member, stored }: Observation): boolean {
  return primary === member && epoch === stored.assignment?.epoch && intent?.kind !== 'fetch'
}
