import { createReadStream } from 'node:fs'
import { createZstdDecompress } from 'node:zlib'
import {
  decodeGtid,
  decodePayloadHeader,
  decodeQuery,
  eventTypes,
  type GtidParts,
  type QueryEvent,
} from '#binlog/events.ts'
import { headerBytes, lengthOffset, typeOffset } from '#binlog/layout.ts'
import { stopScan, type BinlogEvent } from './file.ts'

/** A transaction in a binlog file: its GTID event and everything up to the next. */
export interface TransactionGroup {
  /** Null for a transaction without a GTID. */
  readonly gtid: GtidParts | null
  /** The `server_id` of the server where the transaction began. */
  readonly serverId: number
  readonly offset: number
  readonly end: number
  readonly ending: GroupEnding
}

/** How a transaction ends in the binlog, which says what a crash before its commit leaves of it. */
export type GroupEnding =
  | { readonly kind: 'xid' }
  | { readonly kind: 'xaPrepare' }
  /** The group is a single statement: DDL and the like. */
  | { readonly kind: 'statement'; readonly statement: QueryEvent }
  /** BEGIN … COMMIT as a statement: something other than InnoDB wrote it. */
  | { readonly kind: 'commitStatement' }
  | { readonly kind: 'rollbackStatement' }
  /** The file ends in the middle of it: it was never executed as far as the binlog is concerned. */
  | { readonly kind: 'incomplete' }
  /** Compressed; `endingOfPayload` tells. Offsets are those of the event's body in the file. */
  | { readonly kind: 'payload'; readonly bodyOffset: number; readonly head: Buffer }
  | { readonly kind: 'notUnderstood'; readonly what: string }

/** Events that may stand inside a transaction and say nothing about its end. */
const insideTransaction: ReadonlySet<number> = new Set([
  eventTypes.intvar,
  eventTypes.appendBlock,
  eventTypes.deleteFile,
  eventTypes.rand,
  eventTypes.userVar,
  eventTypes.beginLoadQuery,
  eventTypes.executeLoadQuery,
  eventTypes.tableMap,
  eventTypes.rowsQuery,
  eventTypes.writeRows,
  eventTypes.updateRows,
  eventTypes.deleteRows,
  eventTypes.partialUpdateRows,
])

/** Events between transactions. */
const betweenTransactions: ReadonlySet<number> = new Set([
  eventTypes.formatDescription,
  eventTypes.previousGtids,
  eventTypes.rotate,
  eventTypes.stop,
])

const gtidEvents: ReadonlySet<number> = new Set([eventTypes.gtid, eventTypes.gtidTagged, eventTypes.anonymousGtid])

/** Gathers the events of a file, given in order, into transactions. `finish` must be called at the file's end. */
export class GroupFold {
  readonly #onGroup: (group: TransactionGroup) => typeof stopScan | undefined | void
  #gtid: GtidParts | null = null
  #serverId = 0
  #offset = -1
  #end = 0
  #ending = new EndingFold()

  constructor(onGroup: (group: TransactionGroup) => typeof stopScan | undefined | void) {
    this.#onGroup = onGroup
  }

  add(event: BinlogEvent): typeof stopScan | undefined {
    if (betweenTransactions.has(event.type)) return this.finish()
    const begins = gtidEvents.has(event.type)
    const answer = begins ? this.finish() : undefined
    if (answer === stopScan) return stopScan
    if (begins || this.#offset < 0) this.#begin(event)
    if (!begins) this.#ending.add(event.type, event.body, event.offset)
    this.#end = event.end
    return undefined
  }

  finish(): typeof stopScan | undefined {
    if (this.#offset < 0) return undefined
    const group = {
      gtid: this.#gtid,
      serverId: this.#serverId,
      offset: this.#offset,
      end: this.#end,
      ending: this.#ending.ending(),
    }
    this.#offset = -1
    return this.#onGroup(group) === stopScan ? stopScan : undefined
  }

  #begin(event: BinlogEvent): void {
    const hasGtid = event.type === eventTypes.gtid || event.type === eventTypes.gtidTagged
    this.#gtid = hasGtid ? decodeGtid(event.body, event.type === eventTypes.gtidTagged) : null
    this.#serverId = event.serverId
    this.#offset = event.offset
    this.#ending = new EndingFold()
  }
}

/** Follows the events of one transaction, without its GTID event. */
class EndingFold {
  #inTransaction = false
  #count = 0
  #ending: GroupEnding = { kind: 'incomplete' }

