import { say, text } from '#common/sentence/sentence.ts'
import { describeError } from '#common/errors/errors.ts'
import { refusal, succeeded, type ActionResult } from '../wire/calls.ts'
import type { GrpcAction } from '../wire/definitions.ts'
import { GrpcClient } from './grpc-client.ts'
import { reflectMethod } from './reflection.ts'
import { decodeField, encodeMessage, type Texts } from './values.ts'

/**
 * Calls a method of a gRPC server of the pod. The field that `response.status` names, where not empty, is a failure;
 * the field that `response.message` names is the output. `request` has the templates filled in. Rejects where the
 * connection breaks, and with the signal's reason.
 */
export async function callGrpc(action: GrpcAction, request: Texts, signal: AbortSignal): Promise<ActionResult> {
  const { port, host = '127.0.0.1', service, method } = action
  const client = await GrpcClient.connect(`${host.includes(':') ? `[${host}]` : host}:${port}`, signal)
  try {
    const { input, output, methodKind } = await reflectMethod(client, service, method)
    if (methodKind !== 'unary')
      return refusal('badRequest', say`${service}/${method} is a stream; a gRPC action is one message`)
    const sent = tried(() => encodeMessage(input, request))
    if ('wrong' in sent) return refusal('badRequest', say`${text(sent.wrong)}`)
    const answer = await client.call(`/${service}/${method}`, sent.value)
    if (!answer.ok)
      return refusal('failed', say`grpc call failed, code: ${answer.code}, message: ${text(answer.words)}`)
    const read = (name: string | undefined): Buffer =>
      name ? decodeField(output, answer.message, name) : Buffer.alloc(0)
    const parts = tried(() => ({ status: read(action.response?.status), message: read(action.response?.message) }))
    if ('wrong' in parts) return refusal('badRequest', say`${text(parts.wrong)}`)
    return resultOf(parts.value)
  } finally {
    client.close()
  }
}

function resultOf({ status, message }: { readonly status: Buffer; readonly message: Buffer }): ActionResult {
  if (status.length === 0) return succeeded(message)
  const words = message.length === 0 ? '' : say`, message: ${text(message.toString('utf8'))}`
  return refusal('failed', say`grpc call failed, status: ${text(status.toString('utf8'))}${words}`)
}

function tried<Value>(work: () => Value): { readonly value: Value } | { readonly wrong: string } {
  try {
    return { value: work() }
  } catch (error) {
    return { wrong: describeError(error) }
  }
}
