import { say } from '#common/sentence/sentence.ts'
import { noticesOpening } from '../doubts/opened.ts'
import { rest, type View } from '../instance/pass.ts'
import type { NextPass, Step } from './steps.ts'

/**
 * A promise in mode `group` means: this server is in no group of an earlier epoch, and says what it holds. A member is
 * killed, not asked to leave: without a majority a member may not be able to leave, and what it holds is on its disk.
 */
export function underPromise(view: View): NextPass | null {
  const { stored, process, course, server } = view
  const epoch = stored.promise
  if (course.promiseReport?.epoch === epoch || process !== 'running') return null
  if (server?.group === undefined) return view.looked ? null : { next: 'after a look' }
  const steps: readonly Step[] =
    server.group.state === 'OFFLINE' && view.jobs.startingGroup === null && !view.jobs.mayBeStartingGroup
      ? [{ do: 'reportOutside', epoch, isSeeding: stored.seeding }]
      : [{ do: 'kill' }]
  const sentence = say`outside of all groups under the promise of epoch ${epoch}`
  return { now: [{ fact: 'converged', done: false, sentence }], steps, next: 'at once' }
}

/**
 * Under a promise nobody but another hand opens this server, or has it join a group. What was written may be in no
 * binlog, and what was reported may be less than what is held now: it is reported again.
 */
export function staysClosed(view: View): NextPass {
  const { server, looked } = view
  if (server?.group === undefined) return rest
  const isOutside = server.group.state === 'OFFLINE'
  if (isOutside && server.superReadOnly) return rest
  // What was seen last may be from before it was closed.
  if (!looked) return { next: 'after a look' }
  return noticesOpening(view, !server.superReadOnly) ?? (isOutside ? closedAgain : endedAgain)
}

const isUnknown: NonNullable<NextPass['now']> = [{ fact: 'openedByHand' }]
const closedAgain: NextPass = { now: isUnknown, steps: [{ do: 'closeToEverybody' }], next: 'after a look' }
const endedAgain: NextPass = { now: isUnknown, steps: [{ do: 'kill' }], next: 'at once' }
