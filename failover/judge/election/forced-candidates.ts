import { command, say, type CommandPart, type Sentence } from '#common/sentence/sentence.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import type { InstanceName, MemberId } from '#topology/snapshot/member.ts'
import type { StoredSummary } from '#topology/snapshot/observation.ts'
import { isUncopied, uncopied } from '../data/doubted-members.ts'
import { whyDoubted } from '../data/doubted-data.ts'
import { isServing, liveViews, viewNamed, type LiveView, type Situation } from '../situation.ts'
import { whyUnfit } from './election.ts'

/** The doubts about a candidate that a person accepts together with the loss: each field takes one doubt away. */
export interface Accepted {
  readonly forgetful?: false
  readonly fromThePast?: false
  readonly opened?: false
  /**
   * No doubt counts at all, neither these nor others: nobody can count what such a candidate lacks, and a person names
   * the candidate.
   */
  readonly anything?: true
}

export interface ForcedCandidates {
  readonly members: readonly MemberId[]
  readonly accepted: Accepted
}

/**
 * The candidates for a forced failover: every running instance that is no old copy, or old copies where nothing else is
 * left. A candidate that may have forgotten what it acknowledged, or was open for writes as a replica, leads only where
 * no better candidate may lead or could get what that candidate holds. A candidate whose GTIDs do not tell what it
 * holds leads only where nobody else is left, and a person names it.
 */
export function forcedCandidates(situation: Situation, to: InstanceName | null): ForcedCandidates {
  const known = knownCandidates(situation)
  const sound = known.filter(({ observation }) => !observation.stored.fromThePast)
  const asked = sound.length === 0 ? known : sound
  const least: Accepted = sound.length === 0 ? { fromThePast: false } : {}
  const more: Accepted = { ...least, forgetful: false, opened: false }
  if (someMayLead(situation, asked, least)) return { members: membersOf(asked), accepted: least }
  if (to === null || someMayLead(situation, asked, more)) return { members: membersOf(asked), accepted: more }
  return { members: membersOf(known), accepted: { anything: true } }
}

function knownCandidates({ record, snapshot, timings }: Situation): readonly LiveView[] {
  return liveViews(snapshot).filter(
    (view) =>
      view.past === undefined &&
      view.observation.member !== record.primary &&
      !view.observation.stored.seeding &&
      isServing(view, timings),
  )
}

function someMayLead(situation: Situation, views: readonly LiveView[], accepted: Accepted): boolean {
  return views.some((view) => whyUnfit(situation, view.observation.member, asItIs(view, accepted)) === null)
}

function membersOf(views: readonly LiveView[]): readonly MemberId[] {
  return views.map(({ observation }) => observation.member)
}

export function asItIs(view: LiveView, { anything, ...accepted }: Accepted): LiveView {
  const { observation } = view
  const stored = anything === true ? inNoDoubt(observation.stored) : observation.stored
  return { ...view, observation: { ...observation, stored: { ...stored, ...accepted } } }
}

function inNoDoubt({ gtidsReset: _, binlogOff: __, ...stored }: StoredSummary): StoredSummary {
  return {
    ...stored,
    forgetful: false,
    fromThePast: false,
    filterSeen: false,
    opened: false,
    copiedEpoch: Number.MAX_SAFE_INTEGER,
  }
}

/** The instance that leads by force only where a person names it; null where another instance may lead, or none may. */
export function onlyByName(situation: Situation): InstanceName | null {
  const { members, accepted } = forcedCandidates(situation, null)
  const asked = knownCandidates(situation).filter(({ observation }) => members.includes(observation.member))
  if (someMayLead(situation, asked, accepted)) return null
  const [first] = knownCandidates(situation)
    .filter((view) => someMayLead(situation, [view], { anything: true }))
    .toSorted((a, b) => holdsOf(b.observation).count() - holdsOf(a.observation).count())
  return first?.name ?? null
}

/** The command by which somebody leads all the same. */
export function byForce(situation: Situation): CommandPart {
  const named = onlyByName(situation)
  return command('failover', '--accept-loss', ...(named === null ? [] : ['--to', named]))
}

/** What nobody knows of an instance that a person lets lead as it is; null where its GTIDs tell what it holds. */
export function unknownOf({ record, snapshot }: Situation, to: InstanceName): Sentence | null {
  const observation = viewNamed(snapshot, to)?.observation
  if (observation == null) return null
  const why = whyDoubted(observation.stored) ?? (isUncopied(record, observation) ? uncopied : null)
  return why === null
    ? null
    : say`${to} is in doubt (${why}): what it lacks is unknown, and others count once seeded from it`
}
