import { Finder, type FindKind, type Found, type Wanted } from '#backup/restore/finder.ts'
import { inBinlogOrder, type Piece } from '#backup/objects/piece-name.ts'
import { momentOf } from '#backup/restore/restore-target.ts'
import { keyOfStore } from '#backup/transfer/read-key-file.ts'
import { readPiece } from '#backup/transfer/read-piece.ts'
import { readBinlogArchive } from '#backup/transfer/stored-archive.ts'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { counted } from '#common/text/words.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'
import { renderTable } from '../terminal/table.ts'
import type { StoredOptions } from './backup-options.ts'
import { opened } from './stored.ts'

export interface FindOptions extends StoredOptions {
  readonly table: string
  readonly kind?: FindKind
  readonly since?: string
  readonly until?: string
}

/** Whole seconds are meant. */
const secondMs = 1_000
const toldEveryMs = 2_000

/** Reads the pieces of the time that is meant, oldest first. Throws `REGENT_BAD_REQUEST` before a store is asked. */
export async function findInArchive(io: Io, wanted: string | undefined, options: FindOptions): Promise<void> {
  const { since, until, output } = options
  const finder = new Finder(wantedOf(options))
  const fromMs = since === undefined ? -Infinity : momentOf('since', since)
  const toMs = until === undefined ? Infinity : momentOf('until', until) + secondMs - 1
  const { cluster, store, where } = await opened(wanted, options)
  try {
    const key = await keyOfStore(where)
    const { pieces } = await readBinlogArchive(store, cluster)
    const meant = pieces.filter(({ firstMs, lastMs }) => lastMs >= fromMs && firstMs <= toMs).toSorted(inTime)
    const tell = progress(io, meant.length)
    for (const [at, piece] of meant.entries()) {
      tell(at)
      for await (const segment of readPiece({ store, cluster, lineage: null, piece, key, signal: io.interrupted() }))
        finder.see(segment)
    }
    const found = once(finder.found).filter(({ committedMs }) => committedMs >= fromMs && committedMs <= toMs)
    if (output === 'json')
      return io.out(toJson({ cluster, pieces: meant.length, passedOver: finder.passedOver, found: found.map(shown) }))
    print(io, found, { cluster, pieces: meant.length, passedOver: finder.passedOver })
  } finally {
    store.close()
  }
}

function wantedOf({ table: words, kind }: FindOptions): Wanted {
  const [, schema = '', table = ''] = /^([^.]+)\.([^.]+)$/.exec(words) ?? []
  if (schema === '')
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`--table is "${reported(words)}": write schema.table, such as app.orders`,
    )
  return { schema, table: table === '*' ? null : table, kind: kind ?? null }
}

/** Of one sender as in its binlog; of two by their clocks. */
function inTime(one: Piece, other: Piece): number {
  return (
    one.epoch - other.epoch || (one.sender === other.sender ? inBinlogOrder(one, other) : one.firstMs - other.firstMs)
  )
}

/** Two senders may have shipped one transaction. */
function once(found: readonly Found[]): readonly Found[] {
  return [...new Map(found.map((each) => [`${each.gtid} ${each.kind}`, each])).values()]
}

function progress(io: Io, pieces: number): (at: number) => void {
  let toldAtMs = performance.now()
  return (at) => {
    if (performance.now() - toldAtMs < toldEveryMs) return
    toldAtMs = performance.now()
    io.note(`${at} of ${counted(pieces, 'piece')} of the archive are read`)
  }
}

function print(
  io: Io,
  found: readonly Found[],
  { cluster, pieces, passedOver }: { readonly cluster: string; readonly pieces: number; readonly passedOver: number },
): void {
  if (passedOver > 0)
    io.note(`${counted(passedOver, 'compressed transaction')} of more than 64 MiB could not be looked into`)
  if (found.length === 0)
    return io.out(`nothing of that is in the archive of ${cluster} (${counted(pieces, 'piece')} read)`)
  const rows = found.map((each) => {
    const { at, kind, gtid, statement } = shown(each)
    return [at, kind, gtid, statement.replaceAll(/\s+/g, ' ').slice(0, 100)]
  })
  for (const line of renderTable(['COMMITTED', 'KIND', 'TRANSACTION', 'STATEMENT'], rows)) io.out(line)
  io.note(`"regent restore NAME --cluster ${cluster} --from STORE --before TRANSACTION" has everything before one`)
}

function shown({ committedMs, ...found }: Found) {
  return { at: new Date(committedMs).toISOString(), ...found }
}
