import type { Assignment } from '#failover/protocol/assignment.ts'
import type { Converger } from '../converge/converger.ts'
import { keptOfElected } from '../doubts/elected-set.ts'
import { forgetfulAs } from '../doubts/forgetful.ts'
import { judgeErrant } from '../doubts/judged-errant.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { notedNow, type StoredState } from '../instance/stored-state.ts'

/** Stores an assignment and makes a first pass at it. Peers, gates and source are exactly what it says. */
export async function obeyAssignment(
  parts: Learner & Pick<Parts, 'changed' | 'file' | 'firstIncarnation' | 'notices' | 'observer' | 'run' | 'volume'>,
  converger: Converger,
  order: Assignment,
): Promise<void> {
  const { file, observer, changed } = parts
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
  learn(parts, { fact: 'assignmentStored', isNew })
  void judgeErrant(parts, () => {
    changed()
    converger.wake()
  })
  await converger.pass()
  if (observer.server !== null) void observer.refresh().catch(() => undefined)
}

/** What the order says and the disk does not keep. Another role ends what belongs to the one before. */
async function hear(
  parts: Learner & Pick<Parts, 'file' | 'observer' | 'run'>,
  converger: Converger,
  { order, now }: { readonly order: Assignment; readonly now: Assignment | null },
): Promise<void> {
  if (now?.epoch !== order.epoch && now?.role === 'primary' && order.role === 'replica') await converger.mode.stepDown()
  const { course, observer, file } = parts
  if (course.promiseReport) observer.knownToHold(course.promiseReport.holds)
  const catchesUp = order.role === 'replica' && order.catchUpFor === forgetfulAs(parts)
  learn(parts, { fact: 'assigned', to: order, before: now, catchesUp, hadGtidsReset: file.current.gtidsReset })
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
function notedBy(
  { file, firstIncarnation }: Pick<Parts, 'file' | 'firstIncarnation'>,
  { run }: Assignment,
): Partial<StoredState> {
  return run === undefined || file.current.notedIncarnations.includes(file.current.incarnation)
    ? {}
    : notedNow(file.current, firstIncarnation)
}
