import type { ClusterRecord } from '#failover/protocol/record.ts'
import type { ClusterNotes } from '#failover/protocol/notes.ts'

/**
 * Where records live. The interface is small; the only primitive that safety rests on is `compareAndSwap`. All methods
 * reject with `REGENT_STORE_UNAVAILABLE` when the store cannot be reached or answers too late. A rejected
 * compare-and-swap may still have happened: read again before deciding.
 */
export interface Store {
  /** Reads the newest committed record: never from a cache, never from a replica that lags. */
  readRecord(cluster: string): Promise<ClusterRecord | undefined>
  /**
   * Replaces the record if its revision is still `expectedRevision` (0 = there must be none). `next.revision` must be
   * `expectedRevision + 1`; a first record may begin at any revision (a lost one that is rebuilt goes on above what
   * agents stored). Durable before it resolves. Resolves to false when somebody else was first.
   */
  compareAndSwap(cluster: string, expectedRevision: number, next: ClusterRecord): Promise<boolean>
  /** The second object: what no order depends on. Last writer wins within the `update` function's retry. */
  readNotes(cluster: string): Promise<ClusterNotes>
  /** Read, change, write back if nobody wrote meanwhile; tried again until it is. Resolves to what was written. */
  updateNotes(cluster: string, change: (notes: ClusterNotes) => ClusterNotes): Promise<ClusterNotes>
  /**
   * Removes the record and the notes of a cluster that is no more; nothing where there are none. Never of one that a
   * manager still works on: it would take the cluster for one that was never there.
   */
  forget(cluster: string): Promise<void>
  close(): Promise<void>
}

/**
 * A store by which managers also settle who of them works. On Kubernetes a `Lease` does that
 * (`src/controller-runtime/leader/lease-elector.ts`).
 */
export interface LeadingStore extends Store {
  /** Takes or renews leadership for `ttlMs`; undefined while another manager has it. */
  lead(manager: string, ttlMs: number): Promise<Leadership | undefined>
  /** Gives leadership up at once, if it is still ours. */
  resign(manager: string): Promise<void>
}

export interface Leadership {
  readonly manager: string
  /** Grows each time leadership changes hands. */
  readonly fencingToken: number
}
