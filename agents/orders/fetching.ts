import { learn, type Learner } from '../instance/learn.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { FetchOrder } from '#failover/protocol/order.ts'
import { replicationUser } from '../ports/server.ts'
import { salvage } from '../salvage/salvaging.ts'
import type { Parts } from '../instance/parts.ts'

/**
 * Fetches, under a promise and an intent, what this member lacks before a commit: it follows `from` without semi-sync
 * until `until` is held, then stops and reports again. `checkOrder` has passed.
 */
export async function fetchMissing(
  parts: Learner & Pick<Parts, 'config' | 'file' | 'notices' | 'replicationPassword' | 'server' | 'tail' | 'volume'>,
  order: FetchOrder,
): Promise<void> {
  const { server, file, volume, config, replicationPassword } = parts
  await file.update({ revision: order.revision, stoppedInOrder: false })
  learn(parts, { fact: 'fetchBegan' })
  await server.stopReceiver()
  await server.setSemiSyncReplica(false)
  if (order.salvage !== undefined) return salvage(parts, order, order.salvage)
  await server.pointTo({
    host: order.from.host,
    port: order.from.port,
    user: replicationUser(config.instance),
    password: replicationPassword,
  })
  await server.startApplier()
  await server.startReceiver()
  const arrived = await server.waitReceived(order.until, order.deadlineMs)
  await server.stopReceiver()
  await volume.syncRelayLogs()
  await file.update({ stoppedInOrder: true })
  if (!arrived)
    throw new RegentError(
      'REGENT_TIMED_OUT',
      say`fetching from ${order.from.instance} did not end within ${order.deadlineMs} ms`,
    )
}
