import { counted, noneOr, say, type Said, type Sentence } from '#common/sentence/sentence.ts'
import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import { electedSetOf, outsiders } from './elected-set.ts'
import { elect } from './election.ts'
import { salvages } from '#failover/protocol/mode-name.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { lostByPrimary } from '../data/lost-by-primary.ts'
import { promisedBy, type Promised } from './promised.ts'
import type { Situation } from '../situation.ts'
import { isNotedUnsettled } from '../data/unsettled.ts'

/**
 * The arithmetic of durability (docs/why/safety.md, "The invariant"): while |S| ≥ k, every acknowledged write is held
 * by the primary and by at least k members of S; so any |S| − k + 1 members of S include a holder of everything
 * acknowledged.
 */

/** How many members of S must promise before an epoch is revoked through S; null when S alone can never do it. */
export function revocationQuorum(record: Pick<ClusterRecord, 'syncSet' | 'acks'>): number | null {
  const { syncSet, acks } = record
  return syncSet.length >= acks && acks > 0 ? syncSet.length - acks + 1 : null
}

export interface Revocation {
  readonly revoked: boolean
  /**
   * Members of S (and the primary, where it counts) that promised. Outsiders too, where none of those may lead and
   * holds what the primary was elected for.
   */
  readonly promised: readonly Promised[]
  /** Everything that may have been acknowledged. */
  readonly union: GtidSet
  /** What is missing, as a sentence; '' when revoked. */
  readonly missing: Said
}

/**
 * Whether the record's epoch is revoked by promises of `epoch`: |S| − k + 1 members of S, or the primary's own agent.
 * While the primary's tail is unsettled its own agent must be among them, and its binlog belongs to the union.
 */
export function revocation(situation: Situation, epoch: number): Revocation {
  const { record } = situation
  const members = record.syncSet.flatMap((member) => promisedBy(situation, member, epoch) ?? [])
  const remembering = members.filter(({ view }) => !view.observation.stored.forgetful)
  const primary = promisedBy(situation, record.primary, epoch)
  const quorum = revocationQuorum(record)
  const byPrimary = speaksForItself(primary) && lostByPrimary(situation) === null
  const bySyncSet = quorum !== null && remembering.length >= quorum
  const unsettled = isUnsettled(situation)
  const revoked = unsettled ? byPrimary : byPrimary || bySyncSet
  const primaryCounts = byPrimary && (unsettled || !bySyncSet)
  const voting = primaryCounts ? [...remembering, primary] : remembering
  // What the primary was elected for was acknowledged before its epoch, and may be missing from everybody who votes.
  const elected = electedSetOf(record)
  const union = voting.reduce((all, { holds }) => all.union(holds), elected)
  const promised = [...voting, ...helping(situation, { voting, union, epoch })]
  return { revoked, promised, union, missing: revoked ? '' : missingSentence(situation, remembering.length, unsettled) }
}

/**
 * A primary whose GTIDs were reset cannot say what it acknowledged. A primary that ran without a binary log can, as far
 * as anybody can: what it committed meanwhile has no name.
 */
function speaksForItself(primary: Promised | undefined): primary is Promised {
  if (primary?.report.asPrimary !== true) return false
  const { gtidsReset, binlogOff } = primary.view.observation.stored
  return gtidsReset !== true || binlogOff === true
}

/**
 * Outsiders, where nobody who votes holds all that the primary was elected for, and where the dead primary gives what
 * one lacks. What outsiders hold beside the union was acknowledged to nobody.
 */
function helping(
  situation: Situation,
  { voting, union, epoch }: { readonly voting: readonly Promised[]; readonly union: GtidSet; readonly epoch: number },
): readonly Promised[] {
  const isHeld = (): boolean => elect(situation, voting, union, { to: null, leaving: [] }).winner !== null
  if (!salvages(situation.spec) && (electedSetOf(situation.record).isEmpty() || isHeld())) return []
  return outsiders(situation).flatMap((member) => promisedBy(situation, member, epoch) ?? [])
}

/** The primary may have acknowledged what no replica holds, as far as this manager last heard or any manager noted. */
export function isUnsettled({ snapshot, record, notes }: Situation): boolean {
  const view = snapshot.instances.find((candidate) => candidate.observation?.member === record.primary)
  return view?.observation?.stored.unsettled === true || isNotedUnsettled(notes, record.primary)
}

function missingSentence(situation: Situation, given: number, unsettled: boolean): Sentence {
  const { record } = situation
  if (unsettled) return say`its agent must promise: it may have acknowledged what no replica holds`
  const quorum = revocationQuorum(record)
  if (record.acks === 0) return say`only its agent knows which writes count`
  if (quorum === null) {
    const { syncSet, acks } = record
    return say`only its agent knows which writes count (acks ${acks}, sync set of ${syncSet.length})`
  }
  return say`${counted(quorum, 'member')} of the sync set must promise, ${noneOr(given)} did`
}
