import { abbreviated } from '#common/text/words.ts'
import { labelOf, type Hook } from '#failover/protocol/hook.ts'
import type { HookMoment } from '#failover/protocol/hook-moments.ts'
import type { ClusterNotes, HookRun, Recovery, RecoveryHooks } from '#failover/protocol/notes.ts'
import { withRecovery } from '../books/repair-codes.ts'

/** Which run it is: of which recovery, at which moment, the how manieth. */
export interface RunKey {
  readonly recovery: string
  readonly moment: HookMoment
  readonly index: number
}

type Change = (notes: ClusterNotes) => ClusterNotes

export function keyText({ recovery, moment, index }: RunKey): string {
  return `${recovery}.${moment}.${index}`
}

export function runsOf({ hooks }: Recovery, moment: HookMoment): readonly HookRun[] {
  return (hooks?.runs ?? []).filter((run) => run.moment === moment)
}

/** A recovery with what is written down of its hooks. */
export function withHooksOf({ recoveries }: ClusterNotes, recovery: Recovery): Recovery {
  const hooks = recoveries.find(({ id }) => id === recovery.id)?.hooks
  return hooks === undefined ? recovery : { ...recovery, hooks }
}

/** Writes down what is to run. What is written already stays: another manager may be further. */
export function due(
  recovery: Recovery,
  failureType: string,
  { moment, hooks }: { readonly moment: HookMoment; readonly hooks: readonly Hook[] },
): Change {
  const runs = hooks.map((hook, index): HookRun => ({
    ...{ moment, index, hook: labelOf(hook), state: 'due', by: '' },
    ...{ beganWallMs: null, ms: null, said: '' },
  }))
  return (notes) => {
    const filed = notes.recoveries.some(({ id }) => id === recovery.id) ? notes : withRecovery(recovery)(notes)
    return changeHooks(recovery.id, (hooks = { failureType, runs: [] }) => ({
      ...hooks,
      runs: [...hooks.runs, ...runs.filter((run) => !hooks.runs.some((known) => isSame(known, run)))],
    }))(filed)
  }
}

/**
 * Whether this manager may begin the run, once that is written: where the run is due, and where no other manager has
 * begun the same for the same failure under another name. `change` is called with what is in the store, and perhaps
 * again where somebody else wrote meanwhile.
 */
export class Claim {
  readonly #key: RunKey
  readonly #by: string
  readonly #wallMs: number
  isOurs = false

  constructor(key: RunKey, by: string, wallMs: number) {
    this.#key = key
    this.#by = by
    this.#wallMs = wallMs
  }

  readonly change: Change = (notes) => {
    const recovery = notes.recoveries.find(({ id }) => id === this.#key.recovery)
    const run = recovery && runOf(recovery, this.#key)
    // What was not answered may have been written.
    const isFree = run?.state === 'due' || (run?.state === 'running' && run.by === this.#by)
    this.isOurs = isFree && !hasRival(notes, recovery, this.#key)
    if (!isFree) return notes
    return changeRun(this.#key, (run) =>
      this.isOurs
        ? { ...run, state: 'running', by: this.#by, beganWallMs: this.#wallMs }
        : { ...run, state: 'skipped', said: 'another manager began it' },
    )(notes)
  }
}

/** Two managers, one of which does not know yet that it leads no more, may both have begun the same recovery. */
function hasRival({ recoveries }: ClusterNotes, own: Recovery | undefined, key: RunKey): boolean {
  return recoveries.some(
    (other) =>
      other.id !== own?.id &&
      other.outcome === 'running' &&
      other.kind === own?.kind &&
      other.fromEpoch === own.fromEpoch &&
      !['due', 'skipped', undefined].includes(runOf(other, key)?.state),
  )
}

function runOf({ hooks }: Recovery, key: Pick<RunKey, 'moment' | 'index'>): HookRun | undefined {
  return hooks?.runs.find((run) => isSame(run, key))
}

function isSame(one: Pick<RunKey, 'moment' | 'index'>, other: Pick<RunKey, 'moment' | 'index'>): boolean {
  return one.moment === other.moment && one.index === other.index
}

/** How the run ended, by whoever began it. */
export function endedRun(key: RunKey, end: Pick<HookRun, 'state' | 'said'> & Partial<HookRun>): Change {
  return changeRun(key, (run) => ({ ...run, ...end, said: abbreviated(end.said) }))
}

/** Nobody knows how runs ended that a manager began which is gone. */
export function forgotten(key: RunKey, by: string): Change {
  return changeRun(key, (run) =>
    run.state === 'running' && run.by === by
      ? { ...run, state: 'unknown', said: 'begun by a manager that is gone; nobody knows how it ended' }
      : run,
  )
}

/** What of a recovery was to run before it, and is not any more. */
export function skipped(recovery: string, moments: readonly HookMoment[], said: string): Change {
  return changeHooks(recovery, (hooks) =>
    hooks === undefined
      ? undefined
      : {
          ...hooks,
          runs: hooks.runs.map((run) =>
            run.state === 'due' && moments.includes(run.moment) ? { ...run, state: 'skipped', said } : run,
          ),
        },
  )
}

/** A recovery that has ended: what became of its hooks later is a part of its timeline too. */
export function noted(recovery: string, what: string, wallMs: number): Change {
  return (notes) => ({
    ...notes,
    recoveries: notes.recoveries.map((one) =>
      one.id === recovery
        ? { ...one, timeline: [...one.timeline, { atMs: afterBegan(one, wallMs), what: abbreviated(what) }] }
        : one,
    ),
  })
}

function afterBegan({ timeline, startedWallMs }: Recovery, wallMs: number): number {
  return Math.max(timeline.at(-1)?.atMs ?? 0, wallMs - startedWallMs)
}

function changeRun(key: RunKey, change: (run: HookRun) => HookRun): Change {
  return changeHooks(key.recovery, (hooks) =>
    hooks === undefined
      ? undefined
      : { ...hooks, runs: hooks.runs.map((run) => (isSame(run, key) ? change(run) : run)) },
  )
}

function changeHooks(id: string, change: (hooks: RecoveryHooks | undefined) => RecoveryHooks | undefined): Change {
  return (notes) => ({
    ...notes,
    recoveries: notes.recoveries.map((one) => {
      const hooks = one.id === id ? change(one.hooks) : one.hooks
      return hooks === undefined ? one : { ...one, hooks }
    }),
  })
}
