import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'

/** A place in a binlog from which on it need be read. */
export interface Start {
  readonly from: number
  /** Has everything before `from`, and nothing behind `through`. */
  readonly executed: GtidSet
  readonly through: number
}

export type LookedAt = Pick<ServerState, 'executed' | 'owned' | 'binlogNumber' | 'binlogPosition'>

/** So many are kept: somebody may lack more than the newest allows. */
const most = 16

/**
 * Places in the newest binlog of a running server, each with what is before: after the death of the server only what
 * follows need be read. Each look asked, one after the other, what is owned, what is executed, and where the binlog
 * ends. A transaction is owned before it is in the binlog, and until it is executed. So what lies before the end that a
 * look saw is executed as soon as nothing is left that later looks saw as owned; and what a look saw as executed lies
 * before the end that the same look saw.
 */
export class Starts {
  /** How the file began; before that was read no look counts, for it may be of another file by that name. */
  head: Buffer | null = null
  #file = 0
  #executed = GtidSet.empty
  /** A place before which perhaps not everything is executed yet; `owned` is null until a later look. */
  #waits: { readonly from: number; readonly owned: GtidSet | null } | null = null
  #known: readonly Start[] = []

  get file(): number {
    return this.#file
  }

  add({ binlogNumber, binlogPosition = 0, ...look }: LookedAt): void {
    const [executed, owned] = [parseGtidSet(look.executed), parseGtidSet(look.owned)]
    // Names of binlogs are used again after a reset.
    if (binlogNumber !== this.#file || !executed.contains(this.#executed)) this.forget()
    this.#file = binlogNumber
    this.#executed = executed
    if (this.head === null) return
    this.#judge(executed, owned, binlogPosition)
    const last = this.#known.at(-1)?.from ?? 0
    if (binlogPosition > last) this.#waits ??= { from: binlogPosition, owned: null }
  }

  #judge(executed: GtidSet, owned: GtidSet, through: number): void {
    if (this.#waits === null) return
    const { from, owned: before } = this.#waits
    const left = (before?.intersect(owned) ?? owned).subtract(executed)
    this.#waits = left.isEmpty() ? null : { from, owned: left }
    if (left.isEmpty()) this.#know({ from, executed, through })
  }

  /** The newest first; none of a file that was not looked at. */
  of(file: number): readonly Start[] {
    return file === this.#file ? this.#known.toReversed() : []
  }

  forget(): void {
    this.head = null
    this.#file = 0
    this.#executed = GtidSet.empty
    this.#waits = null
    this.#known = []
  }

  /** Too many starts are thinned out in their older half. */
  #know(start: Start): void {
    const all = [...this.#known, start]
    this.#known = all.length > most ? all.filter((_, at) => at % 2 === 0 || at >= most / 2) : all
  }
}
