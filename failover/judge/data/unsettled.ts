import type { MemberId } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Snapshot } from '#topology/snapshot/snapshot.ts'
import { standingOf } from './incarnations.ts'
import type { ClusterNotes, UnsettledNote } from '#failover/protocol/notes.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'

/**
 * A primary whose tail is unsettled is noted beside the record: its agent may be lost right after it said so, and the
 * manager that heard it too. A note counts while its member leads, in whatever epoch. The note goes only on the word of
 * that member's own agent, which settles by a marker of its own, or when a new primary holds the tail.
 */

/** More are not kept, the oldest goes first: a note of a member that leads no more decides nothing. */
const mostNotes = 16

export function isNotedUnsettled({ unsettled = [] }: ClusterNotes, member: MemberId): boolean {
  return unsettled.some((note) => note.member === member)
}

/** The notes with what the agents say of unsettled tails; the same notes where that is nothing new. */
export function withUnsettled(notes: ClusterNotes, heard: Snapshot, record: ClusterRecord | undefined): ClusterNotes {
  const before = notes.unsettled ?? []
  const observations = heard.instances.flatMap(({ observation }) => observation ?? [])
  const kept = before.filter((note) => !observations.some((observation) => isSettled(note, observation, notes)))
  const added = observations.flatMap((said) => (record && isNews(said, notes, record) ? [noteOf(said, record)] : []))
  if (added.length === 0 && kept.length === before.length) return notes
  const { unsettled: _before, ...others } = notes
  const unsettled = [...kept, ...added].slice(-mostNotes)
  // Left out where there is none: a manager of before knows no such field.
  return unsettled.length === 0 ? others : { ...others, unsettled }
}

/** Whether an agent says what is still to be noted, and may not wait: a successor would decide without it. */
export function saysUnsettled(notes: ClusterNotes, heard: Snapshot, record: ClusterRecord | undefined): boolean {
  if (record === undefined) return false
  return heard.instances.some(({ observation }) => observation !== null && isNews(observation, notes, record))
}

function isNews(observation: Observation, notes: ClusterNotes, record: ClusterRecord): boolean {
  const { member, stored } = observation
  if (!stored.unsettled || member !== record.primary || isNotedUnsettled(notes, member)) return false
  return standingOf(notes, observation) !== 'past'
}

/** A word from before the note, or of a volume that went back in time, settles nothing. */
function isSettled(note: UnsettledNote, observation: Observation, notes: ClusterNotes): boolean {
  const { member, stored, agentRun, sequence } = observation
  if (member !== note.member || stored.unsettled || standingOf(notes, observation) !== 'known') return false
  return agentRun !== note.agentRun || sequence > note.sequence
}

function noteOf({ member, agentRun, sequence }: Observation, { epoch }: ClusterRecord): UnsettledNote {
  return { member, epoch, agentRun, sequence }
}
