import type { Said } from '#common/sentence/sentence.ts'
import type { RetryPolicy } from './definitions.ts'

/** The body of `POST /v1.0/action`, of both generations of callers. */
export interface ActionRequest {
  readonly action: string
  readonly parameters?: Readonly<Record<string, string>>
  /** The older generation's switch: the action has one in the newer. */
  readonly nonBlocking?: boolean
  /** The command runs once for each inner list. */
  readonly arguments?: readonly (readonly string[])[]
  /** Seconds, before those of the action. */
  readonly timeoutSeconds?: number
  readonly retryPolicy?: RetryPolicy
  /** Runs a non-blocking action anew though a result is there. */
  readonly rerun?: boolean
}

/** What a client of the streaming port sends first. KubeBlocks' agent ignores what is beside the request. */
export interface StreamRequest extends ActionRequest {
  /** The bearer token: raw TCP has no header. */
  readonly token?: string
  /** Asks for frames and a checksum, and is said back by a server that knows of them. */
  readonly framing?: string
}

/** The names that callers know. Any other name is read as `unknown` by them. */
export const errorNames = [
  'notDefined',
  'notImplemented',
  'preconditionFailed',
  'badRequest',
  'inProgress',
  'busy',
  'timedOut',
  'failed',
  'internalError',
  'unknown',
] as const

export type ErrorName = (typeof errorNames)[number]

/** How an action ended: what its command wrote, or why there is nothing. */
export type ActionResult =
  | { readonly ok: true; readonly output: Buffer }
  | { readonly ok: false; readonly error: ErrorName; readonly message: string }

/** The answer: `{}` for a success that wrote nothing. */
export interface ActionResponse {
  readonly error?: string
  readonly message?: string
  /** Standard output in base64. */
  readonly output?: string
}

export function succeeded(output: Buffer): ActionResult {
  return { ok: true, output }
}

/** A failure whose message is `<detail>: <name>`, or the bare name without a detail. */
export function refusal(error: ErrorName, detail: Said = ''): ActionResult {
  return { ok: false, error, message: detail === '' ? error : `${String(detail)}: ${error}` }
}

export function responseOf(result: ActionResult): ActionResponse {
  if (!result.ok) return { error: result.error, message: result.message }
  return result.output.length === 0 ? {} : { output: result.output.toString('base64') }
}
