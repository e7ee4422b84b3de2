import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import { step, type NextPass, type Step, type View } from '../instance/pass.ts'

/**
 * A promise in mode `group` means: this server is in no group of an earlier epoch, and says what it holds. A member is
 * killed, not asked to leave: without a majority a member may not be able to leave, and what it holds is on its disk.
 */
export function underPromise(view: View): NextPass | null {
  const { stored, process, course, server } = view
  const epoch = stored.promise
  if (course.promiseReport?.epoch === epoch || process !== 'running') return null
  if (server?.group === undefined) return view.looked ? null : { next: 'after a look' }
  const steps =
    server.group.state === 'OFFLINE' && view.jobs.startingGroup === null && !view.jobs.mayBeStartingGroup
      ? [reportHeld(epoch, stored.seeding)]
      : [step('leave at once', ({ process: mysqld }) => mysqld.kill())]
  const sentence = `outside of every group under the promise of epoch ${epoch}`
  return { now: [{ fact: 'converged', done: false, sentence }], steps, next: 'at once' }
}

function reportHeld(epoch: number, isSeeding: boolean): Step {
  return {
    name: 'report what is held',
    run: async ({ server, volume }) => {
      const { executed, received } = isSeeding ? { executed: '', received: '' } : await server.readHolds()
      await volume.syncRelayLogs()
      const holds = unionOf([executed, received]).toString()
      const report = { epoch, holds, executed: parseGtidSet(executed).toString(), asPrimary: false }
      return { fact: 'reported', report }
    },
  }
}
