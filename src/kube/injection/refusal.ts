import { RegentError } from '#common/errors/errors.ts'
import type { Sentence } from '#common/sentence/sentence.ts'

/** Why a pod that asks for the agent is not made. The sentence names the annotation, and what to do. */
export function refusal(sentence: Sentence, cause?: unknown): RegentError {
  return new RegentError('REGENT_NOT_INJECTED', sentence, { cause })
}
