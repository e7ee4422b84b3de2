import { createHash } from 'node:crypto'
import { parseBoundedJson } from '#common/input/bounded-json.ts'
import type { JsonSchema } from '#common/input/json-schema.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import type { Shape } from '#common/input/shapes.ts'
import { codeOf, described, RegentError } from '#common/errors/errors.ts'
import { counted, say, type Sayable, text } from '#common/sentence/sentence.ts'

/**
 * The version that this Regent writes, which is the newest that it reads. A field that is added later does not make a
 * new version.
 */
export const formatVersion = 1
/** The version of a manifest or a piece whose signature proves more than that of the version before: see there. */
export const signedVersion = 2

/**
 * A limit far above any manifest: a manifest with a million parts has 120 MB, and a reader takes so much into memory.
 */
export const longestCharacters = 128 * 1024 * 1024

/**
 * The object that a text of the store holds. Fields that are not known are left out: a newer Regent of the same format
 * version wrote them.
 * @param what names the object in errors, as the subject of a sentence
 * @param newest the newest known format version of such an object. Throws `REGENT_NEWER_VERSION` or
 * `REGENT_BACKUP_UNUSABLE`.
 */
export function readStored<T>(stored: string, shape: Shape<T>, what: Sayable, newest: number = formatVersion): T {
  const value = parse(stored, what)
  const version = typeof value === 'object' && value !== null && 'formatVersion' in value ? value.formatVersion : null
  if (typeof version === 'number' && version > newest)
    throw new RegentError(
      'REGENT_NEWER_VERSION',
      say`${what} is of a newer Regent: format version ${version}, and this Regent reads up to ${newest}`,
    )
  const known = onlyKnown(shape, checked(value, what))
  const complaint = complaintAbout(shape, known)
  if (complaint !== undefined) throw unusable(what, say`${text(complaint)}`)
  return known as T
}

export function unusable(what: Sayable, why: Sayable): RegentError {
  return new RegentError('REGENT_BACKUP_UNUSABLE', say`${what} cannot be used: ${why}`)
}

/**
 * Whether an error says that the content of an object cannot be used, as `readStored` throws: the store itself has
 * answered.
 */
export function isOfContent(error: unknown): boolean {
  return codeOf(error) === 'REGENT_BACKUP_UNUSABLE' || codeOf(error) === 'REGENT_NEWER_VERSION'
}

/** Adds a checksum of the object itself: no other object tells whether a byte of this object was flipped. */
export function writeStored(value: object): string {
  return `${JSON.stringify({ ...value, checksum: checksumOf(value) }, null, 2)}\n`
}

/** The value without its checksum. Fields that only a newer Regent knows are a part of the sum. */
function checked(value: unknown, what: Sayable): object {
  if (typeof value !== 'object' || value === null || !('checksum' in value))
    throw unusable(what, say`a checksum of the content is missing`)
  const { checksum, ...rest } = value
  if (checksum !== checksumOf(rest)) throw unusable(what, say`the content was changed: its checksum is another`)
  return rest
}

function checksumOf(value: object): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}

function parse(stored: string, what: Sayable): unknown {
  if (stored.length > longestCharacters)
    throw unusable(what, say`${counted(stored.length, 'character')} are more than ${longestCharacters}`)
  try {
    return parseBoundedJson(stored, say`the content`)
  } catch (cause) {
    throw unusable(what, described(cause))
  }
}

/** The value without the keys that the shape does not name. */
function onlyKnown(shape: JsonSchema, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { items, properties } = shape as { items?: JsonSchema; properties?: Readonly<Record<string, JsonSchema>> }
  if (Array.isArray(value)) return items === undefined ? value : value.map((item) => onlyKnown(items, item))
  if (properties === undefined) return value
  const known = Object.entries(value).filter(([key]) => Object.hasOwn(properties, key))
  return Object.fromEntries(known.map(([key, inner]) => [key, onlyKnown(properties[key] ?? {}, inner)]))
}
