/** Where a writer finds the primary. */
export interface WriterTarget {
  /** The file with the published primary. */
  readonly routes: string
  /** Tried in turn while no primary is published. */
  readonly instances: readonly { readonly host: string; readonly port: number }[]
  /** Write to this address only, whatever is published. Whoever is behind a router is asked for the own address. */
  readonly pinned: { readonly host: string; readonly port: number; readonly asksServer?: true } | null
}

/** What a writer's process is told first. Passwords travel here, never in argv. */
export interface WriterOrders extends WriterTarget {
  readonly user: string
  readonly password: string
  /** Table of database `app`. */
  readonly table: string
  readonly firstId: number
  readonly everyMs: number
  /** What a row carries besides its id, in column `body`; 0 where the table has no such column. */
  readonly bodyBytes: number
  /** An attempt that takes longer is given up; whether its write took place is not known. */
  readonly attemptMs: number
  /** After a failed attempt the next one begins so much later. */
  readonly retryMs: number
  /** The process ends by itself after this time. */
  readonly lifeMs: number
}

/** One write that a server acknowledged. Times are the machine's monotonic clock. */
export interface Acknowledged {
  readonly id: number
  readonly host: string
  readonly beganMs: number
  readonly ackedMs: number
}

/** An attempt to log in or to write that failed, under what the server or the socket said. */
export interface Failure {
  readonly code: string
  readonly atMs: number
}

/** A login that a server took. */
export interface LetIn {
  readonly host: string
  readonly atMs: number
}

export interface WriterReport {
  readonly acknowledged: readonly Acknowledged[]
  /** Ids whose attempt failed after it may have reached a server. */
  readonly unknown: readonly number[]
  /** How often each code was said. */
  readonly errors: Readonly<Record<string, number>>
}

export type ToWriter = { readonly kind: 'begin'; readonly orders: WriterOrders } | { readonly kind: 'stop' }

export type FromWriter =
  | { readonly kind: 'acknowledged'; readonly writes: readonly Acknowledged[] }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'let-in'; readonly letIn: LetIn }
  | { readonly kind: 'unknown'; readonly id: number }
  | { readonly kind: 'ended' }
