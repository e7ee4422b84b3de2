import { describeError } from '../../common/errors/errors.ts'
import type { Transport, World } from '../../common/ports/ports.ts'
import { agentRoutes, orderVersion, type LeaderWord } from '../../../failover/protocol/order.ts'
import type { ClusterRecord } from '../../../failover/protocol/record.ts'
import { leaderWordMs, type Timings } from '../../../failover/protocol/timings.ts'
import type { Observation } from '../../../topology/snapshot/observation.ts'
import type { Sightings } from './sightings.ts'

export interface LeaderWordsPorts {
  readonly world: Pick<World, 'clock'>
  readonly transport: Transport
  readonly timings: Timings
  readonly failed: (what: string, error: unknown) => void
}

type Forgetful = NonNullable<LeaderWord['forgetful']>

/**
 * What a manager that leads says to the agent of the primary unasked: that it is there, now and then, and who is
 * forgetful, at once. No record is read for it, since no promise rests on it (docs/why/safety.md, "The leader's word").
 */
export class LeaderWords {
  readonly #ports: LeaderWordsPorts
  readonly #sightings: Pick<Sightings, 'addressOf' | 'forgetful'>
  #last = { to: '', news: '', atMs: 0 }

  constructor(ports: LeaderWordsPorts, sightings: Pick<Sightings, 'addressOf' | 'forgetful'>) {
    this.#ports = ports
    this.#sightings = sightings
  }

  /** @param record the newest that this manager knows */
  say(observation: Observation, record: ClusterRecord | undefined): void {
    const { cluster, member, instance, agentRun, takesWord } = observation
    const address = this.#sightings.addressOf(instance)
    if (takesWord !== true || record === undefined || address === undefined || !leadsIn(record, observation)) return
    const forgetful = this.#untold(observation)
    const word = { to: `${member} ${agentRun}`, news: forgetful === undefined ? '' : JSON.stringify(forgetful) }
    if (!this.#isDue(word)) return
    const { world, transport, timings, failed } = this.#ports
    this.#last = { ...word, atMs: world.clock.monotonicMs() }
    const { epoch, revision } = record
    const base = { version: orderVersion, cluster, member, epoch, revision }
    const said: LeaderWord = forgetful === undefined ? base : { ...base, forgetful }
    transport
      .post(address, agentRoutes.word, said, timings.leaseRenewMs)
      .catch((error: unknown) => failed(`saying to ${instance} who leads: ${describeError(error)}`, error))
  }

  /** Everybody who is forgetful, where the primary does not show yet that it has heard of all of them. */
  #untold({ heardForgetful = {} }: Observation): Forgetful | undefined {
    const { forgetful } = this.#sightings
    return Object.entries(forgetful).some(([name, as]) => heardForgetful[name] !== as) ? forgetful : undefined
  }

  /** News that was told shows only once the server was looked at: it is repeated after a while, as it may be lost. */
  #isDue({ to, news }: { readonly to: string; readonly news: string }): boolean {
    const { world, timings } = this.#ports
    if (to !== this.#last.to || (news !== '' && news !== this.#last.news)) return true
    const sinceMs = world.clock.monotonicMs() - this.#last.atMs
    return sinceMs >= (news === '' ? leaderWordMs(timings) : timings.leaseRenewMs)
  }
}

function leadsIn(record: ClusterRecord, { member, stored }: Observation): boolean {
  return record.primary === member && stored.assignment?.role === 'primary' && stored.assignment.epoch === record.epoch
}
