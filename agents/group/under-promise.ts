import { say } from '#common/sentence/sentence.ts'
import type { View } from '../instance/pass.ts'
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
