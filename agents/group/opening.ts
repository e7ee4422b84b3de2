import type { NextPass, View } from '../instance/pass.ts'
import { ownMember } from '../../topology/group/majority.ts'
import type { GroupState, ServerState } from '../../topology/snapshot/observation.ts'

/**
 * What a look tells of a member that is not to write: that it is open, or that transactions began here. Its agent has
 * seen it closed before, and no view has made it primary since. While a group changes its mode, or its primary, a
 * member is closed a moment after it is called a secondary.
 */
export function openingOf({ life }: Pick<View, 'life'>, group: GroupState, { uuid, superReadOnly }: ServerState) {
  const isToWrite = ownMember(group, uuid)?.role === 'PRIMARY'
  const knows = life.stage.is === 'following' && !isToWrite
  const began = knows && group.state === 'ONLINE' ? (group.proposed ?? 0) - (life.proposed ?? Infinity) : 0
  return { isOpen: knows && !superReadOnly, wrote: Math.max(0, began) }
}

/** Outside of the group, and closed: what is written here from now on another hand wrote. */
export function seenClosed({ life: { stage } }: Pick<View, 'life'>): Pick<NextPass, 'now'> {
  if (stage.is === 'following' && stage.as === 'outside') return {}
  return { now: { life: { stage: { is: 'following', step: 'started', as: 'outside', sinceMs: 0 } } } }
}
