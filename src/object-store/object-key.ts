import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable, type Sentence } from '#common/sentence/sentence.ts'

const segment = /^[A-Za-z0-9._-]{1,200}$/
/** S3 takes 1024 bytes, of which the address of the store has its share. */
const longestKey = 700

/** Why this is no key, for the end of a sentence; undefined where it is one. */
export function complaintAboutKey(key: string): Sentence | undefined {
  if (key.length > longestKey) return say`it has ${key.length} characters, and ${longestKey} are possible`
  return key.split('/').map(complaintAboutSegment).find(Boolean)
}

function complaintAboutSegment(text: string): Sentence | undefined {
  if (text === '') return say`a part between two / is empty`
  if (text === '.' || text === '..') return say`a part of it is ${text}`
  if (segment.test(text)) return undefined
  return say`its parts between / have 1 to 200 of the characters A–Z, a–z, 0–9, dot, dash and underscore`
}

/** @throws RegentError `REGENT_BAD_REQUEST` for what cannot be the key of an object */
export function requireKey(key: string): string {
  return accepted(key, complaintAboutKey(key), say`no key of an object`)
}

/** The same for the beginning of keys, which may end anywhere, also before the first character. */
export function requireKeyBeginning(beginning: string): string {
  const missing = beginning === '' || beginning.endsWith('/') || /(^|\/)\.\.?$/.test(beginning) ? 'x' : ''
  return accepted(beginning, complaintAboutKey(`${beginning}${missing}`), say`no beginning of keys`)
}

function accepted(text: string, complaint: Sentence | undefined, what: Sayable): string {
  if (complaint === undefined) return text
  throw new RegentError('REGENT_BAD_REQUEST', say`${JSON.stringify(text.slice(0, 80))} is ${what}: ${complaint}.`)
}
