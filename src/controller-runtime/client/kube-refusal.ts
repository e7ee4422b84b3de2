import { KubeApiError } from './kube-api-error.ts'
import { statusError, type RawStatus } from './watch-stream.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'

export interface RefusedAnswer {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly text: string
}

/** The error that an answer other than 2xx is: what its Status object says, or a proxy's page. `what` was asked. */
export function refusalIn(what: Sayable, { statusCode, headers, text }: RefusedAnswer): KubeApiError {
  const header = Number(headers['retry-after'])
  const retryAfterMs = Number.isFinite(header) && header >= 0 ? header * 1_000 : undefined
  const status = statusIn(text)
  if (status === undefined)
    return new KubeApiError(say`${what}: HTTP ${statusCode} with ${JSON.stringify(text.slice(0, 120))}`, {
      status: statusCode,
      retryAfterMs,
    })
  const refusal = statusError(what, { ...status, code: statusCode })
  return new KubeApiError(refusal.said, {
    status: statusCode,
    reason: refusal.reason,
    retryAfterMs: retryAfterMs ?? refusal.retryAfterMs,
  })
}

function statusIn(text: string): RawStatus | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status'
      ? (value as RawStatus)
      : undefined
  } catch {
    return undefined
  }
}
