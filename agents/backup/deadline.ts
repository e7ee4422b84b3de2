import type { Timers } from '#common/ports/ports.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

/**
 * Does `task`, and tells `failed` once: the error, or that the deadline is over. Resolves when the task has ended, and
 * not before. A task on a disk that hangs cannot be taken back, and a second task would hang beside the first.
 */
export async function withinDeadline(
  timers: Timers,
  { deadlineMs, whose }: { readonly deadlineMs: number; readonly whose: string },
  task: (signal: AbortSignal) => Promise<void>,
  failed: (error: unknown) => void,
): Promise<void> {
  const aborter = new AbortController()
  const timer = timers.after(deadlineMs, () => {
    const error = new RegentError('REGENT_TIMED_OUT', say`${whose} did not answer within ${deadlineMs / 1_000} s`)
    aborter.abort(error)
    failed(error)
  })
  try {
    await task(aborter.signal)
  } catch (error) {
    if (!aborter.signal.aborted) failed(error)
  } finally {
    timer.cancel()
  }
}
