import type { Transport, World } from '#common/ports/ports.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { sayWord, type Comparing, type LeaderWord } from '#failover/protocol/word.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { leaderWordMs, type Timings } from '#failover/protocol/timings.ts'
import { questionsFor } from '#topology/snapshot/comparison.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Sightings } from './sightings.ts'

export interface LeaderWordsPorts {
  readonly world: Pick<World, 'clock'>
  readonly transport: Transport
  readonly timings: Timings
  readonly failed: (what: string, error: unknown) => void
}

type Forgetful = NonNullable<LeaderWord['forgetful']>
type Known = Pick<Sightings, 'addressOf' | 'forgetful' | 'observations'>

/**
 * What a manager that leads says to the agent of the primary unasked: that it is there, now and then, and at once who
 * is forgetful, and which transactions of replicas its server is asked about. No record is read for it, since no
 * promise rests on it (docs/why/safety.md, "The leader's word").
 */
export class LeaderWords {
  readonly #ports: LeaderWordsPorts
  readonly #sightings: Known
  #last = { to: '', news: '', atMs: 0 }
  #asked = { question: 0, atMs: -Infinity }

  constructor(ports: LeaderWordsPorts, sightings: Known) {
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
    const compare = this.#question(observation)
    if (compare === undefined && !this.#isDue(word)) return
    const { world, transport, timings, failed } = this.#ports
    this.#last = { ...word, atMs: world.clock.monotonicMs() }
    const { epoch, revision } = record
    const base = { version: orderVersion, cluster, member, epoch, revision }
    const said: LeaderWord = { ...base, ...(forgetful && { forgetful }), ...(compare && { compare }) }
    sayWord({ transport, deadlineMs: timings.leaseRenewMs }, address, 'word', said).catch((error: unknown) =>
      failed(`saying to ${instance} who leads`, error),
    )
  }

  /** Everybody who is forgetful, where the primary does not show yet that it has heard of all of them. */
  #untold({ heardForgetful = {} }: Observation): Forgetful | undefined {
    const { forgetful } = this.#sightings
    return Object.entries(forgetful).some(([name, as]) => heardForgetful[name] !== as) ? forgetful : undefined
  }

  /**
   * What replicas hold and this primary was not seen to hold. Questions follow one another: the next is asked once the
   * last is answered, or may be lost. While clients write with GTIDs of another server there is always another
   * question.
   */
  #question(observation: Observation): Comparing | undefined {
    const { world, timings } = this.#ports
    const { question, atMs } = this.#asked
    const nowMs = world.clock.monotonicMs()
    const pauseMs = observation.compared?.question === question ? timings.observeMs : timings.leaseRenewMs
    if (observation.compared === undefined || nowMs - atMs < pauseMs) return undefined
    const replicas = this.#sightings.observations.filter(({ instance }) => instance !== observation.instance)
    const held = questionsFor(replicas, observation)
    if (held === undefined) return undefined
    this.#asked = { question: question + 1, atMs: nowMs }
    return { question: question + 1, held }
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
