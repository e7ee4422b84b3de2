import { command, counted, say, type Said } from '#common/sentence/sentence.ts'
import { instanceOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import { fetchFirst, isFetching } from '../steps/fetching.ts'
import { promiseAction } from '../steps/promising.ts'
import { unknownLoss } from '../protocol/notes.ts'
import { nextRecord, type ClusterRecord, recordedMembers } from '../protocol/record.ts'
import { commitTo, dropIntent } from '../steps/commit.ts'
import { step, type FlowStep } from '../steps/step.ts'
import type { Revocation } from '../judge/election/durability.ts'
import { lostByPrimary } from '../judge/data/lost-by-primary.ts'
import { promisedBy, type Promised } from '../judge/election/promised.ts'
import { asItIs, forcedCandidates, onlyByName, unknownOf, type Accepted } from '../judge/election/forced-candidates.ts'
import { elect, whyUnfit, type Election } from '../judge/election/election.ts'
import { everybodyBut, isUncopied } from '../judge/data/doubted-members.ts'
import { unnoted } from '../judge/data/incarnations.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { liveViews, names, wasHeardLately, type LiveView, type Situation } from '../judge/situation.ts'
import type { Verdict } from '../judge/primary/verdict.ts'

/**
 * A failover that a person forces although something acknowledged may be lost: every running instance promises. The
 * instance that holds the most leads, or the instance that was named, which fetches what another one that promised has.
 * What could be lost is in the sentence. While a safe failover is possible, the safe one is done.
 * @param safely a step of the failover that loses nothing; null where that cannot be
 */
export function forcedFailoverStep(
  situation: Situation,
  verdict: Verdict,
  to: InstanceName | null,
  safely: () => FlowStep | null,
): FlowStep {
  const { record } = situation
  const next = record.epoch + 1
  const taken = primaryAsItIs(situation, to)
  if (taken !== null) return taken
  const safe = safely()
  if (safe !== null && !safe.blocked && !givesBack(record, safe)) return safe
  const unbelieved = notYetNoted(situation)
  if (unbelieved.length > 0)
    return step(say`forced failover: waiting until the start of ${names(unbelieved)} is noted`, [], {
      revisitMs: situation.timings.heartbeatMs,
    })
  const refused = to === null ? refuseUnnamed(situation) : null
  if (refused !== null) return refused
  const { members, accepted } = forcedCandidates(situation, to)
  const promised = members.flatMap((member) => promisedBy(situation, member, next) ?? [])
  const asked = members.filter((member) => promisedBy(situation, member, next) === undefined)
  if (asked.length > 0) {
    return step(
      say`forced failover: asking ${names(asked)} to promise epoch ${next}`,
      asked.map((member) => promiseAction(situation, member, next)),
      { revisitMs: 500 },
    )
  }
  return electByForce(situation, verdict, { promised, accepted, to })
}

/**
 * A failover that loses nothing ends with the same primary: nobody could get what that one holds. Whoever accepted the
 * loss would be asked for promises again after that, for ever.
 */
function givesBack({ epoch, primary }: ClusterRecord, { actions }: FlowStep): boolean {
  return actions.some(
    (action) => action.kind === 'commit' && action.next.epoch > epoch && action.next.primary === primary,
  )
}

/**
 * A loss was accepted, and nobody knows how large the loss with this instance is: a person accepts that by naming the
 * instance.
 */
function refuseUnnamed(situation: Situation): FlowStep | null {
  const name = onlyByName(situation)
  if (name === null) return null
  const sentence = say`no forced failover: ${unknownOf(situation, name) ?? name}; to let it lead: ${command('failover', '--accept-loss', '--to', name)}`
  return step(sentence, [], { blocked: true, revisitMs: 1_000 })
}

/**
 * Heard, and believed as soon as the notes are written, which takes a moment: what one of these holds is not given up.
 */
function notYetNoted(situation: Situation): readonly MemberId[] {
  const heard = situation.snapshot.instances.filter((view) => wasHeardLately(view, situation))
  return unnoted({ instances: heard }, situation.notes).map(({ member }) => member)
}

interface Forced {
  readonly promised: readonly Promised[]
  readonly accepted: Accepted
  readonly to: InstanceName | null
}

function electByForce(situation: Situation, verdict: Verdict, { promised, accepted, to }: Forced): FlowStep {
  // Where nothing better is left, whoever accepts the loss accepts that too.
  const electable = promised.map((one) => ({ ...one, view: asItIs(one.view, accepted) }))
  const most = electable
    .filter(({ member, view }) => whyUnfit(situation, member, view) === null)
    .reduce((best, { holds }) => (holds.isLargerThan(best) ? holds : best), GtidSet.empty)
  const election = elect(situation, electable, to === null ? most : GtidSet.empty, { to, leaving: [] })
  const { winner, reasons } = election
  if (winner === null)
    return step(say`forced failover: nobody can be promoted`, [], { blocked: true, reasons, revisitMs: 1_000 })
  const genuine = promised.filter(({ view }) => isGenuine(situation, view))
  const union = genuine.reduce((all, { holds }) => all.union(holds), winner.holds)
  // Its GTIDs do not tell what it holds: what it fetched it might apply to rows that have all of that already.
  const fetch =
    accepted.anything === true
      ? dropOwnIntent(situation)
      : fetchStep(situation, { promised: genuine, union }, { ...election, winner })
  if (fetch !== null) return fetch
  const isMoreHeld = to === null && !winner.holds.contains(union)
  if (isMoreHeld && accepted.forgetful === undefined && genuine.some(isForgetfulHolderOf(union)))
    return electByForce(situation, verdict, { promised, accepted: { ...accepted, forgetful: false }, to })
  if (isMoreHeld) return refuseToGiveUp(situation, winner, union, election)
  return commitByForce(situation, verdict, { winner, reasons, promised, union })
}

/** A loss was accepted of what nobody has who runs. To give up more than that, a person names who is to lead. */
function refuseToGiveUp(
  { timings }: Situation,
  { member, holds }: Promised,
  union: GtidSet,
  { reasons }: Election,
): FlowStep {
  const lacking = counted(union.subtract(holds).count(), 'transaction')
  const name = instanceOf(member)
  const use = command('failover', '--accept-loss', '--to', name)
  const sentence = say`no forced failover: ${name} lacks ${lacking} that others hold who run, and could not fetch them; to give them up, use: ${use}`
  return step(sentence, [], { blocked: true, reasons, revisitMs: timings.unreachableMs })
}

/** What such an instance forgot is given up in any case: better than all that it holds, which nobody could fetch. */
function isForgetfulHolderOf(union: GtidSet) {
  return ({ holds, view }: Promised): boolean => view.observation.stored.forgetful && holds.contains(union)
}

/** What it says that it holds are the transactions of this cluster, and whole. */
function isGenuine({ record }: Situation, { observation }: LiveView): boolean {
  const { gtidsReset, fromThePast, filterSeen } = observation.stored
  return gtidsReset !== true && !fromThePast && !filterSeen && !isUncopied(record, observation)
}

/** A fetch that is late could still change what was counted (model: NO_INTENT). */
function dropOwnIntent(situation: Situation): FlowStep | null {
  return situation.record.intent === null ? null : dropIntent(situation, say`nothing is to be fetched`)
}

/** What another one holds who promised is not given up while it can be fetched; null where nothing can be. */
function fetchStep(
  situation: Situation,
  givers: Pick<Revocation, 'promised' | 'union'>,
  election: Election & { readonly winner: Promised },
): FlowStep | null {
  const { winner, reasons } = election
  const { intent } = situation.record
  if (winner.holds.contains(givers.union))
    return intent === null || intent.candidate === winner.member
      ? null
      : dropIntent(situation, say`${instanceOf(winner.member)} holds everything`)
  if (isFetching(situation))
    return step(say`forced failover: waiting for what is being fetched`, [], { reasons, revisitMs: 500 })
  const fetch = fetchFirst(situation, givers, winner, election)
  if (fetch !== undefined) return fetch
  // A fetch that is late could still change what was counted (model: NO_INTENT).
  return intent === null ? null : dropIntent(situation, say`nobody could give what was to be fetched`)
}

interface Elected extends Pick<Election, 'reasons'> {
  readonly winner: Promised
  readonly promised: readonly Promised[]
  readonly union: GtidSet
}

function commitByForce(
  situation: Situation,
  verdict: Verdict,
  { winner, reasons, promised, union }: Elected,
): FlowStep {
  const { record } = situation
  const missing = recordedMembers(record).filter((member) => !promised.some((one) => one.member === member))
  const lacking = union.subtract(winner.holds)
  const holders = promised.filter(({ holds }) => !lacking.intersect(holds).isEmpty()).map(({ member }) => member)
  const known = lacking.isEmpty() ? '' : say`, and so is what ${names(holders)} could not give it`
  const name = instanceOf(winner.member)
  const unknown = unknownOf(situation, name)
  const doubt = unknown === null ? '' : say`; ${unknown}`
  const owned = say`writes that only ${names(missing)} ${missing.length === 1 ? say`holds` : say`hold`}`
  const forgotten = whatIsForgotten(promised)
  const why = say`forced failover to ${name}: ${owned} are given up${known}${forgotten}${doubt}; ${verdict.sentence}`
  const next = commitTo(situation, winner, promised, winner.holds)
  // By GTIDs nobody else can be told apart from a copy of it.
  const alone = unknown === null ? {} : { syncSet: [], doubted: everybodyBut(situation, winner.member) }
  const isCounted = missing.length === 0 && unknown === null && whatIsForgotten(promised) === ''
  const loss = isCounted ? { transactions: lacking.count(), unheardSeconds: 0 } : unknownLoss
  return step(why, [{ kind: 'commit', next: { ...next, ...alone }, why, loss }], { reasons })
}

/** The primary lost something, and a person takes it all the same: whoever holds more counts no more. */
function primaryAsItIs(situation: Situation, to: InstanceName | null): FlowStep | null {
  const { elected: _elected, ...record } = situation.record
  const gone = to === instanceOf(record.primary) ? lostByPrimary(situation) : null
  if (gone === null) return null
  const promises = liveViews(situation.snapshot).map(({ observation }) => observation.stored.promise)
  const epoch = Math.max(record.epoch + 1, ...promises)
  const why = say`forced failover to ${to}, which is taken as it is: ${counted(gone.lost.count(), 'transaction')} that ${gone.heldBy} received from it are given up`
  const next = nextRecord(record, { epoch, syncSet: [], leaving: [], acksWanted: record.acks, intent: null })
  return step(why, [{ kind: 'commit', next, why, loss: { transactions: gone.lost.count(), unheardSeconds: 0 } }])
}

function whatIsForgotten(promised: readonly Promised[]): Said {
  const forgetful = promised.filter(({ view }) => view.observation.stored.forgetful).map(({ member }) => member)
  return forgetful.length === 0 ? '' : say`, and so is what ${names(forgetful)} forgot`
}
