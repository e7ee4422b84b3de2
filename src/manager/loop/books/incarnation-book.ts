import { believed, standingOf, unnoted, withIncarnation } from '#failover/judge/data/incarnations.ts'
import type { ClusterNotes } from '#failover/protocol/notes.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { saysUnsettled, withUnsettled } from '#failover/judge/data/unsettled.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Snapshot } from '#topology/snapshot/snapshot.ts'

/** A store that does not take the notes is asked again after this long. */
const notingRetryMs = 1_000

/** What was heard when a decision was made, and whether nothing was under way. */
export interface Heard {
  readonly snapshot: Snapshot
  readonly record: ClusterRecord | undefined
  readonly isQuiet: boolean
}

/**
 * Which runs of agents this manager saw noted, and the noting of those that are not, and of unsettled tails
 * (`incarnations.ts` and `unsettled.ts` in `failover/judge/data/`).
 */
export class IncarnationBook {
  readonly #runs = new Set<string>()
  readonly #change: (change: (notes: ClusterNotes) => ClusterNotes) => Promise<void>
  readonly #isBlind: () => boolean
  #writing = false

  /** @param isBlind the notes cannot be used: then nothing can be noted, and nobody is suspected */
  constructor(change: (change: (notes: ClusterNotes) => ClusterNotes) => Promise<void>, isBlind: () => boolean) {
    this.#change = change
    this.#isBlind = isBlind
  }

  /** Remembers the runs that are noted: a run stays believed although many newer ones are noted. */
  see(snapshot: Snapshot, notes: ClusterNotes): void {
    for (const { observation } of snapshot.instances)
      if (observation && standingOf(notes, observation) === 'known') this.#runs.add(observation.agentRun)
  }

  /** The snapshot as far as it may be believed. */
  believed(snapshot: Snapshot, notes: ClusterNotes): Snapshot {
    return this.#isBlind() ? snapshot : believed(snapshot, notes, this.#runs)
  }

  believes(observation: Observation, notes: ClusterNotes): boolean {
    const standing = standingOf(notes, observation)
    return this.#isBlind() || standing === 'known' || (standing === 'new' && this.#runs.has(observation.agentRun))
  }

  nextNotingMs(heard: Snapshot, notes: ClusterNotes, record: ClusterRecord | undefined): number | null {
    if (this.#isBlind()) return null
    return unnoted(heard, notes).length > 0 || withUnsettled(notes, heard, record) !== notes ? notingRetryMs : null
  }

  /**
   * Notes who is new and whose tail is unsettled, all in one write. A run that is not believed before it is noted does
   * not wait, nor does an unsettled tail, which a successor must know; what a believed run promised since waits until
   * it is quiet, and so does a tail that is settled: a failover waits for nothing.
   */
  async note({ snapshot, record, isQuiet }: Heard, notes: ClusterNotes): Promise<void> {
    const fresh = unnoted(snapshot, notes)
    const pressing = saysUnsettled(notes, snapshot, record) || fresh.some(({ agentRun }) => !this.#runs.has(agentRun))
    const waiting = fresh.length > 0 || withUnsettled(notes, snapshot, record) !== notes
    if (this.#writing || this.#isBlind() || !(pressing || (isQuiet && waiting))) return
    this.#writing = true
    try {
      await this.#change((now) => withUnsettled(fresh.reduce(withIncarnation, now), snapshot, record))
      for (const { agentRun } of fresh) this.#runs.add(agentRun)
    } finally {
      this.#writing = false
    }
  }
}
