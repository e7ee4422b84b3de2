import { described, RegentError } from '../errors/errors.ts'
import { say, type Sayable } from '../sentence/sentence.ts'

/** Nothing that Regent reads is nested as deeply; what walks a value may use a stack for it. */
export const deepestNesting = 64

/**
 * Parses the JSON of a stranger. Throws `REGENT_BAD_REQUEST`, also for what is nested more deeply than anything here
 * walks. `what` is how the message calls it.
 */
export function parseBoundedJson(text: string, what: Sayable): unknown {
  if (isTooDeep(text))
    throw new RegentError('REGENT_BAD_REQUEST', say`${what} is nested too deeply: more than ${deepestNesting} levels`)
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new RegentError('REGENT_BAD_REQUEST', say`${what} is not JSON in UTF-8: ${described(cause)}`, { cause })
  }
}

/** Whether brackets in a text that may be JSON are nested more deeply than the limit. */
function isTooDeep(text: string): boolean {
  let [depth, inText] = [0, false]
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (inText) {
      if (character === '\\') at += 1
      else inText = character !== '"'
    } else if (character === '"') inText = true
    else if (character === '[' || character === '{') {
      depth += 1
      if (depth > deepestNesting) return true
    } else if (character === ']' || character === '}') depth -= 1
  }
  return false
}
