import type { World } from '#common/ports/ports.ts'
import { analyse } from '#failover/decide.ts'
import type { DecisionInput } from '#failover/judge/situation.ts'
import type { HooksAction } from '#failover/protocol/decision.ts'
import { hooksAt, labelOf, type Hook } from '#failover/protocol/hook.ts'
import { momentNames, waitedFor, type HookMoment } from '#failover/protocol/hook-moments.ts'
import type { ClusterNotes, HookRun, Recovery } from '#failover/protocol/notes.ts'
import type { MemberId } from '#topology/snapshot/member.ts'
import {
  Claim,
  due,
  endedRun,
  forgotten,
  keyText,
  noted,
  runsOf,
  skipped,
  withHooksOf,
  type RunKey,
} from './hook-ledger.ts'
import type { HookEnd, HookPort } from './hook-port.ts'
import { toldOf } from './hook-told.ts'
import type { NotesDesk } from '../books/notes-desk.ts'
import type { RecoveryBook } from '../books/recovery-book.ts'

type HookRunEnd = Pick<HookRun, 'state' | 'said'> & Partial<HookRun>

export interface HookDeskParts {
  readonly world: World
  readonly hooks: HookPort
  readonly notes: Pick<NotesDesk, 'notes' | 'change' | 'changeSoon'>
  readonly book: Pick<RecoveryBook, 'current' | 'note'>
  readonly loop: { readonly leads: boolean; input(): DecisionInput; wake(): void }
  readonly ended: (run: HookRun, recovery: Recovery) => void
  readonly failed: (error: unknown) => void
}

/** Moments whose hooks run beside everything else. */
const beside = momentNames.filter((moment) => !waitedFor.includes(moment))

/** A run that could not be written down is tried again so often, so much later: less where something waits for it. */
const claims = { before: { more: 5, afterMs: 200 }, beside: { more: 30, afterMs: 2_000 } } as const

/**
 * The hooks of a cluster's recoveries. Each run is written into the notes before it begins, by compare-and-swap, and
 * begins only once that is done: whatever becomes of this manager, nobody runs it a second time.
 */
export class HookDesk {
  readonly #parts: HookDeskParts
  /** Runs that this manager has begun, each with how it ended; null while it goes on. */
  readonly #begun = new Map<string, HookRunEnd | null>()
  /** What is being claimed or runs: one of each recovery and moment at a time. */
  readonly #busy = new Set<string>()
  readonly #claims = new Map<string, number>()
  /** Whom a recovery is to lead to, while only that is known. */
  readonly #successors = new Map<string, MemberId | null>()
  readonly #failureTypes = new Map<string, string>()
  /** Recoveries that somebody asked for, as far as this manager was asked. */
  readonly #asked = new Set<string>()
  #known = ''
  #filing: Promise<void> | undefined

  constructor(parts: HookDeskParts) {
    this.#parts = parts
  }

  /** The recovery under way is written down: what comes after it is not forgotten with this manager. */
  get filed(): Promise<void> | undefined {
    return this.#filing
  }

