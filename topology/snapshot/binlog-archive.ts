/** How the shipping of a primary's binlogs goes. */
export interface BinlogArchiveSeen {
  /** All that had been executed so long ago is in the store; null before that was so once. Milliseconds. */
  readonly behindMs: number | null
  /** What an earlier restore needs and no binlog here holds any more, in a sentence; '' for nothing. */
  readonly hole: string
  /** Why nothing is shipped now; '' where all is well. */
  readonly trouble: string
}
