import { createHash } from 'node:crypto'
import type { ActionRequest } from '../wire/calls.ts'
import type { Action, RetryPolicy } from '../wire/definitions.ts'
import { goJson, inKeyOrder } from '../wire/go-json.ts'
import { secondsAsked } from './time-limit.ts'

/** What tells one call of an action from another: SHA-256, in hexadecimal, of everything that changes the run. */
export function fingerprintOf(action: Action, request: ActionRequest): string {
  const text = goJson({
    action: action.name,
    parameters: inKeyOrder(request.parameters ?? {}),
    arguments: request.arguments ?? [],
    timeoutSeconds: secondsAsked(action, request),
    retryPolicy: retriesOf(request.retryPolicy ?? action.retryPolicy),
  })
  return createHash('sha256').update(text).digest('hex')
}

function retriesOf(policy: RetryPolicy | undefined): Required<RetryPolicy> | null {
  const { maxRetries = 0, retryInterval = 0 } = policy ?? {}
  return maxRetries > 0 ? { maxRetries, retryInterval } : null
}
