import type { Sentence } from '../sentence/sentence.ts'

/** What is looked at again and again. How often, whoever starts the watch says. */
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
