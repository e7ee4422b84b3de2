import { counted, say, text } from '#common/sentence/sentence.ts'
import type { EmptyOrder } from '#failover/protocol/order.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import type { Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { inBackground } from './in-background.ts'

/**
 * Writes an empty transaction with each of these GTIDs, in the background: each waits for its acknowledgement as a
 * client's write does. What is here already is left out, so an order that comes again, or from two managers, changes
 * nothing. The agent looks before each whether this is still the primary of that epoch: once the agent has promised
 * another one, what it reports it holds must not grow.
 */
export function beginEmptying(
  parts: Learner & Pick<Parts, 'changed' | 'file' | 'notices' | 'observer' | 'server'>,
  order: EmptyOrder,
): void {
  inBackground(
    parts,
    'empties',
    () => empty(parts, order),
    (error) => parts.notices.failed('EmptyTransactions', say`empty transactions were not written`, error),
  )
}

async function empty(parts: Pick<Parts, 'file' | 'notices' | 'server'>, order: EmptyOrder): Promise<void> {
  const { server, notices } = parts
  const { executed, owned, received } = await server.readHolds()
  const missing = parseGtidSet(order.gtids).subtract(unionOf([executed, owned, received]))
  let written = 0
  for (const gtid of missing.each()) {
    if (!stillLeads(parts, order)) return
    await server.writeEmpty(gtid)
    written += 1
  }
  if (written > 0)
    notices.add(
      'EmptyTransactions',
      say`${counted(written, 'empty transaction')} took the place of what changed no data on ${order.of} (${text(order.gtids.slice(0, 120))})`,
    )
}

function stillLeads({ file: { current } }: Pick<Parts, 'file'>, { epoch }: EmptyOrder): boolean {
  return current.assignment?.role === 'primary' && current.assignment.epoch === epoch && current.promise === epoch
}
