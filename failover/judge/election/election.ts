import { counted, heard, say, type Sentence } from '#common/sentence/sentence.ts'
import { delaySecondsOf } from '#topology/snapshot/channel-delay.ts'
import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import { instanceOf, ordinalOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import type { Channel, Observation, StoredSummary } from '#topology/snapshot/observation.ts'
import { seriesOf } from '#topology/snapshot/series.ts'
import type { InstancePolicy } from '#failover/protocol/instance-policy.ts'
import { salvages } from '#failover/protocol/mode-name.ts'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import type { Promised } from './promised.ts'
import { whyDoubted } from '../data/doubted-data.ts'
import { isUncopied, uncopied } from '../data/doubted-members.ts'
import { compareDowntime } from '../downtime.ts'
import { isDeadHolder } from './elected-set.ts'
import { isFenced, liveView, type LiveView, type Situation } from '../situation.ts'

/** How the new primary is chosen: among those who promised, who hold everything, and whom nothing forbids. */
export interface Election {
  readonly winner: Promised | null
  /** The best that is allowed but lacks some of the union: it would have to fetch first. */
  readonly mustFetch: Promised | null
  /** Why each other one was not chosen, a line each. */
  readonly reasons: readonly Sentence[]
}

export interface Wishes {
  /** Nobody else may win: a person named it, or it opens sooner than the one that was elected. */
  readonly to: InstanceName | null
  /** Why `to` leads, where no person named it. */
  readonly because?: Sentence
  /**
   * Instances that are about to leave: they win only where nobody else holds everything, and hand over before they go.
   */
  readonly leaving: readonly InstanceName[]
}

/**
 * Elects among `promised`. Order: older series of MySQL (decision 19), not in downtime, preferred before neutral,
 * higher priority, not delayed by hand, shorter applier backlog (the backlog is outage), lower ordinal.
 */
export function elect(situation: Situation, promised: readonly Promised[], union: GtidSet, wishes: Wishes): Election {
  const allowed: Promised[] = []
  const reasons: Sentence[] = []
  for (const candidate of promised) {
    const why = whyNot(situation, candidate, wishes)
    if (why === null) allowed.push(candidate)
    else reasons.push(say`${instanceOf(candidate.member)} is not chosen: ${why}`)
  }
  const leaves = ({ member }: Promised) => wishes.leaving.includes(instanceOf(member))
  // A candidate whose server must be started first, or that brings what nobody promised, leads only where no other
  // candidate holds everything.
  const burdens = (one: Promised) => 2 * Number(isDeadHolder(one.view)) + Number(!union.contains(one.holds))
  const ranked = allowed.toSorted(
    (a, b) => burdens(a) - burdens(b) || Number(leaves(a)) - Number(leaves(b)) || compare(situation, a, b),
  )
  const holding = ranked.filter(({ holds }) => holds.contains(union))
  const winner = holding[0] ?? null
  for (const loser of ranked) {
    if (loser !== winner)
      reasons.push(
        say`${instanceOf(loser.member)} is not chosen: ${leaves(loser) ? say`it is about to leave` : whyBehind(situation, loser, winner, union)}`,
      )
  }
  const able = ranked.filter(({ view }) => !isDeadHolder(view))
  // A salvage waits for its disk and for its network: the one that lacks least waits for the least.
  const fetching = salvages(situation.spec)
    ? able.toSorted(
        (a, b) =>
          Number(leaves(a)) - Number(leaves(b)) ||
          rankOf(a.view) - rankOf(b.view) ||
          union.subtract(a.holds).count() - union.subtract(b.holds).count(),
      )
    : able
  return { winner, mustFetch: winner === null ? (fetching[0] ?? null) : null, reasons }
}

/** A shorter backlog is applied in a moment, and the order of ordinals is worth more. */
const mindedBacklog = 100

/**
 * The member election would prefer among these if all held the same; for plans before anybody promised. A member that
 * has just come back, and applies what it missed, is preferred only where no other member can lead.
 */
export function preferredOf(situation: Situation, members: readonly MemberId[]): MemberId | null {
  const allowed = members.filter(
    (member) =>
      policyOf(situation.spec, instanceOf(member)).promotion !== 'never' &&
      !isFenced(situation.notes, instanceOf(member)),
  )
  const waiting = (member: MemberId) => Math.floor(backlogIn(liveView(situation.snapshot, member)) / mindedBacklog)
  const delayed = (member: MemberId) => isDelayed(liveView(situation.snapshot, member))
  const series = (member: MemberId) => rankOf(liveView(situation.snapshot, member))
  return (
    allowed.toSorted(
      (a, b) =>
        series(a) - series(b) ||
        compareDowntime(situation, a, b) ||
        comparePolicy(situation, instanceOf(a), instanceOf(b)) ||
        delayed(a) - delayed(b) ||
        waiting(a) - waiting(b) ||
        compareOrdinal(a, b),
    )[0] ?? null
  )
}

function whyNot(situation: Situation, { member, view, report }: Promised, wishes: Wishes): Sentence | null {
  const name = instanceOf(member)
  if (wishes.to !== null && name !== wishes.to) return wishes.because ?? say`${wishes.to} was asked for`
  if (report.asPrimary && (member === situation.record.primary || !isDeadHolder(view)))
    return say`it is the old primary`
  return whyUnfit(situation, member, view)
}

/** What forbids an instance to lead, whatever it holds; null when nothing does. */
export function whyUnfit(situation: Situation, member: MemberId, view: LiveView): Sentence | null {
  if (policyOf(situation.spec, instanceOf(member)).promotion === 'never') return say`its policy is never`
  if (isFenced(situation.notes, instanceOf(member))) return say`it is fenced`
  const { stored, process } = view.observation
  if (process !== 'running' && !isDeadHolder(view)) return say`its mysqld is ${process}`
  const doubt = whyInDoubt(stored) ?? (isUncopied(situation.record, view.observation) ? uncopied : null)
  return doubt ?? whyUnable(view.observation)
}

function whyUnable({ server, probe, probeDetail }: Observation): Sentence | null {
  if (server?.binlogNumber === 0) return say`its mysqld runs without a binary log until that is started again`
  return probe === 'diskFull' || probe === 'readOnlyFilesystem' || probe === 'lowSpace'
    ? say`its disk: ${heard(probeDetail || probe)}`
    : null
}

function whyInDoubt(stored: StoredSummary): Sentence | null {
  const forgot = stored.forgetful ? say`it may have forgotten what it received and has not caught up since` : null
  return whyDoubted(stored) ?? forgot
}

function whyBehind(situation: Situation, loser: Promised, winner: Promised | null, union: GtidSet): Sentence {
  const lacking = union.subtract(loser.holds).count()
  if (lacking > 0) return say`it lacks ${counted(lacking, 'transaction')}`
  if (winner === null) return say`nobody was`
  if (isDeadHolder(loser.view)) return say`its mysqld is down`
  if (rankOf(winner.view) < rankOf(loser.view))
    return say`it runs MySQL ${seriesNameOf(loser.view)} and ${instanceOf(winner.member)} ${seriesNameOf(winner.view)}, which cannot follow a newer one`
  if (compareDowntime(situation, winner.member, loser.member) < 0) return say`it is in downtime`
  if (comparePolicy(situation, instanceOf(winner.member), instanceOf(loser.member)) < 0)
    return say`${instanceOf(winner.member)} is preferred by policy`
  if (isDelayed(winner.view) < isDelayed(loser.view))
    return say`it was told to apply ${delaySecondsOf(channelOf(loser.view))} s later than it receives`
  return backlogOf(winner) < backlogOf(loser)
    ? say`it has ${counted(backlogOf(loser), 'transaction')} to apply, ${instanceOf(winner.member)} ${backlogOf(winner)}`
    : say`equal, and ${instanceOf(winner.member)} has the lower ordinal`
}

function compare(situation: Situation, a: Promised, b: Promised): number {
  return (
    rankOf(a.view) - rankOf(b.view) ||
    compareDowntime(situation, a.member, b.member) ||
    comparePolicy(situation, instanceOf(a.member), instanceOf(b.member)) ||
    isDelayed(a.view) - isDelayed(b.view) ||
    backlogOf(a) - backlogOf(b) ||
    compareOrdinal(a.member, b.member)
  )
}

/** A version that is not known yet comes before all others: it is no reason against anybody. */
function rankOf(view: LiveView | undefined): number {
  return (view && seriesOf(view.observation)?.rank) ?? 0
}

function seriesNameOf(view: LiveView): string {
  return seriesOf(view.observation)?.name ?? 'of an unknown version'
}

/** Less than 0: the policies put `a` before `b`. */
export function comparePolicy({ spec }: Pick<Situation, 'spec'>, a: InstanceName, b: InstanceName): number {
  const [left, right] = [policyOf(spec, a), policyOf(spec, b)]
  return Number(right.promotion === 'prefer') - Number(left.promotion === 'prefer') || right.priority - left.priority
}

function compareOrdinal(a: MemberId, b: MemberId): number {
  return ordinalOf(instanceOf(a)) - ordinalOf(instanceOf(b))
}

function backlogOf({ view }: Promised): number {
  return backlogIn(view)
}

function backlogIn(view: LiveView | undefined): number {
  return channelOf(view)?.backlogTransactions ?? 0
}

/** The delay is lifted before it opens, which takes a moment more. */
function isDelayed(view: LiveView | undefined): number {
  return Number(delaySecondsOf(channelOf(view)) > 0)
}

function channelOf(view: LiveView | undefined): Channel | null {
  return view?.observation.server?.channel ?? null
}

function policyOf({ policies }: ClusterSpec, name: InstanceName): InstancePolicy {
  return policies[name] ?? { promotion: 'neutral', priority: 0 }
}
