import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Adoption } from '../adoption.ts'
import { comparePositions, errantAt, holdingsOf, numbersTransactions, type Holdings } from './holdings.ts'
import { channelOf } from './links.ts'
import { answers, type AnsweredLook, type Look } from './look.ts'
import { follows } from './primary.ts'

/** The server that would be promoted, and the server from which it would first get what it lacks. */
interface Choice {
  readonly candidate: AnsweredLook
  /** The one that has got most; the candidate itself where nobody has more. */
  readonly mostAdvanced: AnsweredLook
}

export interface Election {
  readonly choice: Choice | undefined
  /** Transactions that were seen at the old primary, and none of those that answer has. Without GTIDs not known. */
  readonly lost: number | null
  /** Why each other was not chosen. */
  readonly passedOver: readonly Sentence[]
}

/** By the order in which a managed cluster of that mode elects (`failover/judge/election/election.ts`). */
export function elect(primary: Look, looks: readonly Look[], mode: Adoption['mode']): Election {
  const others = looks.filter((look) => look !== primary)
  const unfit = new Map(others.map((look) => [look, whyUnfit(look, primary, looks)] as const))
  const said = [...unfit.values()].filter((why) => why !== undefined)
  const answering = others.filter(answers).filter((look) => isBelow(look, primary, looks))
  const fit = answering.filter((look) => unfit.get(look) === undefined)
  const held = new Map(answering.map((look) => [look, holdingsOf(look, primary, looks)] as const))
  const compare = comparison(held, numbersTransactions(looks))
  const [mostAdvanced] = answering.toSorted((one, other) => -compare(one, other))
  const lacks = (look: AnsweredLook) => mostAdvanced !== undefined && compare(mostAdvanced, look) > 0
  const order: Order = {
    compare,
    // In mode async each transaction that is fetched is outage. Else whoever must fetch comes after whoever holds all.
    first: mode === 'async' ? compare : (one, other) => Number(lacks(other)) - Number(lacks(one)),
  }
  const [candidate] = fit.toSorted((one, other) => -order.first(one, other) || byWish(one, other, compare))
  const lost = lostOf(primary, [...held.values()], looks)
  if (candidate === undefined || mostAdvanced === undefined) return { choice: undefined, lost, passedOver: said }
  const best = compare(mostAdvanced, candidate) > 0 ? mostAdvanced : candidate
  const rest = fit.filter((look) => look !== candidate)
  return {
    choice: { candidate, mostAdvanced: best },
    lost,
    passedOver: [...said, ...rest.map((look) => whyNotFirst(look, candidate, order))],
  }
}

/** The server follows the primary, or a server that does. */
function isBelow(look: Look, primary: Look, looks: readonly Look[], depth = 0): boolean {
  if (follows(look, primary, looks)) return true
  const source = looks.find((one) => follows(look, one, looks))
  return source !== undefined && depth < looks.length && isBelow(source, primary, looks, depth + 1)
}

type Compare = (one: AnsweredLook, other: AnsweredLook) => number

/** By sets of GTIDs where all servers have them, else by how far they have read the binlog of the primary. */
function comparison(held: ReadonlyMap<AnsweredLook, Holdings>, byGtids: boolean): Compare {
  const of = (look: AnsweredLook): Holdings => held.get(look) ?? { gtids: GtidSet.empty, read: null }
  if (!byGtids) return (one, other) => comparePositions(of(one).read, of(other).read)
  return (one, other) => {
    if (of(one).gtids.isLargerThan(of(other).gtids)) return 1
    return of(other).gtids.isLargerThan(of(one).gtids) ? -1 : 0
  }
}

/** Which of two holds enough more to lead before any wish, and which holds more at all. */
interface Order {
  readonly first: Compare
  readonly compare: Compare
}

function byWish(one: AnsweredLook, other: AnsweredLook, compare: Compare): number {
  return preference(other) - preference(one) || -compare(one, other)
}

function preference({ host: { promotion } }: Look): number {
  return promotion === 'prefer' ? 1 : 0
}

function whyNotFirst(look: AnsweredLook, candidate: AnsweredLook, { first, compare }: Order): Sentence {
  const [name, chosen] = [look.host.instance, candidate.host.instance]
  if (first(candidate, look) > 0) return say`${name}: ${chosen} has received more`
  if (preference(candidate) > preference(look)) return say`${name}: ${chosen} is preferred (promotion)`
  return compare(candidate, look) > 0
    ? say`${name}: ${chosen} has received more`
    : say`${name}: ${chosen} has received as much, and stands before it in the file`
}

/** Undefined for one that could lead. */
function whyUnfit(look: Look, primary: Look, looks: readonly Look[]): Sentence | undefined {
  const { instance, promotion } = look.host
  if (promotion === 'never') return say`${instance}: its promotion is never`
  if (!answers(look)) return say`${instance}: it does not answer`
  if (!isBelow(look, primary, looks)) return say`${instance}: it does not follow ${primary.host.instance}`
  const trouble = whyUnfitServer(look, looks) ?? whyUnfitData(look, primary, looks)
  return trouble && say`${instance}: ${trouble}`
}

function whyUnfitServer({ server }: AnsweredLook, looks: readonly Look[]): Sentence | undefined {
  if (!server.logBin) return say`it writes no binlog (log_bin)`
  if (!server.logReplicaUpdates) return say`it does not log what it replicates (log_replica_updates)`
  const older = looks.find((other) => answers(other) && isOlder(other.server.version, server.version))
  return older && say`its version ${server.version} is newer than that of ${older.host.instance}`
}

function whyUnfitData(look: AnsweredLook, primary: Look, looks: readonly Look[]): Sentence | undefined {
  const channel = channelOf(look, looks)
  if (channel?.filtered === true) return say`it replicates only a part (a replication filter)`
  if (channel?.sql === false) return say`its SQL thread is stopped`
  const errant = primary.server === null ? GtidSet.empty : errantAt(look, { ...primary, server: primary.server })
  return errant.isEmpty() ? undefined : say`it has ${counted(errant.count(), 'errant transaction')}`
}

/**
 * Whether `one` is of an older series than `other`: a replica of an older series cannot read what a newer server
 * writes.
 */
function isOlder(one: string, other: string): boolean {
  const [a, b] = [seriesOf(one), seriesOf(other)]
  return a.major !== b.major ? a.major < b.major : a.minor < b.minor
}

function seriesOf(version: string): { readonly major: number; readonly minor: number } {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return { major, minor }
}

function lostOf(primary: Look, held: readonly Holdings[], looks: readonly Look[]): number | null {
  if (primary.server === null || !numbersTransactions(looks)) return null
  const kept = held.reduce((all, { gtids }) => all.union(gtids), GtidSet.empty)
  return GtidSet.parse(primary.server.executed).subtract(kept).count()
}
