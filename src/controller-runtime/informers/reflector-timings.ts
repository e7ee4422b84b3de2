import type { BackoffOptions } from '../client/backoff.ts'

export interface ReflectorTimings {
  /** Objects in a page of a list. */
  readonly pageSize: number
  readonly listDeadlineMs: number
  /** A watch ends by itself at a random time between these, so that those of many processes spread. */
  readonly shortestWatchMs: number
  readonly longestWatchMs: number
  /** A watch that is silent for longer than this is dead, whatever TCP believes. */
  readonly idleMs: number
  /** So long without any word, whichever watch it was of, and the version from which they begin is doubted. */
  readonly muteMs: number
  readonly backoff: BackoffOptions
  /**
   * A watch that lived so long is opened again without a wait, and lists are at least so far apart unless a wait is
   * between them.
   */
  readonly settledMs: number
}

/**
 * Short watches: an API server that dies without a word (a machine without power, a process that is frozen behind a
 * load balancer) ends none, and by HTTP/1.1 nobody can be asked on the connection of a watch, as HTTP/2 pings do. A
 * watch that is alive has a bookmark two seconds before its end, whether or not anything happens, and the next one goes
 * on from there: no list, no handshake. So 45 s of silence are a death.
 */
const one = { shortestWatchMs: 30_000, longestWatchMs: 40_000 } as const
const afterEndMs = 5_000
/** A watch has a bookmark each minute, however long it lasts. */
const silentBookmarksMs = 90_000
/** With more namespaces each kind has as many watches: these last longer, so that quiet ones cost as little. */
const manyNamespaces = 8

/** @param namespaces so many are watched one by one; 1 for all in one */
export function timingsFor(namespaces: number): ReflectorTimings {
  const factor = Math.max(1, namespaces / manyNamespaces)
  const longestWatchMs = one.longestWatchMs * factor
  return {
    pageSize: 500,
    listDeadlineMs: 60_000,
    shortestWatchMs: one.shortestWatchMs * factor,
    longestWatchMs,
    idleMs: Math.min(longestWatchMs + afterEndMs, silentBookmarksMs),
    muteMs: silentBookmarksMs + longestWatchMs,
    backoff: { firstMs: 800, longestMs: 30_000, factor: 2, jitter: 1, forgetAfterMs: 120_000 },
    settledMs: 10_000,
  }
}
