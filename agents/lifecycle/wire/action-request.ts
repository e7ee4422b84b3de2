import { say, text } from '#common/sentence/sentence.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { parseBoundedJson } from '#common/input/bounded-json.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { refusal, type ActionResult, type StreamRequest } from './calls.ts'
import { actionRequestSchema } from './schema.ts'
import { withoutNulls } from './without-nulls.ts'

type Parsed = { readonly request: StreamRequest } | { readonly refused: ActionResult }

/** The request in a body, or `badRequest` with what is wrong. Unknown fields are ignored. */
export function readActionRequest(body: Uint8Array): Parsed {
  const bad = (why: string): Parsed => ({
    refused: refusal('badRequest', say`unmarshal action request error: ${text(why)}`),
  })
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    const value = withoutNulls(parseBoundedJson(text, say`the body`))
    const complaint = complaintAbout(actionRequestSchema, value)
    return complaint === undefined ? { request: value as StreamRequest } : bad(complaint)
  } catch (error) {
    return bad(error instanceof RegentError ? error.message : `the body is not UTF-8 (${describeError(error)})`)
  }
}
