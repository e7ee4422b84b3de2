import type { Sentence } from '../sentence/sentence.ts'

/**
 * A thing that is looked at again and again. How often, the starter of the watch says (`Watches.every`).
 *
 * A watch has no jitter. Nearly all watches ask a server or a disk that only their own program asks: the agent's
 * mysqld, a watched host, a folder. Three watches ask what others ask, too. The primary's agent alone asks the store of
 * backups each minute; a replica's agent asks it until the folder is known. Agents ask each other for what binlogs may
 * go. The period of each watch counts from the start of its program, also after a failure: so the agents of a cluster
 * do not fall in step, and a shared server that comes back meets no crowd.
 */
export interface Watch {
  /** What is looked after, in a few words: people read the name. */
  readonly name: string
  /** A look that takes longer is told of, once. Absent for a minute. */
  readonly deadlineMs?: number
  /** How a look that failed is told: its code, and the sentence before what went wrong. Absent where others tell. */
  readonly failure?: { readonly code: string; readonly sentence: Sentence }
  /** The watch rests while this says no: there is nothing of the kind to look at. Asked each time. */
  while?(): boolean
  /** Whether the time of the next look has come, or something hints at news. Asked each time. */
  isDue?(): boolean
  /** Looks come one at a time. A look that rejects or throws has failed, and the next look comes all the same. */
  look(): unknown
}

/** How one watch goes on. */
export interface WatchView {
  readonly name: string
  readonly everyMs: number
  /** Nothing of the kind is there to be looked at. */
  readonly rests: boolean
  /** Null before the end of the first look. */
  readonly last: { readonly agoMs: number; readonly tookMs: number } | null
  /** How long the present look has taken so far; null where none is under way. */
  readonly underWayMs: number | null
  /** Why the last look failed; '' where it did not. */
  readonly failure: string
}

/** Is told what is news. Told the same again at each failed look: who tells people leaves repetitions out. */
export type TellOfWatch = (code: string, sentence: Sentence) => void
