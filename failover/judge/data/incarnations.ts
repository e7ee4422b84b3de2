import type { MemberId } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { InstanceView, Snapshot } from '#topology/snapshot/snapshot.ts'
import type { ClusterNotes } from '#failover/protocol/notes.ts'

/**
 * A volume that went back in time (a snapshot put back) forgot what it promised and received, and does not know it. So
 * each incarnation of an agent's disk is written into the notes before anything relies on it; one whose earlier ones do
 * not lead back to the newest that was noted is somebody new.
 */

/**
 * `known` as the notes say · `new` follows from what they say, or they say nothing of this member (a new volume, or
 * notes that were lost) · `late` the word of an earlier run · `past` went back in time.
 */
export type Standing = 'known' | 'new' | 'late' | 'past'

/** So many incarnations of a member are noted: enough to know a late word of an earlier run for what it is. */
const notedPerMember = 8
/** Members that are no more are forgotten, the oldest first. */
const notedMembers = 64

export function standingOf({ incarnations }: ClusterNotes, { member, stored }: Observation): Standing {
  const noted = incarnations[member] ?? []
  const [newest] = noted
  const { incarnation, earlierIncarnations } = stored
  if (newest === incarnation) return 'known'
  if (noted.includes(incarnation)) return 'late'
  const leadsBack = newest === undefined || earlierIncarnations === undefined || earlierIncarnations.includes(newest)
  return leadsBack ? 'new' : 'past'
}

/** The notes with this incarnation as its member's newest, if it follows from them; else the same notes. */
export function withIncarnation(notes: ClusterNotes, observation: Observation): ClusterNotes {
  if (standingOf(notes, observation) !== 'new') return notes
  const { member, stored } = observation
  const { [member]: noted = [], ...others } = notes.incarnations
  const kept = Object.entries(others).slice(1 - notedMembers)
  return {
    ...notes,
    incarnations: {
      ...(Object.fromEntries(kept) as ClusterNotes['incarnations']),
      [member]: [stored.incarnation, ...noted].slice(0, notedPerMember),
    },
  }
}

/** Whose incarnation is still to be noted. */
export function unnoted(snapshot: Snapshot, notes: ClusterNotes): readonly Observation[] {
  return snapshot.instances.flatMap(({ observation }) =>
    observation && standingOf(notes, observation) === 'new' ? [observation] : [],
  )
}

/**
 * The snapshot as it may be believed. A volume that went back in time is no member that the record knows. An agent run
 * that is not noted yet is not there yet, with one exception: a run that was noted and goes on has promised something,
 * and its promise is noted soon after.
 * @param runs agent runs of which an incarnation was noted
 */
export function believed(snapshot: Snapshot, notes: ClusterNotes, runs: ReadonlySet<string>): Snapshot {
  return { instances: snapshot.instances.map((view) => believedView(view, notes, runs)) }
}

function believedView(view: InstanceView, notes: ClusterNotes, runs: ReadonlySet<string>): InstanceView {
  const { observation } = view
  if (observation === null) return view
  const standing = standingOf(notes, observation)
  if (standing === 'known' || (standing === 'new' && runs.has(observation.agentRun))) return view
  return standing === 'past' ? asNobody(view, observation) : { ...view, reachable: false }
}

function asNobody(view: InstanceView, observation: Observation): InstanceView {
  const nobody: MemberId = `${observation.member}~${observation.stored.incarnation}`
  return {
    ...view,
    past: observation.member,
    observation: { ...observation, member: nobody, promiseReport: null, markedRevision: 0, binlogSet: null },
  }
}

/** The notes without a word of this member: a person vouches for the volume as it is. */
export function withoutIncarnations(notes: ClusterNotes, member: MemberId): ClusterNotes {
  const { [member]: _, ...incarnations } = notes.incarnations
  return { ...notes, incarnations }
}
