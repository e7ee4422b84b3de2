import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import type { BinlogPosition } from '../servers/seen.ts'
import { channelOf, sourceOf } from './links.ts'
import type { AnsweredLook, Look } from './look.ts'

/** How far a replica has got what its source wrote. */
export interface Holdings {
  readonly gtids: GtidSet
  /** The place in the source's binlog; null where the replica follows another server. */
  readonly read: BinlogPosition | null
}

export function holdingsOf(look: AnsweredLook, source: Look, looks: readonly Look[]): Holdings {
  const channel = channelOf(look, looks)
  const follows = channel !== undefined && sourceOf(channel, looks) === source
  return {
    gtids: unionOf([look.server.executed, ...look.server.channels.map(({ received }) => received)]),
    read: follows ? channel.read : null,
  }
}

/** Whether all of these servers number what they write. */
export function numbersTransactions(looks: readonly Look[]): boolean {
  return looks.every(({ server }) => server === null || server.gtidMode === 'ON')
}

/** Below zero where the first is behind the second. Names of binlogs are compared by their numbers. */
export function comparePositions(one: BinlogPosition | null, other: BinlogPosition | null): number {
  return numberOf(one) - numberOf(other) || (one?.position ?? 0) - (other?.position ?? 0)
}

function numberOf(place: BinlogPosition | null): number {
  return place === null ? -1 : Number(/\.(\d+)$/.exec(place.file)?.[1] ?? 0)
}

/**
 * What a replica holds and its source has not: what it held at an answer that had ended before the newest look at the
 * source began. What came from the source was there by then, so the source's answer shows it.
 */
export function errantAt(replica: AnsweredLook, source: AnsweredLook): GtidSet {
  const proven = replica.answeredMs <= source.askedMs ? replica.server.executed : earlier(replica, source)
  if (proven === '') return GtidSet.empty
  return unionOf([proven])
    .subtract(unionOf([source.server.executed]))
    .withoutSource(source.server.uuid)
}

function earlier({ before }: Look, source: Look): string {
  return before !== null && before.answeredMs <= source.askedMs ? before.executed : ''
}
