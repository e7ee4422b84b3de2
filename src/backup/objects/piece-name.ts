import { instanceOf, memberId, type MemberId } from '#topology/snapshot/member.ts'
import { endOfGtidNumbers, gtidNumber, type GtidNumber } from '#topology/gtid/gtid-number.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'

/**
 * A piece of the binlog archive, as its name tells. A piece has transactions of one source that follow each other in
 * the binlog of their sender, and whose numbers have no gap.
 */
export interface Piece {
  /** Epoch of the record in which the sender shipped the piece. */
  readonly epoch: number
  /** The earliest and the latest time at which a transaction of the piece was committed, on its source. */
  readonly firstMs: number
  readonly lastMs: number
  /** `uuid`, or `uuid:tag` of MySQL 8.3 and newer. */
  readonly source: string
  readonly from: GtidNumber
  readonly to: GtidNumber
  /**
   * The number of transactions that the sender had executed before these. One epoch has one order of commits, since
   * replicas preserve the order: so the number is a place in the epoch's history. The places of two pieces show what
   * lacks between them, also where numbers have gaps: tags, blocks of a group.
   */
  readonly preceding: number
  readonly sender: MemberId
  readonly file: string
  /** The place of the first transaction in that file. */
  readonly offset: number
}

const form =
  /^(?<first>\d{13})-(?<last>\d{13})-(?<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\.(?<tag>[a-z_][a-z0-9_]{0,31}))?-(?<from>\d{1,19})-(?<to>\d{1,19})-(?<preceding>\d{1,16})-(?<instance>[a-z][a-z0-9-]{0,38}-\d{1,2})\.(?<volume>[A-Za-z0-9]{1,64})-(?<file>[A-Za-z0-9._-]{1,255})-(?<offset>\d{13})$/

/** `<first ms>-<last ms>-<uuid>[.<tag>]-<from>-<to>-<preceding>-<instance>.<volume>-<file>-<offset>` */
export function pieceName(piece: Piece): string {
  const { firstMs, lastMs, source, from, to, preceding, sender, file, offset } = piece
  const volume = sender.slice(instanceOf(sender).length + 1)
  return [
    padded(firstMs),
    padded(lastMs),
    source.replace(':', '.'),
    ...[from, to, preceding],
    `${instanceOf(sender)}.${volume}`,
    file,
    padded(offset),
  ].join('-')
}

/** Null for a name that `pieceName` does not give. */
export function parsePieceName(epoch: number, name: string): Piece | null {
  const found = form.exec(name)?.groups
  if (found === undefined) return null
  const group = (key: string) => found[key] ?? ''
  const piece: Piece = {
    epoch,
    firstMs: Number(group('first')),
    lastMs: Number(group('last')),
    source: [group('uuid'), group('tag')].filter((part) => part !== '').join(':'),
    from: gtidNumber(BigInt(group('from'))),
    to: gtidNumber(BigInt(group('to'))),
    preceding: Number(group('preceding')),
    sender: memberId(group('instance'), group('volume')),
    file: group('file'),
    offset: Number(group('offset')),
  }
  return isPossible(piece) && pieceName(piece) === name ? piece : null
}

function isPossible({ firstMs, lastMs, from, to, preceding }: Piece): boolean {
  return from >= 1 && from <= to && to < endOfGtidNumbers && firstMs <= lastMs && Number.isSafeInteger(preceding)
}

export function gtidsOf({ source, from, to }: Pick<Piece, 'source' | 'from' | 'to'>): GtidSet {
  return GtidSet.range(source, from, to)
}

/** Whether a set has all transactions of a piece. Most pieces of an archive are asked this alone. */
export function isIn(set: GtidSet, { source, from, to }: Pick<Piece, 'source' | 'from' | 'to'>): boolean {
  return set.containsRange(source, from, to)
}

/** The order of pieces of one sender in its binlog: `binlog.1000000` comes after `binlog.999999`. */
export function inBinlogOrder(one: Piece, other: Piece): number {
  return fileNumber(one) - fileNumber(other) || one.offset - other.offset
}

function fileNumber({ file }: Piece): number {
  return Number(/\.(\d+)$/.exec(file)?.[1] ?? 0)
}

function padded(number: number): string {
  return String(number).padStart(13, '0')
}
