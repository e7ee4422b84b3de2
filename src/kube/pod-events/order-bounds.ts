import { happenedMicros, type PodEvent } from './pod-event.ts'

/** The two orders in which roles are told; numbers of one say nothing about the other. */
export type VersionKind = 'snapshot' | 'authoritative'

/** The greatest number that can order a role now. What is greater would stay the newest word for years. */
export type OrderBounds = Readonly<Record<VersionKind, bigint>>

/** Clocks of nodes may be so far ahead of the API server's. */
const mostAheadMs = 60_000

/**
 * By the API server's clock, which no agent moves. A time is in microseconds. A version is an engine's own number: an
 * epoch or a term, or at most a time in nanoseconds.
 */
export function orderBoundsAt(serverMs: number): OrderBounds {
  const latestMs = BigInt(Math.round(serverMs) + mostAheadMs)
  return { snapshot: latestMs * 1_000n, authoritative: latestMs * 1_000_000n }
}

/** When an Event was said, as far as that is believed. */
export interface SaidAt {
  readonly micros: bigint
  /** By how much its clock is ahead, where that is too much to be believed. */
  readonly aheadMs?: number
}

/**
 * A time that is too far ahead counts as the time at which the Event came: when the API server took it, or where it was
 * repeated since, now.
 */
export function saidAt(event: PodEvent, serverMs: number): SaidAt {
  const micros = happenedMicros(event)
  if (micros <= orderBoundsAt(serverMs).snapshot) return { micros }
  const madeMs = Date.parse(event.metadata.creationTimestamp ?? '')
  const cameMs = (event.count ?? 1) > 1 || Number.isNaN(madeMs) ? serverMs : Math.min(madeMs, serverMs)
  return { micros: BigInt(Math.round(cameMs)) * 1_000n, aheadMs: Number(micros / 1_000n) - Math.round(serverMs) }
}
