import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import { endOfGtidNumbers, gtidNumber, type GtidNumber } from './gtid-number.ts'
import { intervalsOf, type Intervals } from './intervals.ts'

/**
 * Where a transaction came from: `uuid`, or `uuid:tag` for MySQL's tagged GTIDs (since 8.3), both in lower case. Plain
 * string order of these is the order in which MySQL prints them, since all UUIDs have the same length.
 */
export type GtidSource = string

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/iy
/** MySQL's manual, "GTID format and storage": a letter or underscore, then up to 31 letters, digits and underscores. */
const tag = /[a-z_][a-z0-9_]{0,31}/iy
const blank = /\s*/y

interface Cursor {
  readonly text: string
  at: number
}

/**
 * Reads a GTID set in any form MySQL accepts from people or prints: white space anywhere between its parts, any case, a
 * UUID more than once, overlapping intervals, tags.
 *
 * Throws `REGENT_BAD_GTID_SET` with the first piece that is wrong and its position.
 */
export function parseIntervals(text: string): ReadonlyMap<GtidSource, Intervals> {
  const pairs = new Map<GtidSource, GtidNumber[]>()
  const cursor = { text, at: 0 }
  skipBlanks(cursor)
  if (cursor.at === text.length) return new Map()
  do parseUuidSet(cursor, pairs)
  while (skip(cursor, ','))
  if (cursor.at < text.length) fail(cursor, say`a "," or ":" or the end is expected`)
  return sortedBySource(pairs)
}

function sortedBySource(pairs: ReadonlyMap<GtidSource, Intervals>): ReadonlyMap<GtidSource, Intervals> {
  const sources = [...pairs.keys()].sort()
  return new Map(sources.map((source) => [source, intervalsOf(pairs.get(source) ?? [])]))
}

/** `uuid:interval…[:tag:interval…]…`: a tag holds for the intervals that follow it, until the next tag. */
function parseUuidSet(cursor: Cursor, pairs: Map<GtidSource, GtidNumber[]>): void {
  const server = match(cursor, uuid) ?? fail(cursor, say`a UUID is expected`)
  if (!skip(cursor, ':')) fail(cursor, say`a ":" and an interval are expected after the UUID`)
  let source = server
  do {
    const name = isDigit(cursor.text.charCodeAt(cursor.at)) ? undefined : match(cursor, tag)
    if (name !== undefined) {
      source = `${server}:${name}`
      if (!skip(cursor, ':')) fail(cursor, say`a ":" and an interval are expected after the tag ${name}`)
    }
    parseInterval(cursor, intervalsAt(pairs, source))
  } while (skip(cursor, ':'))
}

function intervalsAt(pairs: Map<GtidSource, GtidNumber[]>, source: GtidSource): GtidNumber[] {
  const known = pairs.get(source)
  if (known !== undefined) return known
  const fresh: GtidNumber[] = []
  pairs.set(source, fresh)
  return fresh
}

function parseInterval(cursor: Cursor, into: GtidNumber[]): void {
  const start = cursor.at
  const from = parseNumber(cursor)
  const to = skip(cursor, '-') ? parseNumber(cursor) : from
  if (to < from) fail({ text: cursor.text, at: start }, say`the interval ends before it begins`)
  into.push(from, to)
}

/**
 * A transaction's number. Read digit by digit: sets of 100,000 intervals arrive, and slices cost more than the rest.
 */
function parseNumber(cursor: Cursor): GtidNumber {
  const start = cursor.at
  let value = 0
  for (;;) {
    const code = cursor.text.charCodeAt(cursor.at)
    if (!isDigit(code)) break
    value = value * 10 + (code - 48)
    cursor.at += 1
  }
  const failed = { text: cursor.text, at: start }
  if (cursor.at === start) fail(failed, say`a transaction number is expected`)
  if (value < 1) fail(failed, say`transaction numbers begin at 1`)
  const exact = value <= Number.MAX_SAFE_INTEGER ? value : largeNumber(cursor.text.slice(start, cursor.at))
  if (exact >= endOfGtidNumbers) fail(failed, say`transaction numbers end at ${endOfGtidNumbers - 1n}`)
  skipBlanks(cursor)
  return exact
}

function largeNumber(digits: string): GtidNumber {
  return digits.length > 40 ? endOfGtidNumbers : gtidNumber(BigInt(digits))
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

/** The token at the cursor in lower case, and the cursor past it and the blanks behind it. */
function match(cursor: Cursor, token: RegExp): string | undefined {
  token.lastIndex = cursor.at
  const found = token.exec(cursor.text)?.[0]
  if (found === undefined) return undefined
  cursor.at += found.length
  skipBlanks(cursor)
  return found.toLowerCase()
}

function skip(cursor: Cursor, character: string): boolean {
  if (cursor.text[cursor.at] !== character) return false
  cursor.at += 1
  skipBlanks(cursor)
  return true
}

function skipBlanks(cursor: Cursor): void {
  // Most often there are none, and a regular expression for nothing costs as much as the number before it.
  if (cursor.text.charCodeAt(cursor.at) > 32) return
  blank.lastIndex = cursor.at
  cursor.at += blank.exec(cursor.text)?.[0].length ?? 0
}

function fail(cursor: Cursor, what: Sayable): never {
  const piece = /^[^,:\s]{0,48}/.exec(cursor.text.slice(cursor.at, cursor.at + 48))?.[0] ?? ''
  const found =
    cursor.at === cursor.text.length ? say`its end` : say`"${piece === '' ? (cursor.text[cursor.at] ?? '') : piece}"`
  throw new RegentError(
    'REGENT_BAD_GTID_SET',
    say`GTID set: at ${found} (character ${cursor.at + 1} of ${cursor.text.length}) ${what}`,
  )
}
