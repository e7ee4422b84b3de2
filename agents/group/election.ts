import { RegentError } from '#common/errors/errors.ts'
import { type Said, say } from '#common/sentence/sentence.ts'
import type { DemoteOrder } from '#failover/protocol/order.ts'
import { hasMajority, ownMember } from '#topology/group/majority.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { giveGrace, refuseWithoutTimeToUndo, undoLargeChanges } from '../guard/undoing.ts'
import type { Parts } from '../instance/parts.ts'
import type { FrozenWatch } from './frozen.ts'

/**
 * A switchover, at the primary: the group elects, and takes read-only off at the new primary. Nothing is promised. From
 * the moment in which the group is asked no transaction begins, and it elects once those that run have ended. So what
 * runs long gets its grace, and is ended, before that, while others write.
 */
export async function haveElected(
  parts: Pick<Parts, 'observer' | 'server' | 'world'>,
  order: DemoteOrder,
  frozen: FrozenWatch,
): Promise<void> {
  const { observer, server, world } = parts
  const { electUuid = '', deadlineMs } = order
  const endMs = world.clock.monotonicMs() + deadlineMs
  const leftMs = (): number => Math.max(1, endMs - world.clock.monotonicMs())
  const { openChanges = [] } = await seenFitToElect(parts, electUuid)
  if (openChanges.length > 0 || (await server.busySessions()) > 0) {
    const graceMs = Math.min(order.graceMs, deadlineMs / 2)
    refuseWithoutTimeToUndo(openChanges, leftMs() - graceMs)
    await clearTheWay(parts, graceMs, endMs)
    await seenFitToElect(parts, electUuid)
  }
  const graceMs = Math.min(order.graceMs, leftMs())
  await frozen.whileElecting(async () => server.group?.electPrimary(electUuid, { graceMs, deadlineMs: leftMs() }))
  observer.outdate()
  await observer.refresh()
}

/**
 * The plugin ends a session only where that has begun to write to its binlog cache, and waits for all others, for as
 * long as they run, with everybody held up: a statement that has not found its first row yet is not ended (9.7). A
 * commit that waits for its group is not broken off by the end of its session: nothing is in doubt by that.
 */
async function clearTheWay(parts: Pick<Parts, 'server' | 'world'>, graceMs: number, endMs: number): Promise<void> {
  await giveGrace(parts, graceMs)
  await undoLargeChanges(parts, endMs, async () => undefined)
  await parts.server.endBusySessions()
}

/** Any member can have its group elect: whoever is primary no more would take the primary from another one. */
async function seenFitToElect({ observer }: Pick<Parts, 'observer'>, candidate: string): Promise<ServerState> {
  observer.outdate()
  const state = await observer.refresh()
  const why = whyNotElect(state, candidate)
  if (why !== '') throw new RegentError('REGENT_ORDER_NOT_ALLOWED', say`switchover refused: ${why}`)
  return state
}

function whyNotElect({ group, uuid }: ServerState, candidate: string): Said {
  if (group === undefined || ownMember(group, uuid)?.role !== 'PRIMARY')
    return say`the group has another primary by now`
  if (!hasMajority(group)) return say`this member hears no majority of its group`
  const state = ownMember(group, candidate)?.state
  return state === 'ONLINE' ? '' : say`the candidate is ${state?.toLowerCase() ?? say`no member`} in the group`
}
