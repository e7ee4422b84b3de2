import type { PromiseOrder } from '#failover/protocol/order.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'

/**
 * Promises an epoch (docs/why/safety.md, "A failover, and why each step keeps the invariant"): the promise goes to
 * disk. *Then* everything that could acknowledge is stopped, and *then* what is held is read and reported
 * (`underPromise`). `checkOrder` has passed. A promise given twice is reported twice.
 */
export async function promise(
  parts: Learner & Pick<Parts, 'file' | 'process' | 'server'>,
  order: PromiseOrder,
): Promise<void> {
  const { file, server, process } = parts
  const wasPrimary = file.current.assignment?.role === 'primary'
  if (!wasPrimary && order.after !== '' && process.state === 'running' && file.current.promise < order.epoch) {
    await server.waitReceived(order.after, order.waitMs)
  }
  const isNew = file.current.promise !== order.epoch
  learn(parts, { fact: 'promised', isNew, receiverKept: followsAlready(parts, order.keepReceiverFrom) })
  await file.update({ promise: order.epoch, revision: order.revision })
}

/**
 * Gathered by a switchover's candidate it hears nobody else, and acknowledges to nobody who is primary. What comes from
 * the candidate after the report, which promised as well, is no more than what the demoted primary has.
 */
function followsAlready(
  { file, course }: Pick<Parts, 'course' | 'file'>,
  candidate: InstanceName | undefined,
): boolean {
  const { assignment } = file.current
  const { converged } = course
  return (
    assignment?.role === 'replica' &&
    assignment.source.instance === candidate &&
    converged.done &&
    converged.revision === assignment.revision
  )
}