  ending(): GroupEnding {
    return this.#ending
  }

  add(type: number, body: Buffer, offset: number): void {
    this.#count += 1
    if (this.#ending.kind === 'notUnderstood') return
    this.#ending =
      this.#ending.kind === 'incomplete'
        ? this.#next(type, body, offset)
        : { kind: 'notUnderstood', what: `event type ${type} after the transaction’s end` }
  }

  #next(type: number, body: Buffer, offset: number): GroupEnding {
    if (insideTransaction.has(type)) return { kind: 'incomplete' }
    switch (type) {
      case eventTypes.query:
        return this.#query(decodeQuery(body))
      case eventTypes.xid:
        return this.#inTransaction
          ? { kind: 'xid' }
          : { kind: 'notUnderstood', what: 'an Xid event outside a transaction' }
      case eventTypes.xaPrepare:
        return this.#inTransaction
          ? { kind: 'xaPrepare' }
          : { kind: 'notUnderstood', what: 'an XA_PREPARE event outside a transaction' }
      case eventTypes.transactionPayload:
        return {
          kind: 'payload',
          bodyOffset: offset + headerBytes,
          head: Buffer.from(body.subarray(0, payloadHeaderLimit)),
        }
      default:
        return { kind: 'notUnderstood', what: `event type ${type}` }
    }
  }

  #query(statement: QueryEvent): GroupEnding {
    if (this.#inTransaction) {
      if (statement.text === 'COMMIT') return { kind: 'commitStatement' }
      return statement.text === 'ROLLBACK' ? { kind: 'rollbackStatement' } : { kind: 'incomplete' }
    }
    if (this.#count > 1) return { kind: 'notUnderstood', what: 'a statement after other events, outside a transaction' }
    this.#inTransaction = statement.text === 'BEGIN' || statement.text.startsWith('XA START')
    return this.#inTransaction ? { kind: 'incomplete' } : { kind: 'statement', statement }
  }
}

/** More than the header of a Transaction_payload event ever takes. */
const payloadHeaderLimit = 256

/**
 * How the transaction inside a compressed group ends: the payload is a row of events without checksums. The payload is
 * decompressed as a stream, and of each event only the beginning is kept. Any other ending is returned as it is.
 */
export async function endingOfPayload(path: string, ending: GroupEnding, signal?: AbortSignal): Promise<GroupEnding> {
  if (ending.kind !== 'payload') return ending
  const header = decodePayloadHeader(ending.head)
  const start = ending.bodyOffset + header.length
  const stored = createReadStream(path, {
    start,
    end: start + header.payloadLength - 1,
    ...(signal === undefined ? {} : { signal }),
  })
  const inner = new PayloadEvents()
  try {
    const plain = header.compression === 'none' ? stored : stored.pipe(createZstdDecompress())
    for await (const chunk of plain) inner.push(chunk as Buffer)
  } catch (error) {
    signal?.throwIfAborted()
    return {
      kind: 'notUnderstood',
      what: `a compressed transaction that cannot be decompressed (${error instanceof Error ? error.message : String(error)})`,
    }
  } finally {
    stored.destroy()
  }
  return inner.ending()
}

const keptOfEvent = 65_536

class PayloadEvents {
  readonly #fold = new EndingFold()
  #left: Buffer = Buffer.alloc(0)
  #skip = 0

  push(chunk: Buffer): void {
    const skipped = Math.min(this.#skip, chunk.length)
    this.#skip -= skipped
    const rest = chunk.subarray(skipped)
    this.#left = this.#left.length === 0 ? rest : Buffer.concat([this.#left, rest])
    while (this.#takeEvent());
  }

  ending(): GroupEnding {
    const isWhole = this.#left.length === 0 && this.#skip === 0
    return isWhole
      ? this.#fold.ending()
      : { kind: 'notUnderstood', what: 'a compressed transaction that ends in the middle of an event' }
  }

  #takeEvent(): boolean {
    if (this.#left.length < headerBytes) return false
    const length = Math.max(headerBytes, this.#left.readUInt32LE(lengthOffset))
    const needed = Math.min(length, keptOfEvent)
    if (this.#left.length < needed) return false
    this.#fold.add(this.#left.readUInt8(typeOffset), this.#left.subarray(headerBytes, needed), 0)
    this.#skip = Math.max(0, length - this.#left.length)
    this.#left = this.#left.subarray(Math.min(length, this.#left.length))
    return this.#left.length > 0
  }
}
