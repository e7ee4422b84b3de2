import { say } from '#common/sentence/sentence.ts'
import { codeOf, described } from '#common/errors/errors.ts'
import type { World } from '#common/ports/ports.ts'
import { refusal, type ActionResult } from '../wire/calls.ts'
import type { BuiltInAction, Parameters, Patience } from './built-in-action.ts'

/**
 * Runs a built-in action within its time. Never rejects. An action that does not end in time, or before the agent
 * stops, is answered for at once, and hears so: what the action has not begun by then, nobody waits for. A statement
 * that the action has sent to a server may still come to its end there, and the answer does not claim otherwise.
 */
export async function runBuiltIn(
  action: BuiltInAction,
  parameters: Parameters,
  { deadlineMs, signal, timers }: Patience & Pick<World, 'timers'>,
): Promise<ActionResult> {
  if (signal.aborted) return refusal('failed', say`the agent is stopping`)
  const given = Promise.withResolvers<ActionResult>()
  const over = new AbortController()
  const answer = (result: ActionResult): void => {
    given.resolve(result)
    over.abort(new Error('the call is answered'))
  }
  const stops = (): void => answer(refusal('failed', say`the agent is stopping`))
  signal.addEventListener('abort', stops)
  const timer = deadlineMs === null ? undefined : timers.after(deadlineMs, () => answer(refusal('timedOut')))
  const ran = action.run(parameters, { deadlineMs, signal: over.signal }).catch(failureOf)
  try {
    return await Promise.race([ran, given.promise])
  } finally {
    timer?.cancel()
    signal.removeEventListener('abort', stops)
  }
}

/** What an action rejected with, under the name that callers know. */
function failureOf(error: unknown): ActionResult {
  switch (codeOf(error)) {
    case 'REGENT_SERVER_TIMEOUT':
      return refusal('timedOut', say`${described(error)}`)
    case 'REGENT_SERVER_ERROR':
    case 'REGENT_SERVER_DOWN':
      return refusal('failed', say`${described(error)}`)
    case 'REGENT_BAD_REQUEST':
      return refusal('badRequest', say`${described(error)}`)
    default:
      return refusal('internalError', say`${described(error)}`)
  }
}
