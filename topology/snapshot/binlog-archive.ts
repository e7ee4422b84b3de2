import type { GtidText } from './gtid-text.ts'

/** How the shipping of a primary's binlogs goes. */
export interface BinlogArchiveSeen {
  /** All that had been executed so long ago is in the store; null before that was so once. Milliseconds. */
  readonly behindMs: number | null
  /**
   * What the archive needs and no binlog here holds any more: another instance may. Absent for nothing, and from older
   * agents.
   */
  readonly lacks?: GtidText
  /** What an earlier restore needs and no binlog here holds any more, in a sentence; '' for nothing. */
  readonly hole: string
  /** Why nothing is shipped now; '' where all is well. */
  readonly trouble: string
}

/** How the shipping goes of what the archive lacks, out of the binlogs of an instance that is not primary. */
export interface HoleClosingSeen {
  readonly stage: 'ships' | 'done' | 'failed'
  /** What it was told to ship. */
  readonly gtids: GtidText
  /** What came of that, or why it failed; '' before. */
  readonly sentence: string
  /** Milliseconds since it said so. */
  readonly agoMs: number
}
