import type { PrimaryAssignment } from '#failover/protocol/assignment.ts'
import type { BinlogPlace } from '#topology/snapshot/observation.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import type { ProcessPort } from '../ports/process.ts'
import type { Ending, TailJudgement } from '../ports/volume.ts'

/**
 * What an agent remembers of one mysqld, and of no other. A mysqld that ended is remembered until the next one starts.
 * Times are monotonic milliseconds.
 */
export interface Life {
  /** Null before the first mysqld. */
  readonly pid: number | null
  readonly stage: Stage
  /** As primary: the newest revision that an acknowledged marker proves, and nothing doubts; 0 for none. */
  readonly markedRevision: number
  /**
   * As a member of a group that writes nothing: how many transactions had begun here at the last look, and where the
   * binlog ended then; null before one.
   */
  readonly proposed: { readonly count: number; readonly end: BinlogPlace } | null
  /** The relay logs were thrown away, because the machine had crashed or another hand did so. */
  readonly relayLogsDiscarded: boolean
  /** Another hand was seen to stop this mysqld. */
  readonly isStoppedByOthers: boolean
  /** The agent itself opened it, so that accounts change or a copy is made, and has not closed it since. */
  readonly openedByAgent: boolean
  /** The agent killed this mysqld to start the next one at once: that is no death. */
  readonly isRestarted: boolean
  /** How this mysqld ended, once its files were read after that. */
  readonly ending: Ending | null
  /** What is to become of its tail, once that was judged. */
  readonly tail: TailJudgement | null
}

/** What this mysqld was made by its agent. */
export type Stage = Closed | Prepared | Leading | Following

/** Started, or found: nothing was made of it yet. */
interface Closed {
  readonly is: 'closed'
}

/** Made ready to lead an epoch, and nothing else since. */
interface Prepared {
  readonly is: 'prepared'
  readonly epoch: number
  /** All that it holds, applied. */
  readonly executed: GtidText
}

/** The steps of an opening as primary, in their order. A pass that failed half-way goes on from the last one. */
export interface Leading {
  readonly is: 'leading'
  /**
   * `applying`: nobody else is on the server. `applied`: all that was received is executed. `gated`: gates and k are in
   * force, and replicas may connect. `open`: it was opened, and nothing else was made of it since.
   */
  readonly step: 'applying' | 'applied' | 'gated' | 'open'
  /** Its server was started again as primary: nobody is let in before a marker is acknowledged. */
  readonly inPlace: boolean
  /** What was executed once everything was applied; '' before. */
  readonly executed: GtidText
  /** The server was made ready before: nothing needs to be stopped or cleared again. */
  readonly wasPrepared: boolean
  /** The assignment whose gates and k are in force. */
  readonly applied: PrimaryAssignment | null
  /** What nobody waits for is done after this time; null where nothing is left. */
  readonly tidyAtMs: number | null
}

export interface Following {
  readonly is: 'following'
  /** `pointed`: made ready to follow, and to connect at its manager's word. `started`: its receiver was started. */
  readonly step: 'pointed' | 'started'
  /** What it was made ready for, as `pointedAs` writes it. */
  readonly as: string
  /** When it was pointed, or its receiver was started last. */
  readonly sinceMs: number
}

export function freshLife(pid: number | null): Life {
  return {
    pid,
    stage: { is: 'closed' },
    markedRevision: 0,
    proposed: null,
    relayLogsDiscarded: false,
    isStoppedByOthers: false,
    openedByAgent: false,
    isRestarted: false,
    ending: null,
    tail: null,
  }
}

/** Where the life is kept, and whose life that is. */
interface Owners {
  readonly course: { readonly life: Life }
  readonly process: Pick<ProcessPort, 'pid'>
}

/** The life of the mysqld that runs or ended last. Another mysqld begins with nothing. */
export function lifeOf({ course: { life }, process: { pid } }: Owners): Life {
  return life.pid === pid ? life : freshLife(pid)
}

/** The steps towards an open primary, where this mysqld took any. */
export function leadingOf({ stage }: Pick<Life, 'stage'>): Leading | null {
  return stage.is === 'leading' ? stage : null
}
