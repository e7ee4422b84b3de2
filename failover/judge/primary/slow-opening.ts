import { counted, joined, noneOr, say, type Sentence } from '#common/sentence/sentence.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { instanceOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import { describeOpening, leftToApply } from '#topology/snapshot/opening.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { isUnsettled, revocationQuorum } from '../election/durability.ts'
import { electedSetOf } from '../election/elected-set.ts'
import { preferredOf, whyUnfit } from '../election/election.ts'
import { departing, isServing, liveView, type Situation } from '../situation.ts'

/** A primary that was elected and does not take writes yet: it applies what it had received. */
export interface Opening {
  readonly sentence: Sentence
  /** The instance to be elected in its place; null while Regent waits for the primary. */
  readonly successor: InstanceName | null
  /** Look again after this long. */
  readonly revisitMs: number
}

/**
 * A candidate with at most this part of the primary's backlog left to apply is worth another election. So each further
 * candidate has ten times less to wait for, and two slow candidates do not take turns.
 */
const worthPart = 10

const lookAgainMs = 1_000

/** How the opening of the primary stands, by the word of its own agent; null for a primary that has opened. */
export function openingOf(situation: Situation, seen: Observation): Opening | null {
  const { record, timings } = situation
  const { assignment } = seen.stored
  const name = instanceOf(record.primary)
  const isTold = assignment?.role === 'primary' && assignment.epoch === record.epoch
  // Open, it goes on from an earlier epoch of its own.
  if (!isTold && seen.server?.superReadOnly === true)
    return { sentence: say`${name} is elected and has not begun to open`, successor: null, revisitMs: lookAgainMs }
  const told = describeOpening(seen)
  if (told === null || seen.openingMs === undefined || !isTold) return null
  const sentence = say`${name} ${told}`
  const leftMs = timings.slowOpeningMs - seen.openingMs
  if (leftMs > 0) return { sentence, successor: null, revisitMs: Math.min(leftMs, lookAgainMs) }
  return slowOpening(situation, seen, sentence)
}

function slowOpening(situation: Situation, seen: Observation, sentence: Sentence): Opening {
  const successor = successorOf(situation, seen)
  return 'refusal' in successor
    ? {
        sentence: say`${sentence}; nobody else is taken: ${successor.refusal}`,
        successor: null,
        revisitMs: lookAgainMs,
      }
    : { sentence, successor: successor.name, revisitMs: lookAgainMs }
}

/**
 * The successor of a primary that opens too slowly: a member of the sync set that holds the whole set the primary was
 * elected for, and has nothing left to apply, or at most a tenth of what the primary has. A successor is named only
 * where the sync set alone can revoke the epoch: the slow primary goes on applying until somebody else leads.
 */
function successorOf(
  situation: Situation,
  primary: Observation,
): { readonly name: InstanceName } | { readonly refusal: Sentence } {
  const { record, snapshot } = situation
  if (electedSetOf(record).isEmpty()) return { refusal: say`the record does not say what it was elected for` }
  if (isUnsettled(situation)) return { refusal: say`its last writes may have been acknowledged` }
  const quorum = revocationQuorum(record)
  const able = record.syncSet.filter((member) => canVote(situation, member)).length
  if (quorum === null || able < quorum)
    return {
      refusal:
        quorum === null
          ? say`too few are in the sync set`
          : say`${counted(quorum, 'member')} of the sync set must promise and ${noneOr(able)} can`,
    }
  const most = Math.floor(leftToApply(primary).count() / worthPart)
  const reasons = snapshot.instances
    .filter(({ name }) => name !== instanceOf(record.primary))
    .map(({ name }) => [name, whyNot(situation, name, most)] as const)
  const fit = record.syncSet.filter((member) =>
    reasons.some(([name, why]) => name === instanceOf(member) && why === null),
  )
  const done = fit.filter((member) => leftOf(situation, member) === 0)
  const best = preferredOf(situation, done.length > 0 ? done : fit)
  return best === null
    ? {
        refusal:
          joined(
            reasons.map(([name, why]) => say`${name} ${why ?? 'is not preferred'}`),
            ', ',
          ) || say`there is nobody else`,
      }
    : { name: instanceOf(best) }
}

function canVote({ snapshot, timings }: Situation, member: MemberId): boolean {
  const view = liveView(snapshot, member)
  return isServing(view, timings) && !view.observation.stored.seeding && !view.observation.stored.forgetful
}

function leftOf({ snapshot }: Situation, member: MemberId): number {
  const view = liveView(snapshot, member)
  return view === undefined ? Infinity : leftToApply(view.observation).count()
}

/**
 * Why an instance is not elected in its place, to be read behind its name; null where it can be. By an older look an
 * instance lacks more: whoever asks looks again.
 */
function whyNot(situation: Situation, name: InstanceName, most: number): Sentence | null {
  const { record, snapshot } = situation
  const member = record.syncSet.find((one) => instanceOf(one) === name)
  if (member === undefined) return say`is not in the sync set`
  const view = liveView(snapshot, member)
  if (view === undefined || !canVote(situation, member))
    return say`does not answer, or may have forgotten what it received`
  if (departing(situation).includes(name)) return say`is about to leave`
  const unfit = whyUnfit(situation, member, view)
  if (unfit !== null) return say`may not lead: ${unfit}`
  const lacks = electedSetOf(record).subtract(holdsOf(view.observation)).count()
  if (lacks > 0) return say`lacks ${counted(lacks, 'transaction')}`
  const left = leftToApply(view.observation).count()
  return left === 0 || left <= most ? null : say`has ${counted(left, 'transaction')} to apply itself`
}
