import { say } from '#common/sentence/sentence.ts'
import { described } from '#common/errors/errors.ts'
import { refusal, type ActionResult } from '../wire/calls.ts'
import type { GrpcAction } from '../wire/definitions.ts'
import { fillTemplate } from './template.ts'
import { signalWithin } from './time-signal.ts'

export interface GrpcLimits {
  readonly deadlineMs: number | null
  /** Aborted when the agent stops. */
  readonly signal: AbortSignal
}

/** Runs a gRPC action: each field of its request is a template. Never rejects. */
export async function runGrpc(
  action: GrpcAction,
  values: Readonly<Record<string, string | undefined>>,
  limits: GrpcLimits,
): Promise<ActionResult> {
  if (!/^\d{1,5}$/.test(action.port))
    return refusal('badRequest', say`grpc.port is "${action.port}"; allowed is a number`)
  const request: Record<string, string> = {}
  for (const [name, template] of Object.entries(action.request ?? {})) {
    const filled = fillTemplate(template, values)
    if ('wrong' in filled)
      return refusal(filled.isSyntax ? 'notImplemented' : 'badRequest', say`grpc.request.${name}: ${filled.wrong}`)
    request[name] = filled.text
  }
  const signal = signalWithin(limits.deadlineMs, limits.signal)
  try {
    // HTTP/2 and protocol buffers take memory, which an agent without such an action spares.
    const { callGrpc } = await import('../grpc/grpc-action.ts')
    return await callGrpc(action, request, signal)
  } catch (error) {
    if (limits.signal.aborted) return refusal('failed', say`the agent is stopping`)
    return signal.aborted ? refusal('timedOut') : refusal('failed', say`grpc call failed, error: ${described(error)}`)
  }
}
