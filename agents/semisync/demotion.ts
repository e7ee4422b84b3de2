import { counted, say } from '#common/sentence/sentence.ts'
import { RegentError } from '#common/errors/errors.ts'
import type { DemoteOrder } from '#failover/protocol/order.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { unappliedOf, unionOf } from '#topology/snapshot/holdings.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { keepUnsettled } from '../doubts/unsettled.ts'
import { letRoutersEnd } from '../guard/routed-sessions.ts'
import { giveGrace, refuseWithoutTimeToUndo, undoLargeChanges } from '../guard/undoing.ts'

type DemotionParts = Learner & Pick<Parts, 'file' | 'observer' | 'routers' | 'server' | 'world'>

/** How often a condition without an event is looked at again. */
const pollMs = 2

/**
 * First half of a switchover, at the primary (docs/why/safety.md, "A switchover, and why each step keeps the
 * invariant"): stop taking writes, let what waits finish, promise. Anything that fails before the promise is undone
 * here, and the primary writes again; the error says what stood in the way.
 */
export async function demote(parts: DemotionParts, order: DemoteOrder): Promise<void> {
  const { clock } = parts.world
  // Delivered twice: whatever failed from here on would open again a server that has promised.
  if (parts.file.current.promise >= order.epoch) return
  const deadlineMs = clock.monotonicMs() + order.deadlineMs
  const state = await seenNow(parts)
  refuseWhileUnapplied(state)
  await refuseWithoutAcknowledgements(parts, state)
  const graceMs = Math.min(order.graceMs, order.deadlineMs / 2)
  refuseWithoutTimeToUndo(state.openChanges ?? [], order.deadlineMs - graceMs)
  await giveGrace(parts, graceMs)
  // A session may have begun to wait for an acknowledgement since the look.
  await undoLargeChanges(parts, deadlineMs, () => keepUnsettled(parts, 'switchover'))
  try {
    await stopWrites(parts, deadlineMs)
    await waitUntilNothingWaits(parts, deadlineMs)
  } catch (error) {
    await putBack(parts, state)
    throw error
  }
  await parts.file.update({ promise: order.epoch, revision: order.revision })
  const { executed, received, owned } = await parts.server.readHolds()
  learn(parts, {
    fact: 'converged',
    done: false,
    sentence: say`demoted under the promise of epoch ${order.epoch}`,
  })
  const report = {
    epoch: order.epoch,
    holds: unionOf([executed, received, owned]).toString(),
    executed: parseGtidSet(executed).toString(),
    asPrimary: true,
  }
  learn(parts, { fact: 'reported', report })
}

function seenNow({ observer }: Pick<Parts, 'observer'>): Promise<ServerState> {
  observer.outdate()
  return observer.refresh()
}

/**
 * A primary that was elected a moment ago still applies what clients were told is safe, before the primary takes
 * writes. There is nothing to hand over yet.
 */
function refuseWhileUnapplied(state: ServerState): void {
  const left = unappliedOf(state).count()
  if (left > 0)
    throw new RegentError(
      'REGENT_ORDER_NOT_ALLOWED',
      say`demotion refused: this primary still applies ${counted(left, 'transaction')} that it was elected with`,
    )
}

/** `SET GLOBAL super_read_only` hangs for ever when nobody acknowledges: never sent then. */
async function refuseWithoutAcknowledgements({ server }: Pick<Parts, 'server'>, state: ServerState): Promise<void> {
  const { enabled, acks } = state.semiSyncSource
  const connected = state.dumpThreads.filter((thread) => thread.semiSync).length
  if (enabled && connected < acks) {
    throw new RegentError(
      'REGENT_ORDER_NOT_ALLOWED',
      say`demotion refused: a write needs ${counted(acks, 'acknowledgement')}, and ${counted(connected, 'replica')} can give one`,
    )
  }
  const waiting = enabled ? await server.waitingSessions() : 0
  if (waiting > 1_000)
    throw new RegentError(
      'REGENT_ORDER_NOT_ALLOWED',
      say`demotion refused: ${counted(waiting, 'session')} ${waiting === 1 ? say`waits` : say`wait`} for an acknowledgement`,
    )
}

/**
 * Closed for writes; a lock that stands in the way past a moment loses its session. Not so when acknowledgements have
 * stopped meanwhile: MySQL does not promise what a session tells others that is killed while the session waits.
 */
async function stopWrites(parts: DemotionParts, deadlineMs: number): Promise<void> {
  const { server, world } = parts
  const remaining = () => Math.max(1, deadlineMs - world.clock.monotonicMs())
  try {
    await server.setReadOnly('closed', Math.min(300, remaining()))
  } catch (error) {
    if (!(error instanceof RegentError) || error.code !== 'REGENT_SERVER_TIMEOUT') throw error
    await refuseWithoutAcknowledgements(parts, await seenNow(parts))
    await refuseWhileOneWaits(parts, remaining())
    // A session may have begun to wait since. What it tells others when it is killed is proven only by a marker.
    await keepUnsettled(parts, 'switchover')
    await server.killForeignSessions(remaining())
    await server.setReadOnly('closed', remaining())
  }
  await letRoutersEnd(parts, deadlineMs)
  await server.setOffline(true, remaining())
  await server.killForeignSessions(remaining())
}

/**
 * What is acknowledged at all is acknowledged within this: while a dump thread ends, the server looks for
 * acknowledgements only once a second.
 */
const acknowledgedMs = 1_500

/** Under load there is always somebody who waits, for a moment: looked for is a moment in which nobody does. */
async function refuseWhileOneWaits(
  { server, world }: Pick<Parts, 'server' | 'world'>,
  remainingMs: number,
): Promise<void> {
  const until = world.clock.monotonicMs() + Math.min(acknowledgedMs, remainingMs / 2)
  while ((await server.waitingSessions()) > 0) {
    if (world.clock.monotonicMs() >= until)
      throw new RegentError(
        'REGENT_TIMED_OUT',
        say`demotion undone: something stands in its way, and sessions that wait for an acknowledgement must not be killed`,
      )
    await world.timers.sleep(pollMs)
  }
}

async function waitUntilNothingWaits(
  { server, world }: Pick<Parts, 'server' | 'world'>,
  deadlineMs: number,
): Promise<void> {
  while ((await server.waitingSessions()) > 0) {
    if (world.clock.monotonicMs() >= deadlineMs)
      throw new RegentError(
        'REGENT_TIMED_OUT',
        say`demotion undone: sessions still wait for an acknowledgement at the deadline`,
      )
    await world.timers.sleep(pollMs)
  }
}

/**
 * The server is put back as it was before. A server that is fenced by a person, or closed for another reason, stays
 * closed. A server that waits for a marker of its own stays offline, but must be able to write that marker.
 */
async function putBack({ server, observer }: Pick<Parts, 'observer' | 'server'>, before: ServerState): Promise<void> {
  const { readOnly, superReadOnly, offlineMode } = before
  if (!readOnly && !superReadOnly && !offlineMode) await server.open()
  else if (!superReadOnly) await server.setReadOnly('accounts')
  observer.outdate()
}
