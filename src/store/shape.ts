import type { TSchema } from 'typebox'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import { complaintAbout, withoutUnknownKeys } from '#common/input/schema-complaint.ts'

/** Far above anything Regent writes; a larger text is somebody else's. */
const longestText = 8 * 1024 * 1024

/**
 * Bytes of a stored object as text.
 * @param where names the object in errors
 * @throws RegentError `REGENT_BAD_FILE` for what is too long or not UTF-8
 */
export function decodeText(bytes: Uint8Array, where: Sayable): string {
  if (bytes.length > longestText)
    throw new RegentError('REGENT_BAD_FILE', say`${where} has ${bytes.length} bytes; at most ${longestText} are read`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new RegentError('REGENT_BAD_FILE', say`${where} is not UTF-8 text`, { cause: error })
  }
}

/**
 * The JSON object in `text` if its `version` is one that is understood.
 * @throws RegentError `REGENT_NEWER_VERSION`, or `REGENT_BAD_FILE` when it is no such object
 */
export function parseVersioned(text: string, newestVersion: number, where: Sayable): object {
  const value = parseJson(text, where)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RegentError('REGENT_BAD_FILE', say`${where} is ${excerpt(value)}; it must be a JSON object`)
  }
  const version: unknown = 'version' in value ? value.version : undefined
  if (typeof version !== 'number' || !Number.isSafeInteger(version) || version < 1) {
    throw new RegentError(
      'REGENT_BAD_FILE',
      say`${where}: version is ${excerpt(version)}; it must be an integer from 1 to ${newestVersion}`,
    )
  }
  if (version > newestVersion) {
    throw new RegentError(
      'REGENT_NEWER_VERSION',
      say`${where} was written by a newer Regent: version ${version}, and this one understands up to ${newestVersion}`,
    )
  }
  return value
}

/** A compiled TypeBox schema. */
export interface Shape<Value> {
  Check(value: unknown): value is Value
  Type(): TSchema
}

/**
 * The value as what its schema says, or an error that names the first field that is not so, and its value. A newer
 * Regent may have written a field that this one does not know: such an object is not damaged, and nobody is told to
 * remove it.
 * @throws RegentError `REGENT_NEWER_VERSION` where unknown fields alone are wrong, else `REGENT_BAD_FILE`
 */
export function checkShape<Value>(shape: Shape<Value>, value: unknown, where: Sayable): Value {
  if (shape.Check(value)) return value
  const complaint = say`${where}: ${complaintAbout(shape.Type(), value) ?? say`does not have the expected shape`}`
  if (shape.Check(withoutUnknownKeys(shape.Type(), value)))
    throw new RegentError('REGENT_NEWER_VERSION', say`${complaint}. A newer Regent wrote that, or another hand`)
  throw new RegentError('REGENT_BAD_FILE', complaint)
}

/** A value as it is shown in errors: JSON, cut where it is long. */
export function excerpt(value: unknown): string {
  const text = value === undefined ? 'missing' : JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

function parseJson(text: string, where: Sayable): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new RegentError('REGENT_BAD_FILE', say`${where} is not JSON: it begins with ${excerpt(text.slice(0, 40))}`, {
      cause: error,
    })
  }
}
