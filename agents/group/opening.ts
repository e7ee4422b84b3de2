import { ownMember } from '#topology/group/majority.ts'
import type { GroupState, ServerState } from '#topology/snapshot/observation.ts'
import { noticesOpening } from '../doubts/opened.ts'
import type { Life } from '../instance/life.ts'
import type { View } from '../instance/pass.ts'
import type { NextPass } from './steps.ts'

/**
 * What a look tells of a member that is not to write: that it is open, or that transactions began here although it was
 * closed at each look. Its agent has seen it closed before, and no view has made it primary since. While a group
 * changes its mode, or its primary, a member is closed a moment after it is called a secondary.
 */
export function noticesWriting(view: View, state: ServerState, group: GroupState): NextPass | null {
  const { life, stored } = view
  const isToWrite = ownMember(group, state.uuid)?.role === 'PRIMARY'
  if (life.stage.is !== 'following' || isToWrite || stored.opened) return null
  const opening = noticesOpening(view, !state.superReadOnly)
  if (opening !== null || group.state !== 'ONLINE' || life.proposed === null) return opening
  const began = (group.proposed ?? 0) - life.proposed.count
  if (began <= 0) return null
  const proposed = proposedBy(state, group)
  return { steps: [{ do: 'judgeBegun', began, from: life.proposed.end, proposed }], next: 'after a look' }
}

/** For the next look to be compared with. */
export function proposedBy({ binlogNumber, binlogPosition = 0 }: ServerState, group: GroupState): Life['proposed'] {
  return { count: group.proposed ?? 0, end: { file: binlogNumber, position: binlogPosition } }
}

/** Outside of the group, and closed: what is written here from now on another hand wrote. */
export function seenClosed({ life: { stage } }: Pick<View, 'life'>): Pick<NextPass, 'now'> {
  if (stage.is === 'following' && stage.as === 'outside') return {}
  return { now: [{ fact: 'made', stage: { is: 'following', step: 'started', as: 'outside', sinceMs: 0 } }] }
}
