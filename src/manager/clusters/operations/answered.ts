import type { OperationResult } from '#api-contract/operation-result.ts'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say, type Sayable } from '#common/sentence/sentence.ts'
import type { Request } from '#failover/judge/situation.ts'
import type { EndedRecovery } from '#manager/loop/books/recovery-book.ts'
import { askAgain, type OperatedCluster } from './asking.ts'

/** How long an operation that has no deadline of its own is waited for. */
export const patienceMs = 30_000

/**
 * Hands a request to the loop, and waits for the recovery that answers, or that ends the wait otherwise. A recovery
 * that was under way before, or comes of itself, answers somebody else.
 */
export async function answered(
  cluster: OperatedCluster,
  request: Request,
  timeoutMs: number,
  endsOtherwise: (recovery: EndedRecovery) => boolean = () => false,
): Promise<EndedRecovery | undefined> {
  const ends = (recovery: EndedRecovery) => recovery.requests.includes(request.id) || endsOtherwise(recovery)
  cluster.loop.addRequest(request)
  try {
    return await cluster.ended(ends, timeoutMs)
  } finally {
    cluster.loop.dropRequest(request.id)
  }
}

/** Throws unless the recovery succeeded. */
export function resultOf(
  { loop }: OperatedCluster,
  recovery: EndedRecovery | undefined,
  what: Sayable,
): Pick<OperationResult, 'sentence' | 'recovery'> {
  if (recovery === undefined && !loop.leads)
    throw new RegentError(
      'REGENT_TIMED_OUT',
      say`${what} has not ended: this manager leads no more, and whoever leads ends or undoes what was begun`,
    )
  if (recovery === undefined)
    throw new RegentError('REGENT_TIMED_OUT', say`${what} has not ended in time: ${loop.decision?.sentence ?? ''}`)
  if (recovery.outcome === 'succeeded') return { sentence: recovery.sentence, recovery: recovery.id }
  const said = say`${reported(recovery.sentence)} (recovery ${recovery.id})`
  const named = recovery.namesCommand ? { remedy: '' } : {}
  throw recovery.timedOut
    ? new RegentError('REGENT_TIMED_OUT', said, named)
    : new RegentError('REGENT_REFUSED', said, { remedy: askAgain(loop.input().place), ...named })
}
