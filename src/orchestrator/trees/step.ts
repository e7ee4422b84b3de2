/** A place in the binlogs of a server that is known only when a plan has got so far. */
export type PlaceThen =
  /** Where the binlog of that server ends. */
  | { readonly endOf: string }
  /** How far that server has applied the binlog of its source. */
  | { readonly appliedBy: string }

/** Where a server is told to find its source. */
export type SourceThen =
  | { readonly instance: string }
  /** The source of that server, by the name that this server has for it. */
  | { readonly sourceOf: string }
  | { readonly host: string; readonly port: number }

/**
 * A thing that is done at one server of a watched cluster. Instances are called by their names. A plan that ends after
 * any of its steps leaves every server with all it has: perhaps one stands, and is started by the next manager.
 */
export type Step =
  | {
      readonly do: 'stop' | 'start' | 'stopReceiving' | 'startReceiving' | 'reset' | 'flushLogs'
      readonly at: string
    }
  /** The server follows nobody any more, and takes writes. */
  | { readonly do: 'lead'; readonly at: string }
  /** Nobody answers there: a living server is never led beside. */
  | { readonly do: 'absent'; readonly at: string }
  /** The server has all that `with` has received. */
  | { readonly do: 'covers'; readonly at: string; readonly with: string }
  /** Waits until it has applied all that it has received. */
  | { readonly do: 'drain'; readonly at: string }
  /** By GTIDs: waits, while it replicates, until it has applied all that `with` has. */
  | { readonly do: 'catchUp'; readonly at: string; readonly with: string }
  /** Applies what it lacks up to that place, and stands there. */
  | { readonly do: 'advance'; readonly at: string; readonly to: PlaceThen }
  /** Two that follow the same source and stand: who is behind advances to the place of the other. */
  | { readonly do: 'level'; readonly at: string; readonly with: string }
  /** `login`: the server has followed nobody yet, and is given the account of replication. */
  | {
      readonly do: 'follow'
      readonly at: string
      readonly source: SourceThen
      readonly from: 'gtids' | PlaceThen
      readonly login?: true
    }
  | { readonly do: 'readOnly'; readonly at: string; readonly on: boolean }
  | { readonly do: 'semiSync'; readonly at: string; readonly side: 'source' | 'replica'; readonly on: boolean }
  /** Empty transactions with these GTIDs. */
  | { readonly do: 'inject'; readonly at: string; readonly gtids: string }
  /** Its binlogs are emptied, and it says of these GTIDs no more that it has executed them. */
  | { readonly do: 'resetGtids'; readonly at: string; readonly without: string }

/** What nobody may have in maintenance while a change is made. */
export interface Lock {
  readonly at: string
  /** What orchestrator writes down as the reason of its own maintenance there. */
  readonly reason: string
}

export interface Change {
  readonly steps: readonly Step[]
  /** Absent where orchestrator asks for none. */
  readonly locks?: readonly Lock[]
  /**
   * Puts everything right again where the change ends before somebody leads. A change without a `lead` leaves that to
   * the one that comes next; one without steps does that, at each server for itself.
   */
  readonly undo?: readonly Step[]
}

/** What is to be done, in this order; or why nothing is. */
export type Planned = Change | { readonly why: string }

/** Servers that a plan touches. */
export function touchedBy(steps: readonly Step[]): readonly string[] {
  return [...new Set(steps.map(({ at }) => at))]
}