  /** @param ended what ended in this turn */
  keep(input: DecisionInput, ended: Recovery | null): void {
    if (input.spec.hooks === undefined) return
    const { book, notes } = this.#parts
    const { current } = book
    if (ended !== null) this.#ended(input, ended, current)
    if (current !== null && current.id !== this.#known) this.#began(input, current, ended)
    if (current !== null && input.requests.some(({ kind }) => kind === current.kind)) this.#asked.add(current.id)
    this.#look(notes.notes)
  }

  #began(input: DecisionInput, recovery: Recovery, ended: Recovery | null): void {
    this.#known = recovery.id
    const isKnown = input.notes.recoveries.some(({ id }) => id === recovery.id)
    if (isKnown || !['failover', 'switchover', 'restart'].includes(recovery.kind)) return
    // A restart that turns into a failover is the same failure.
    const isNews = recovery.kind !== 'switchover' && ended?.kind !== 'restart'
    const hooks = isNews ? hooksAt(input.spec.hooks, 'detected') : []
    if (recovery.kind !== 'switchover') this.#failureTypes.set(recovery.id, worstOf(input))
    const { notes, failed } = this.#parts
    const change = this.#due(recovery, 'detected', hooks)
    const filing = notes
      .change(change)
      .catch((error: unknown) => {
        failed(error)
        notes.changeSoon(change)
      })
      .finally(() => {
        if (this.#filing === filing) this.#filing = undefined
        this.#parts.loop.wake()
      })
    this.#filing = filing
  }

  #ended({ spec }: DecisionInput, recovery: Recovery, next: Recovery | null): void {
    const moment = momentOf(recovery, next)
    const { notes } = this.#parts
    notes.changeSoon(skipped(recovery.id, waitedFor, 'the recovery ended before'))
    if (moment !== null && hooksAt(spec.hooks, moment).length > 0)
      notes.changeSoon(this.#due(recovery, moment, hooksAt(spec.hooks, moment)))
  }

  /** Begins what is to run before the recovery under way goes on. */
  begin({ moment, successor }: HooksAction): void {
    const { book, notes, loop } = this.#parts
    const recovery = book.current
    if (recovery === null) return
    const { spec } = loop.input()
    this.#successors.set(recovery.id, successor)
    const known = notes.notes.recoveries.find(({ id }) => id === recovery.id)
    if (known === undefined || runsOf(known, moment).length === 0)
      notes.changeSoon(this.#due(recovery, moment, hooksAt(spec.hooks, moment)))
    this.#next(recovery.id, moment)
  }

  #due(recovery: Recovery, moment: HookMoment, hooks: readonly Hook[]): (notes: ClusterNotes) => ClusterNotes {
    return due(recovery, this.#failureTypes.get(recovery.id) ?? '', { moment, hooks })
  }

  #look({ recoveries }: ClusterNotes): void {
    for (const recovery of recoveries) {
      for (const run of recovery.hooks?.runs ?? []) if (run.state === 'running') this.#running(recovery, run)
      if (recovery.hooks !== undefined) for (const moment of beside) this.#next(recovery.id, moment)
    }
  }

  /** What runs by the notes, and perhaps not here: a store may have kept that it begins, and not how it ended. */
  #running({ id }: Recovery, run: HookRun): void {
    const { notes, loop, book } = this.#parts
    const { moment } = run
    const key = { recovery: id, moment, index: run.index }
    if (run.by !== loop.input().manager) return this.#forget(key, run)
    const end = this.#begun.get(keyText(key))
    if (end) return notes.changeSoon(endedRun(key, end))
    if (end === null || this.#busy.has(chainOf(id, moment))) return
    // An earlier loop of this manager began it, and is gone as well.
    if (!this.#claims.has(keyText(key))) return this.#forget(key, run)
    if (beside.includes(moment) || book.current?.id === id) return this.#next(id, moment)
    this.#over(key, run, { state: 'skipped', said: 'the recovery ended before' })
  }

  #forget(key: RunKey, { by, hook }: HookRun): void {
    this.#parts.notes.changeSoon(forgotten(key, by))
    this.#note(key, `hook ${hook} of ${key.moment} was begun by a manager that is gone: how it ended is unknown`)
  }

  #next(id: string, moment: HookMoment): void {
    const chain = chainOf(id, moment)
    const recovery = this.#parts.notes.notes.recoveries.find((one) => one.id === id)
    if (recovery === undefined || this.#busy.has(chain)) return
    const run = runsOf(recovery, moment).find((one) => one.state === 'due' || this.#isClaimed(id, one))
    if (run === undefined) return
    this.#busy.add(chain)
    void this.#perform({ recovery: id, moment, index: run.index }, run)
      .catch(this.#parts.failed)
      .finally(() => {
        this.#busy.delete(chain)
        this.#parts.loop.wake()
      })
  }

  /** Written down as begun here, and not begun: the store took that, and did not say so. */
  #isClaimed(recovery: string, { moment, index, state, by }: HookRun): boolean {
    const key = keyText({ recovery, moment, index })
    const isOurs = state === 'running' && by === this.#parts.loop.input().manager
    return isOurs && this.#claims.has(key) && !this.#begun.has(key)
  }

  async #perform(key: RunKey, run: HookRun): Promise<void> {
    const { loop, world } = this.#parts
    const { spec, manager } = loop.input()
    const hook = hooksAt(spec.hooks, key.moment)[key.index]
    if (hook === undefined || labelOf(hook) !== run.hook)
      return this.#over(key, run, { state: 'skipped', said: 'the spec has no such hook any more' })
    if (!loop.leads) return
    const claim = new Claim(key, manager, world.clock.wallMs())
    try {
      await this.#parts.notes.change(claim.change)
    } catch (error) {
      this.#parts.failed(error)
      return this.#notClaimed(key, run)
    }
    if (!claim.isOurs || this.#begun.has(keyText(key))) return
    this.#begun.set(keyText(key), null)
    await this.#run(key, hook)
  }

  async #run(key: RunKey, hook: Hook): Promise<void> {
    const { world, hooks, loop, notes, book } = this.#parts
    const beganMs = world.clock.monotonicMs()
    this.#note(key, `hook ${labelOf(hook)} of ${key.moment} begins`)
    const found = notes.notes.recoveries.find(({ id }) => id === key.recovery)
    if (found === undefined) return
    const recovery = book.current?.id === key.recovery ? withHooksOf(notes.notes, book.current) : found
    const successor = this.#successors.get(key.recovery) ?? null
    const isAsked = this.#asked.has(key.recovery)
    const end = await hooks.run(
      hook,
      toldOf(loop.input(), { key, recovery, successor, isAsked, machine: hooks.machine }),
    )
    this.#over(key, runsOf(found, key.moment)[key.index], {
      ...stateOf(end, key.moment, hook),
      said: end.said,
      ms: Math.round((world.clock.monotonicMs() - beganMs) * 10) / 10,
    })
  }

  /** What waits for it does not wait any longer; what is beside is tried again. */
  async #notClaimed(key: RunKey, run: HookRun): Promise<void> {
    const tries = (this.#claims.get(keyText(key)) ?? 0) + 1
    this.#claims.set(keyText(key), tries)
    const { more, afterMs } = claims[waitedFor.includes(key.moment) ? 'before' : 'beside']
    if (tries > more) return this.#over(key, run, { state: 'skipped', said: 'the store did not take that it begins' })
    await this.#parts.world.timers.sleep(afterMs)
  }

  #over(key: RunKey, run: HookRun | undefined, end: HookRunEnd): void {
    const { notes, ended } = this.#parts
    this.#begun.set(keyText(key), end)
    notes.changeSoon(endedRun(key, end))
    const recovery = notes.notes.recoveries.find(({ id }) => id === key.recovery)
    if (run === undefined || recovery === undefined) return
    const took = end.ms == null ? '' : ` after ${end.ms} ms`
    this.#note(key, `hook ${run.hook} of ${key.moment} ${end.state}${took}: ${end.said}`)
    ended({ ...run, ...end }, recovery)
  }

  #note({ recovery }: RunKey, what: string): void {
    const { book, notes, world } = this.#parts
    if (book.current?.id === recovery) return book.note(what)
    notes.changeSoon(noted(recovery, what, world.clock.wallMs()))
  }
}

function chainOf(id: string, moment: HookMoment): string {
  return `${id} ${moment}`
}

function stateOf({ isDone }: HookEnd, moment: HookMoment, { onFailure }: Hook): Pick<HookRun, 'state' | 'stops'> {
  if (isDone) return { state: 'succeeded' }
  return { state: 'failed', ...((onFailure === 'stop' || moment === 'powerOff') && { stops: true }) }
}

/** What follows a recovery that has ended. A restart that became a failover has not failed. */
function momentOf({ kind, outcome }: Recovery, next: Recovery | null): HookMoment | null {
  if (kind !== 'failover' && kind !== 'switchover' && kind !== 'restart') return null
  if (outcome !== 'succeeded') return kind === 'restart' && next !== null ? null : 'failed'
  return kind === 'restart' ? null : kind === 'failover' ? 'afterFailover' : 'afterSwitchover'
}

/** What is worst, by name. */
function worstOf(input: DecisionInput): string {
  return analyse(input).find(({ severity }) => severity === 'critical')?.code ?? ''
}
