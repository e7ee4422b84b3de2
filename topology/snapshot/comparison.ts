import { GtidSet, parseGtidSet } from '../gtid/gtid-set.ts'
import { holdsOf } from './holdings.ts'
import type { Observation } from './observation.ts'
import type { GtidText } from './gtid-text.ts'

/*
 * A comparison of what two instances hold compares two looks, each at its own moment, and no clock orders them: the
 * clocks of two machines differ, and what arrives first was not seen first. So every comparison of two observations is
 * made here, and says which of the two looks may be the older one, and why that does no harm. The comparison that a
 * place in the binlogs orders is in `holes.ts`.
 */

/** What a replica holds and its source was not seen to hold. */
export interface Extra {
  /** The source never had these: it was asked about them, looked at its server after that, and lacks them. */
  readonly errant: GtidSet
  /** The source has not answered: they may have come from the source, after that was looked at. */
  readonly undecided: GtidSet
  /** The source was asked about this server of the replica, and has answered. */
  readonly isAnswered: boolean
}

/**
 * The look at the source may be the older one: it writes on, with GTIDs of any uuid (a channel from another cluster,
 * `SET gtid_next`), and a replica receives within a millisecond. So what the replica holds beyond that look is
 * undecided, until the source has looked after it was asked about exactly that (`Observation.compared`). The chain is
 * causal: the replica held the transaction, its manager heard of that, the source was asked, and then began to look.
 * Whatever had come from this source was in its binlog before all of that, so the look shows it. A later look at the
 * replica changes nothing of what was proven: it once held the transaction, and not from this source.
 *
 * The source's own transactions (its `server_uuid`, or the name of its replication group) are none: nobody else issues
 * them. The agent of an older source answers nothing: what it showed last has to do.
 */
export function extraOf(replica: Observation, source: Observation): Extra {
  const extra = withoutOwn(holdsOf(replica).subtract(holdsOf(source)), source)
  const { compared } = source
  if (compared === undefined || extra.isEmpty()) return { errant: extra, undecided: GtidSet.empty, isAnswered: true }
  const answer = compared.lacks[replica.instance]
  const isAnswered = answer?.as === askedAs(replica)
  // What another source, or an earlier start of this agent, has proven stays so until this source has answered.
  const errant = extra.intersect(parseGtidSet((isAnswered ? answer.gtids : replica.errantTold) ?? ''))
  return { errant, undecided: extra.subtract(errant), isAnswered }
}

/** What a replica holds that its source is proven never to have had. */
export function errantOf(replica: Observation, source: Observation): GtidSet {
  return extraOf(replica, source).errant
}

/**
 * Nothing is proven against it, and all that it held when its source was asked about it is proven to be the source's.
 * What it has received since is asked about as well, all the time; but what it issued itself nobody sent it.
 */
export function isFreeOfErrant(replica: Observation, source: Observation): boolean {
  const { errant, undecided, isAnswered } = extraOf(replica, source)
  if (!errant.isEmpty()) return false
  return undecided.isEmpty() || (isAnswered && undecided.equals(undecided.withoutSource(replica.server?.uuid ?? '')))
}

/**
 * What a replica lacks of its source. The look at the replica may be the older one: what it has received since counts
 * as lacking, which only makes whoever asks wait. The look at the source may be the older one: what it has written
 * since is not counted. So whoever takes "nothing" for a proof must not need what was written since, and says why.
 */
export function lackedOf(replica: Observation, source: Observation): GtidSet {
  return holdsOf(source).subtract(holdsOf(replica))
}

/** The server, on its volume, that a source is asked about: what another one held says nothing of it. */
export function askedAs({ member, server }: Observation): string {
  return `${member} ${server?.uuid ?? ''}`
}

/**
 * What a source is to be asked, of each replica that holds more than the source was seen to hold. Undefined while
 * nothing is undecided: then the last answer stays.
 */
export function questionsFor(
  replicas: readonly Observation[],
  source: Observation,
): Readonly<Record<string, { readonly as: string; readonly gtids: GtidText }>> | undefined {
  const open = replicas.map((replica) => ({ replica, ...extraOf(replica, source) }))
  if (open.every(({ undecided }) => undecided.isEmpty())) return undefined
  return Object.fromEntries(
    open
      .filter(({ errant, undecided }) => !errant.isEmpty() || !undecided.isEmpty())
      .map(({ replica, errant, undecided }) => [
        replica.instance,
        { as: askedAs(replica), gtids: errant.union(undecided).toString() },
      ]),
  )
}

function withoutOwn(extra: GtidSet, { server }: Observation): GtidSet {
  if (server === null) return extra
  const foreign = extra.withoutSource(server.uuid)
  return server.group === undefined || server.group.name === '' ? foreign : foreign.withoutSource(server.group.name)
}
