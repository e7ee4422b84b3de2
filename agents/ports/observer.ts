import type { Heard } from '#common/sentence/sentence.ts'
import type { Watches } from '#common/watch/watches.ts'
import type { ServerState, WriteProbe } from '#topology/snapshot/observation.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'

/** Whether a write went through when the agent last tried, and what stood in the way. */
export interface Probe {
  readonly result: WriteProbe
  readonly detail: Heard
}

/**
 * Keeps looking at the server: everything it says, and whether a write goes through. A query that does not answer in
 * time is itself what was observed, never a hang.
 */
export interface ObserverPort {
  start(watches: Watches): void
  stop(): void
  readonly server: ServerState | null
  /** How many looks have begun, and which of them `server` shows: 0 for none. */
  readonly looksBegun: number
  readonly look: number
  /** What `server` shows was said after all that the agent did to it. */
  readonly isFresh: boolean
  readonly probe: Probe
  /** On the data volume by the last look at the disk, which may be seconds old. Null before the first one. */
  readonly freeBytes: number | null
  /** Looks at the disk now, and resolves to what `freeBytes` is from then on. */
  freeBytesNow(): Promise<number>
  /**
   * Milliseconds since the server last answered everything; 0 while it answers. A time in which the agent itself stood
   * still does not count.
   */
  readonly silentMs: number
  /** Milliseconds since the look began that `server` shows. */
  readonly lookAgeMs: number
  /**
   * Reads the server now and resolves to what it says, after all that the agent changed until then; rejects as the
   * server port does.
   */
  refresh(): Promise<ServerState>
  /** What the server said at most `maxAgeMs` ago and after all that the agent changed, else what it says now. */
  recent(maxAgeMs: number): Promise<ServerState>
  /** The agent changed the server: the next look is a new one, and one that began before shows nothing any more. */
  outdate(): void
  /**
   * The server is known to hold this. Shown at once: else a promoted server would seem, for a moment, to lack what it
   * was promoted for.
   */
  knownToHold(holds: GtidText): void
  /** The process ended: what was read of it is over. */
  forget(): void
}
