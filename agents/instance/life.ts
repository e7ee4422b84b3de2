import type { Parts } from './parts.ts'

/**
 * What an agent remembers of one mysqld, and of no other. A mysqld that ended is remembered until the next one starts.
 * Times are monotonic milliseconds.
 */
export interface Life {
  /** Null before the first mysqld. */
  readonly pid: number | null
  /** Made ready to lead this epoch, and what was executed by then. */
  prepared: { readonly epoch: number; readonly executed: string } | null
  /** Made ready to follow a source that is not ready yet: as what, and when. */
  pointed: { readonly as: string; readonly atMs: number } | null
  /** The opening as primary that is under way. Decided once, so that a pass that failed half-way goes on as begun. */
  opening: { readonly inPlace: boolean } | null
  /** Open as primary, and nothing else since. */
  isOpen: boolean
  /** Opened a moment ago. What nobody waits for is done after this time; null once that is done. */
  untidyUntilMs: number | null
  /** The relay logs were thrown away, because the machine had crashed or another hand did so. */
  relayLogsDiscarded: boolean
  /** Another hand was seen to stop this mysqld. */
  isStoppedByOthers: boolean
  /** How this mysqld ended was looked at. */
  endingRead: boolean
  /** The agent killed this mysqld to start the next one at once: that is no death. */
  isRestarted: boolean
}

export function freshLife(pid: number | null): Life {
  return {
    pid,
    prepared: null,
    pointed: null,
    opening: null,
    isOpen: false,
    untidyUntilMs: null,
    relayLogsDiscarded: false,
    isStoppedByOthers: false,
    endingRead: false,
    isRestarted: false,
  }
}

/** The life of the mysqld that runs or ended last. Another mysqld begins with nothing. */
export function lifeOf({ course, process }: Pick<Parts, 'course' | 'process'>): Life {
  if (course.life.pid !== process.pid) course.life = freshLife(process.pid)
  return course.life
}

/** This mysqld is no open primary, and none that is being opened. */
export function leadNoMore(life: Life): void {
  life.isOpen = false
  life.opening = null
}
