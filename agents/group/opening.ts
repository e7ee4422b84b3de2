import { describeError } from '#common/errors/errors.ts'
import { counted } from '#common/text/words.ts'
import { ownMember } from '#topology/group/majority.ts'
import type { BinlogPlace, GroupState, ServerState } from '#topology/snapshot/observation.ts'
import { doubtOpening, noticesOpening } from '../doubts/opened.ts'
import type { Life } from '../instance/life.ts'
import type { NextPass, Step, View } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'
import type { BegunHere } from '../ports/volume.ts'

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
  return began > 0
    ? { steps: [judgeBegun(began, life.proposed.end, proposedBy(state, group))], next: 'after a look' }
    : null
}

/** For the next look to be compared with. */
export function proposedBy({ binlogNumber, binlogPosition = 0 }: ServerState, group: GroupState): Life['proposed'] {
  return { count: group.proposed ?? 0, end: { file: binlogNumber, position: binlogPosition } }
}

/**
 * FLUSH, ANALYZE and OPTIMIZE are transactions of their own that a closed server lets pass: they change no data, and
 * the group brings them to everybody. Whatever else began, or cannot be found, was written.
 */
function judgeBegun(began: number, from: BinlogPlace, proposed: Life['proposed']): Step {
  return {
    name: 'judge what began here',
    run: async (parts) => {
      const { all, changing } = await readBegun(parts, began, from)
      if (changing > 0 || all < began) await doubtOpening(parts, `${counted(began, 'transaction')} began here`)
      return { fact: 'beganHere', proposed }
    },
  }
}

/** The group counts a transaction before that is in the binlog. */
const [tries, betweenMs] = [20, 50]

async function readBegun({ volume, world, notices }: Parts, began: number, from: BinlogPlace): Promise<BegunHere> {
  try {
    for (let left = tries; ; left -= 1) {
      const found = await volume.begunHere(from)
      if (found.all >= began || found.changing > 0 || left === 0) return found
      await world.timers.sleep(betweenMs)
    }
  } catch (error) {
    notices.add('BegunNotRead', `the binlogs do not tell what began here: ${describeError(error)}`)
    return { all: 0, changing: 0 }
  }
}

/** Outside of the group, and closed: what is written here from now on another hand wrote. */
export function seenClosed({ life: { stage } }: Pick<View, 'life'>): Pick<NextPass, 'now'> {
  if (stage.is === 'following' && stage.as === 'outside') return {}
  return { now: [{ fact: 'made', stage: { is: 'following', step: 'started', as: 'outside', sinceMs: 0 } }] }
}
