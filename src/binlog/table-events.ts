import { unreadable } from './events.ts'
import { say } from '#common/sentence/sentence.ts'

/** A table as a Table_map event names it. */
export interface MappedTable {
  readonly id: number
  readonly schema: string
  readonly table: string
}

const idBytes = 6
const namesOffset = 8

/** @param body of a Table_map event, without header. Throws `REGENT_BINLOG_UNREADABLE` */
export function decodeTableMap(body: Buffer): MappedTable {
  const schemaEnd = namesOffset + 1 + (body[namesOffset] ?? 0)
  const tableStart = schemaEnd + 2
  const tableEnd = tableStart + (body[schemaEnd + 1] ?? 0)
  if (tableEnd >= body.length) throw unreadable(say`a Table_map event ends within its names`)
  return {
    id: decodeTableId(body),
    schema: body.toString('utf8', namesOffset + 1, schemaEnd),
    table: body.toString('utf8', tableStart, tableEnd),
  }
}

/** The table's number, in a Table_map event or in an event with rows. */
export function decodeTableId(body: Buffer): number {
  if (body.length < idBytes) throw unreadable(say`an event of rows ends within the number of its table`)
  return body.readUIntLE(0, idBytes)
}
