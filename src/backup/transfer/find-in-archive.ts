import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import type { ArchiveSearch, FoundTransactions } from '#failover/protocol/stored-backups.ts'
import { keyOf } from '../objects/object-key.ts'
import { inBinlogOrder, type Piece } from '../objects/piece-name.ts'
import { findKinds, Finder, type FindKind, type Found, type Wanted } from '../restore/finder.ts'
import { momentOf } from '../restore/restore-target.ts'
import { readPiece } from './read-piece.ts'
import { readBinlogArchive } from './stored-archive.ts'
import type { LookedInto } from './stored-backups.ts'

/** A search names whole seconds. */
const secondMs = 1_000

/** The place where a search stops before its end, and the course of the search. */
export interface SearchLimits {
  /** Asked after each piece. */
  readonly isEnough: (found: number) => boolean
  readonly progress?: (read: number, pieces: number) => void
  /** A longer compressed transaction is counted, and not looked into. */
  readonly longestPayload?: number
  readonly signal: AbortSignal
}

/** Reads the words of a person's search. Throws `REGENT_BAD_REQUEST`, before a store is asked. */
export function understood({ table: words, kind, since, until }: ArchiveSearch) {
  const [, schema = '', table = ''] = /^([^.]+)\.([^.]+)$/.exec(words) ?? []
  if (schema === '')
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`the table is "${reported(words)}": write schema.table, such as app.orders`,
    )
  const wanted: Wanted = { schema, table: table === '*' ? null : table, kind: kindOf(kind) }
  return {
    wanted,
    fromMs: since === undefined ? -Infinity : momentOf('since', since),
    toMs: until === undefined ? Infinity : momentOf('until', until) + secondMs - 1,
  }
}

function kindOf(kind: string | undefined): FindKind | null {
  const found = findKinds.find((each) => each === kind) ?? null
  if (kind !== undefined && found === null)
    throw new RegentError('REGENT_BAD_REQUEST', say`the kind is "${kind}"; allowed is one of ${findKinds.join(', ')}`)
  return found
}

/** Reads the pieces of the wanted time, the oldest first, behind the piece that the search names. */
export async function findInArchive(
  { store, key, cluster }: LookedInto,
  search: ArchiveSearch,
  limits: SearchLimits,
): Promise<FoundTransactions> {
  const { wanted, fromMs, toMs } = understood(search)
  const finder = new Finder(wanted, limits.longestPayload)
  const { pieces } = await readBinlogArchive(store, cluster)
  const meant = pieces.filter(({ firstMs, lastMs }) => lastMs >= fromMs && firstMs <= toMs).toSorted(inTime)
  const keyOfPiece = (piece: Piece) => keyOf({ kind: 'piece', cluster, piece })
  let read = search.after === undefined ? 0 : behind(meant.map(keyOfPiece), search.after)
  while (read < meant.length) {
    limits.progress?.(read, meant.length)
    const [piece] = meant.slice(read)
    if (piece === undefined) break
    const from = { store, cluster, lineage: null, piece, key, signal: limits.signal }
    for await (const segment of readPiece(from)) finder.see(segment)
    read += 1
    if (limits.isEnough(finder.found.length)) break
  }
  const last = meant[read - 1]
  return {
    ...{ cluster, pieces: meant.length, read, passedOver: finder.passedOver },
    found: once(finder.found).filter(({ committedMs }) => committedMs >= fromMs && committedMs <= toMs),
    next: read < meant.length && last !== undefined ? keyOfPiece(last) : null,
  }
}

/** The pieces of one sender are in the order of its binlog; those of two senders go by their clocks. */
function inTime(one: Piece, other: Piece): number {
  return (
    one.epoch - other.epoch || (one.sender === other.sender ? inBinlogOrder(one, other) : one.firstMs - other.firstMs)
  )
}

function behind(keys: readonly string[], after: string): number {
  const at = keys.indexOf(after)
  if (at !== -1) return at + 1
  throw new RegentError('REGENT_REFUSED', say`the archive changed while it was searched: begin the search again`, {
    remedy: '',
  })
}

/** Leaves out a transaction that two senders shipped. */
export function once<T extends Pick<Found, 'gtid' | 'kind'> | { gtid: string; kind: string }>(
  found: readonly T[],
): readonly T[] {
  return [...new Map(found.map((each) => [`${each.gtid} ${each.kind}`, each])).values()]
}
