import { describeError } from '../src/common/errors.ts'
import type { Parts } from './parts.ts'

/**
 * Looks how a primary's mysqld ended *before* anybody is told that it did: a stop by another hand may have acknowledged what no replica holds, and a manager that heard of the death alone would
 * revoke through the replicas at once (design §5, "A stop nobody ordered"). What cannot be told counts as such a stop.
 */
export async function judgeEndingFirst({ file, memory, volume, notices }: Parts): Promise<void> {
  if (file.current.assignment?.role !== 'primary' || file.current.unsettled) return
  const ending = await volume.glanceAtEnding().catch((error: unknown) => ({ how: 'unknown', sentence: describeError(error) }) as const)
  if (ending.how === 'crashed') return
  await file.update({ unsettled: true })
  memory.binlogSet = null
  notices.add('UnsettledTail', `mysqld was not ended by a crash nor by Regent: ${ending.sentence}; its last writes may have been acknowledged and are kept`)
}

/**
 * A server that stops answering while its process lives may be shutting down by another hand, which takes seconds. Seen in its error log, that is noted first, and the rest is cut short: what it
 * acknowledged is in its binlog, and clients wait for a primary.
 */
export async function hastenShutdown({ file, volume, notices, process }: Parts): Promise<void> {
  if (file.current.assignment?.role !== 'primary' || process.state !== 'running') return
  const ending = await volume.glanceAtEnding()
  if (ending.how !== 'stopped') return
  if (!file.current.unsettled) await file.update({ unsettled: true })
  notices.add('UnsettledTail', `mysqld is being stopped by another hand: ${ending.sentence}; its last writes may have been acknowledged and are kept; it is ended now`)
  await process.kill()
}
