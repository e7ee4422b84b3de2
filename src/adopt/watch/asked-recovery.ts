import type { RecoveryBegun, RecoveryEnded, WatchedRecovery } from '#manager/clusters/watched.ts'
import { memberId } from '#topology/snapshot/member.ts'

export interface Now {
  readonly monotonicMs: number
  readonly wallMs: number
}

/** A recovery that somebody asked for, while it goes on and when it has ended: kept with what was seen of outages. */
export class AskedRecovery {
  readonly #beganMs: number
  #recovery: WatchedRecovery

  constructor(id: string, { kind, analysis, from }: RecoveryBegun, now: Now) {
    this.#beganMs = now.monotonicMs
    this.#recovery = {
      ...{ id, kind, startedWallMs: now.wallMs, analysis, sentence: analysis },
      ...{ from: memberId(from, 'watched'), to: null, fromEpoch: 0, toEpoch: null, outcome: 'running' },
      timeline: [{ atMs: 0, what: analysis }],
    }
  }

  get recovery(): WatchedRecovery {
    return this.#recovery
  }

  tell(what: string, { monotonicMs }: Now): void {
    const { timeline } = this.#recovery
    const atMs = Math.round(monotonicMs - this.#beganMs)
    this.#recovery = { ...this.#recovery, timeline: [...timeline, { atMs, what }] }
  }

  end(ended: RecoveryEnded, now: Now): void {
    this.tell(ended.sentence, now)
    this.#recovery = withEnd(this.#recovery, ended)
  }
}

/** A recovery of a manager that is gone: how long it took is not known. */
export function endedLater(recovery: WatchedRecovery, ended: RecoveryEnded): WatchedRecovery {
  const atMs = recovery.timeline.at(-1)?.atMs ?? 0
  return withEnd({ ...recovery, timeline: [...recovery.timeline, { atMs, what: ended.sentence }] }, ended)
}

function withEnd(recovery: WatchedRecovery, { outcome, sentence, to, lost }: RecoveryEnded): WatchedRecovery {
  return { ...recovery, outcome, sentence, to: to === null ? null : memberId(to, 'watched'), lost }
}
