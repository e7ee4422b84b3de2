import { codeOf, describeError } from '#common/errors/errors.ts'
import type { Timer, Timers } from '#common/ports/ports.ts'
import { emptyNotes, type ClusterNotes } from '#failover/protocol/notes.ts'
import type { Store } from '#store/store.ts'

type Change = (notes: ClusterNotes) => ClusterNotes

export interface NotesDeskParts {
  readonly store: Pick<Store, 'readNotes' | 'updateNotes'>
  readonly timers: Timers
  readonly cluster: string
  /** A change that nobody waits for could not be written, or the notes cannot be used. */
  readonly failed: (error: unknown) => void
  /** The notes were read again: where they could not be used, and after a write that was not answered. */
  readonly mended: () => void
}

/**
 * What nobody waits for is written so much later, all of it at once: in the middle of a failover the store and the
 * processor are needed for the failover.
 */
const soonMs = 1_000
/** A store that does not take it gets it again, so often at such intervals. */
const moreTries = 5
const againMs = 2_000
/** Notes that cannot be used are read again so often: a person mends them meanwhile. */
const mendedMs = 5_000
/** Waits after a write that was not answered: it may have been done, or be on its way still. */
const doubtMs = [0, 2_000, 5_000, 10_000, 30_000] as const

interface Waiting {
  readonly change: Change
  readonly moreTries: number
}

/**
 * The notes of a cluster as this manager knows them, and their writes: one at a time, each with everything that came
 * meanwhile.
 */
export class NotesDesk {
  readonly #parts: NotesDeskParts
  #notes: ClusterNotes = emptyNotes
  #waiting: readonly Waiting[] = []
  /** What nobody waits for, of a write under way: a read may show what was before. */
  #writing: readonly Waiting[] = []
  #last: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined
  #planned: Timer | undefined
  #damage = ''
  /** How often it became known what is stored. A read that began before the last time may show the past. */
  #learnt = 0
  #reading: Timer | undefined
  #isStopped = false

  constructor(parts: NotesDeskParts) {
    this.#parts = parts
  }

  get notes(): ClusterNotes {
    return this.#notes
  }

  /**
   * Why what is stored cannot be used, in a sentence; '' where it can. Then the notes are what this manager knew last.
   */
  get damage(): string {
    return this.#damage
  }

  /** Reads them. What waits to be written holds on. Notes that are damaged hold nobody up: no order depends on them. */
  async read(): Promise<void> {
    const learnt = this.#learnt
    try {
      const notes = await this.#parts.store.readNotes(this.#parts.cluster)
      if (learnt !== this.#learnt) return await this.read()
      this.#take(notes)
    } catch (error) {
      if (!['REGENT_STORE_DAMAGED', 'REGENT_NEWER_VERSION'].includes(codeOf(error))) throw error
      if (this.#damage === '') this.#parts.failed(error)
      this.#damage = describeError(error)
      this.#readAfter([mendedMs])
    }
  }

  #take(notes: ClusterNotes): void {
    this.#learnt++
    this.#damage = ''
    this.#notes = changed(notes, [...this.#writing, ...this.#waiting])
  }

  /** Reads them after each of these times, the last of them as often as it takes. */
  #readAfter(waitsMs: readonly number[]): void {
    const [ms, ...more] = waitsMs
    this.#reading?.cancel()
    if (ms === undefined || this.#isStopped) return
    this.#reading = this.#parts.timers.after(ms, () => void this.#readAgain(ms, more))
  }

  async #readAgain(ms: number, more: readonly number[]): Promise<void> {
    const before = this.#learnt
    try {
      await this.read()
      if (more.length > 0) this.#readAfter(more)
      if (this.#learnt !== before) this.#parts.mended()
    } catch (error) {
      this.#parts.failed(error)
      this.#readAfter(more.length > 0 ? more : [ms])
    }
  }

  /**
   * Resolves once it is written. A change is called with what is in the store, again where somebody else wrote
   * meanwhile.
   */
  change(change: Change): Promise<void> {
    this.#waiting = [...this.#waiting, { change, moreTries: 0 }]
    return this.#write()
  }

  /** Holds here at once, and in the store a moment later. */
  changeSoon(change: Change): void {
    this.#waiting = [...this.#waiting, { change, moreTries }]
    this.#notes = change(this.#notes)
    if (this.#planned === undefined) this.#plan(soonMs)
  }

  /** Resolves once what still waits is written, and a write under way has ended. */
  async writeNow(): Promise<void> {
    await (this.#waiting.length > 0 ? this.#write() : this.#last)
  }

  /** What still waits is not written any more. */
  stop(): void {
    this.#isStopped = true
    this.#planned?.cancel()
    this.#reading?.cancel()
    this.#waiting = []
  }

  #plan(ms: number): void {
    this.#planned?.cancel()
    if (this.#isStopped) return
    this.#planned = this.#parts.timers.after(ms, () => {
      this.#planned = undefined
      if (this.#waiting.length > 0) this.#write().catch(this.#parts.failed)
    })
  }

  /** The write that takes what waits now: the next one, after the one under way. */
  #write(): Promise<void> {
    this.#next ??= this.#last = this.#last.then(
      () => this.#writeWaiting(),
      () => this.#writeWaiting(),
    )
    return this.#next
  }

  async #writeWaiting(): Promise<void> {
    const { store, cluster } = this.#parts
    const taken = this.#waiting
    const held = taken.filter(({ moreTries }) => moreTries > 0)
    this.#waiting = []
    this.#writing = held
    this.#next = undefined
    try {
      const written = await store.updateNotes(cluster, (notes) => changed(notes, taken))
      this.#writing = []
      this.#take(written)
    } catch (error) {
      this.#writing = []
      const again = held.map(({ change, moreTries }) => ({ change, moreTries: moreTries - 1 }))
      this.#waiting = [...again, ...this.#waiting]
      if (again.length > 0) this.#plan(againMs)
      this.#readAfter(doubtMs)
      throw error
    }
  }
}

function changed(notes: ClusterNotes, changes: readonly Waiting[]): ClusterNotes {
  return changes.reduce((before, { change }) => change(before), notes)
}
