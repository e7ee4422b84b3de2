import { zstdDecompressSync } from 'node:zlib'
import { decodeFormatDescription, decodePayloadHeader, decodeQuery, eventTypes } from '#binlog/events.ts'
import { begunBy, isGtidEvent, type BegunTransaction } from '#binlog/gtid-event.ts'
import { checksumBytes, headerBytes, lengthOffset, typeOffset } from '#binlog/layout.ts'
import type { Segment } from '#binlog/segments.ts'
import { decodeTableId, decodeTableMap } from '#binlog/table-events.ts'

export const findKinds = ['drop', 'truncate', 'alter', 'create', 'rename', 'insert', 'update', 'delete'] as const
export type FindKind = (typeof findKinds)[number]

export interface Wanted {
  readonly schema: string
  /** Null for anything in the schema. */
  readonly table: string | null
  /** Null for each kind. */
  readonly kind: FindKind | null
}

/** A transaction that did what was asked for. */
export interface Found {
  readonly gtid: string
  readonly committedMs: number
  readonly kind: FindKind
  /** The statement where there is one; '' for rows. */
  readonly statement: string
}

const rowKinds: Readonly<Record<number, FindKind>> = {
  [eventTypes.writeRows]: 'insert',
  [eventTypes.updateRows]: 'update',
  [eventTypes.partialUpdateRows]: 'update',
  [eventTypes.deleteRows]: 'delete',
}

/**
 * A payload is decompressed as a whole; a payload that is longer, or eight times as long once decompressed, is counted
 * and not looked into.
 */
const usualPayload = 67_108_864

/** Looks through the events of pieces for changes of a table. One transaction is told once for each kind. */
export class Finder {
  readonly found: Found[] = []
  /** Compressed transactions that were too long to be looked into. */
  passedOver = 0
  readonly #wanted: Wanted
  readonly #longestPayload: number
  #transaction: BegunTransaction | null = null
  readonly #told = new Set<FindKind>()
  readonly #tables = new Map<number, string>()
  #payload: Buffer[] | null = null
  /** Bytes of the checksum at the end of each event, as the beginning of its file says. */
  #checksumBytes = 0

  constructor(wanted: Wanted, longestPayload = usualPayload) {
    this.#wanted = wanted
    this.#longestPayload = longestPayload
  }

  see({ event, begins, ends, bytes }: Segment): void {
    if (isGtidEvent(event.type)) return this.#begin(bytes)
    if (event.type === eventTypes.transactionPayload) return this.#gather(event.length, bytes, ends)
    if (!begins) return
    const body = bytes.subarray(headerBytes)
    if (event.type === eventTypes.formatDescription)
      this.#checksumBytes = decodeFormatDescription(body).checksums ? checksumBytes : 0
    else this.#look(event.type, ends ? body.subarray(0, body.length - this.#checksumBytes) : body)
  }

  #begin(bytes: Buffer): void {
    this.#transaction = begunBy(bytes)
    this.#told.clear()
    this.#tables.clear()
  }

  #gather(length: number, bytes: Buffer, ends: boolean): void {
    if (length > this.#longestPayload) {
      this.passedOver += ends ? 1 : 0
      return
    }
    this.#payload = [...(this.#payload ?? []), Buffer.from(bytes)]
    if (!ends) return
    const body = Buffer.concat(this.#payload).subarray(headerBytes)
    this.#payload = null
    const { compression, length: start, payloadLength } = decodePayloadHeader(body)
    const stored = body.subarray(start, start + payloadLength)
    const events = compression === 'none' ? stored : decompressed(stored, this.#longestPayload * 8)
    if (events === null) this.passedOver += 1
    else this.#lookInside(events)
  }

  /** Looks at events without checksums, one behind the other. */
  #lookInside(events: Buffer): void {
    for (let at = 0; at + headerBytes <= events.length;) {
      const length = Math.max(headerBytes, events.readUInt32LE(at + lengthOffset))
      this.#look(events.readUInt8(at + typeOffset), events.subarray(at + headerBytes, at + length))
      at += length
    }
  }

  #look(type: number, body: Buffer): void {
    if (type === eventTypes.query) return this.#lookAtStatement(body)
    if (type === eventTypes.tableMap) {
      const { id, schema, table } = decodeTableMap(body)
      this.#tables.set(id, this.#isWanted(schema, table) ? table : '')
      return
    }
    const kind = rowKinds[type]
    if (kind !== undefined && (this.#tables.get(decodeTableId(body)) ?? '') !== '') this.#tell(kind, '')
  }

  #isWanted(schema: string, table: string): boolean {
    return schema === this.#wanted.schema && (this.#wanted.table === null || this.#wanted.table === table)
  }

  #lookAtStatement(body: Buffer): void {
    const { text, schema } = { ...decodeQuery(body), schema: schemaOf(body) }
    const kind = kindOf(text)
    if (kind !== undefined && mentions(text, schema, this.#wanted)) this.#tell(kind, text)
  }

  #tell(kind: FindKind, statement: string): void {
    const { kind: wanted } = this.#wanted
    if (this.#transaction === null || this.#told.has(kind) || (wanted !== null && wanted !== kind)) return
    this.#told.add(kind)
    const { source, number, committedMs } = this.#transaction
    this.found.push({ gtid: `${source}:${number}`, committedMs, kind, statement: statement.slice(0, 300) })
  }
}

/** Null where more bytes would come. */
function decompressed(stored: Buffer, maxOutputLength: number): Buffer | null {
  try {
    return zstdDecompressSync(stored, { maxOutputLength })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return null
    throw error
  }
}

/** Remarks, and the beginning of a remark that MySQL executes, as `mysqldump` writes them. */
const leading = /^(?:\s|\/\*(?!!).*?\*\/|\/\*!\d*|(?:--|#)[^\n]*\n)+/s

function kindOf(statement: string): FindKind | undefined {
  const [verb = ''] = /^[a-z]+/i.exec(statement.replace(leading, '')) ?? []
  return findKinds.find((kind) => kind === verb.toLowerCase())
}

/** The schema in which a Query event was executed: behind its status variables. */
function schemaOf(body: Buffer): string {
  const [length, variables] = [body[8] ?? 0, body.length < 13 ? 0 : body.readUInt16LE(11)]
  return body.toString('utf8', 13 + variables, 13 + variables + length)
}

/**
 * Whether a statement names this table. The names are only compared as words, not parsed, so that a few more statements
 * may be told.
 */
function mentions(statement: string, schema: string, wanted: Wanted): boolean {
  const words = new Set((statement.match(/`(?:[^`]|``)+`|[\p{L}\p{N}_$]+/gu) ?? []).map(unquoted))
  const inSchema = schema === wanted.schema || words.has(wanted.schema)
  if (!inSchema) return false
  if (wanted.table === null || words.has(wanted.table)) return true
  return /^(?:drop|alter)\s+(?:database|schema)\b/i.test(statement.replace(leading, '')) && words.has(wanted.schema)
}

function unquoted(word: string): string {
  return word.startsWith('`') ? word.slice(1, -1).replaceAll('``', '`') : word
}
