import type { Assignment, PrimaryAssignment, ReplicaAssignment } from '#failover/protocol/assignment.ts'
import type { Converger } from '../converge/converger.ts'
import { keptOfElected, rememberElected } from '../doubts/elected-set.ts'
import { forgetfulAs } from '../doubts/forgetful.ts'
import { judgeErrant } from '../doubts/judged-errant.ts'
import { lifeOf } from '../instance/life.ts'
import type { Parts } from '../instance/parts.ts'
import { notedNow, type StoredState } from '../instance/stored-state.ts'

/** Stores an assignment and makes a first pass at it. Peers, gates and source are exactly what it says. */
export async function obeyAssignment(parts: Parts, converger: Converger, order: Assignment): Promise<void> {
  const { file, told, course, observer, changed } = parts
  const now = file.current.assignment
  const isNew = now?.epoch !== order.epoch || now.role !== order.role
  await hear(parts, converger, { order, now })
  await file.update({
    promise: Math.max(file.current.promise, order.epoch),
    revision: order.revision,
    assignment: withoutVolatile(order),
    ...notedBy(parts, order),
    ...(order.role === 'primary' ? converger.mode.marksOfPrimary() : {}),
  })
  told.trustsAssignment = true
  if (isNew) course.converged = { revision: 0, done: false, sentence: 'newly assigned' }
  void judgeErrant(parts, () => {
    changed()
    converger.wake()
  })
  await converger.pass()
  if (observer.server !== null) void observer.refresh().catch(() => undefined)
}

/** What the order says and the disk does not keep. Another role ends what belongs to the one before. */
async function hear(
  parts: Parts,
  converger: Converger,
  { order, now }: { readonly order: Assignment; readonly now: Assignment | null },
): Promise<void> {
  const newEpoch = now?.epoch !== order.epoch
  if (newEpoch && now?.role === 'primary' && order.role === 'replica') await converger.mode.stepDown()
  dropPromiseReport(parts)
  if (order.role === 'primary') hearOfLeading(parts, order, now)
  else hearOfSource(parts, order, newEpoch)
  rememberElected(parts, order, newEpoch)
}

function dropPromiseReport({ course, observer }: Parts): void {
  if (course.promiseReport) observer.knownToHold(course.promiseReport.holds)
  course.promiseReport = null
  course.receiverKept = false
}

function hearOfLeading(parts: Parts, order: PrimaryAssignment, now: Assignment | null): void {
  const { told, doubts, file } = parts
  // A server that its own agent killed to start it again needs nobody's word.
  told.errant = ''
  told.mayRestart = order.mayRestart || lifeOf(parts).isRestarted
  // Who is promoted says what is what from now on; of a primary that goes on nobody can tell.
  doubts.gtidsReset = now?.role === 'primary' && (doubts.gtidsReset || file.current.gtidsReset)
}

/**
 * Unknown ('') is not "nothing": a tail compared with nothing would be cut as a whole. Within an epoch what was known
 * before still holds.
 */
function hearOfSource(
  parts: Parts,
  { sourceHolds, catchUpFor, errant = '' }: ReplicaAssignment,
  newEpoch: boolean,
): void {
  const { told, doubts } = parts
  told.errant = errant
  // What another primary acknowledged the new one has, and more of it may be nowhere any more.
  if (newEpoch) {
    told.catchUpTo = null
    doubts.thrownAway = ''
  }
  if (sourceHolds === '' && !newEpoch) return
  told.sourceHolds = sourceHolds === '' ? null : sourceHolds
  if (catchUpFor === forgetfulAs(parts)) told.catchUpTo = told.sourceHolds
}

/**
 * Sets that grow with the data are not kept on disk, a permission to restart is for once, and the next start of the
 * agent is another.
 */
function withoutVolatile({ run: _, ...order }: Assignment): Assignment {
  if (order.role === 'replica') {
    const { errant: __, ...kept } = order
    return { ...kept, sourceHolds: '', sourcePurged: '' }
  }
  return {
    ...order,
    mayRestart: false,
    ...(order.elected === undefined ? {} : { elected: keptOfElected(order.elected) }),
  }
}

/** An assignment for this start is made by a manager that has noted it. */
function notedBy({ file, firstIncarnation }: Parts, { run }: Assignment): Partial<StoredState> {
  return run === undefined || file.current.notedIncarnations.includes(file.current.incarnation)
    ? {}
    : notedNow(file.current, firstIncarnation)
}
