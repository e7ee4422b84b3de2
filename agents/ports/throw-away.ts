/** Its `relay_log`: relay logs of a channel are named so, a hyphen, and the channel. */
export const relayLogName = 'replayed'

/** As the server gives it. */
export type AnsweredRow = Readonly<Record<string, unknown>>

/** A server that runs on a folder for a while, beside the instance's own or before that server: nobody can reach it. */
export interface ThrowAwayServer {
  /**
   * Rows of one statement, which may take as long as it takes. Rejects with `REGENT_SERVER_ERROR`, with
   * `REGENT_SERVER_DOWN` and the server's own words where it has ended, and with the reason of the signal that it was
   * started with.
   */
  query(statement: string): Promise<readonly AnsweredRow[]>
  /** In order, and without the account by which it was asked; resolves when it has ended. Rejects where that failed. */
  shutDown(): Promise<void>
  /** At once; resolves when it is gone. */
  kill(): Promise<void>
}

export interface HowToRun {
  /** Ends it. */
  readonly signal: AbortSignal
  /** Others work on this machine: it takes what processor and disk they leave. */
  readonly spares: boolean
}

export interface ThrowAwayPort {
  /**
   * Starts a server on this data folder, which takes the transactions of any server from relay logs, and writes no
   * binlog. Resolves when it answers; rejects with its own words where it ends before. At most one such server runs.
   */
  start(folder: string, how: HowToRun): Promise<ThrowAwayServer>
  /** Ends what an agent that died left running. */
  endLeftover(): Promise<void>
}
