import { say } from '#common/sentence/sentence.ts'
import type { LeavingAnswer } from '#failover/protocol/word.ts'
import { isDown } from '../ports/process.ts'
import { learn, type Learner } from './learn.ts'
import type { Parts } from './parts.ts'

/** A wish to leave is good for so long, and is said again more often: it ends with the caller who has it. */
const wishMs = 3_000
export const sayAgainMs = 500

type LeavingParts = Pick<Parts, 'pod' | 'process' | 'course' | 'file' | 'world'>

/**
 * A caller wants this instance to leave its cluster, or to come back: `memberLeave` and `memberJoin`. An instance that
 * leaves hands over, is let out of the sync set or the group, and stops its server (`termination.ts`). A wish that is
 * said no more before the server stops is taken back.
 */
export function hearLeaving(parts: Learner & LeavingParts, leaves: boolean): LeavingAnswer {
  const leavesUntilMs = parts.world.clock.monotonicMs() + wishMs
  learn(parts, leaves ? { fact: 'leaveAsked', leavesUntilMs } : { fact: 'stayAsked' })
  return leaves ? hasLeft(parts) : hasJoined(parts)
}

/**
 * Whether the instance is to leave without being told to end. A primary whose mysqld died is not: another one takes
 * over, or that mysqld starts again.
 */
export function isLeaving({ pod, process, file, world }: LeavingParts): boolean {
  if (pod.hasLeft) return true
  const isDeadPrimary = isDown(process) && file.current.assignment?.role === 'primary'
  return !isDeadPrimary && world.clock.monotonicMs() < pod.leavesUntilMs
}

/** Whether mysqld is to stop for a restart, or stops for one. A wish that comes to nothing in time is over. */
export function isRestarting({ pod, world }: Pick<Parts, 'pod' | 'world'>): boolean {
  if (pod.restartsUntilMs === null) return false
  return pod.termination?.stopping === true || world.clock.monotonicMs() < pod.restartsUntilMs
}

function hasLeft({ pod, process, course }: LeavingParts): LeavingAnswer {
  if (pod.hasLeft && isDown(process)) return { done: true, sentence: say`it has left, and its mysqld is stopped` }
  return { done: false, sentence: pod.hasLeft ? say`its mysqld stops` : course.converged.sentence }
}

/** A member that counts, or the primary, and as the record wants it. */
function hasJoined({ pod, process, course, file }: LeavingParts): LeavingAnswer {
  const { assignment } = file.current
  if (pod.termination !== null) return { done: false, sentence: say`it was told to end` }
  if (process.state !== 'running') return { done: false, sentence: say`mysqld is ${process.state}` }
  if (assignment === null) return { done: false, sentence: say`no manager has told it yet what to be` }
  if (!course.converged.done) return { done: false, sentence: course.converged.sentence }
  return assignment.role === 'primary' || assignment.counted
    ? { done: true, sentence: say`it is a member that counts` }
    : { done: false, sentence: say`it follows, and does not count yet` }
}
