import { believed, standingOf, unnoted, withIncarnation } from '../../failover/incarnations.ts'
import type { ClusterNotes } from '../../failover/notes.ts'
import type { Observation } from '../../topology/observation.ts'
import type { Snapshot } from '../../topology/snapshot.ts'

/** A store that does not take the notes is asked again after this long. */
const notingRetryMs = 1_000

/** Which runs of agents this manager saw noted, and the noting of those that are not (`failover/incarnations.ts`). */
export class RunBook {
  readonly #runs = new Set<string>()
  readonly #change: (change: (notes: ClusterNotes) => ClusterNotes) => Promise<void>
  #writing = false

  constructor(change: (change: (notes: ClusterNotes) => ClusterNotes) => Promise<void>) {
    this.#change = change
  }

  /** The snapshot as far as it may be believed. */
  believed(snapshot: Snapshot, notes: ClusterNotes): Snapshot {
    for (const { observation } of snapshot.instances) if (observation && standingOf(notes, observation) === 'known') this.#runs.add(observation.agentRun)
    return believed(snapshot, notes, this.#runs)
  }

  believes(observation: Observation, notes: ClusterNotes): boolean {
    const standing = standingOf(notes, observation)
    return standing === 'known' || (standing === 'new' && this.#runs.has(observation.agentRun))
  }

  nextNotingMs(heard: Snapshot, notes: ClusterNotes): number | null {
    return unnoted(heard, notes).length > 0 ? notingRetryMs : null
  }

  /**
   * Notes who is new, all in one write. A run that is not believed before it is noted does not wait; what a believed one promised since does, until it is quiet: a failover waits for nothing.
   */
  async note(snapshot: Snapshot, notes: ClusterNotes, isQuiet: boolean): Promise<void> {
    const fresh = unnoted(snapshot, notes)
    if (this.#writing || !fresh.some(({ agentRun }) => isQuiet || !this.#runs.has(agentRun))) return
    this.#writing = true
    try {
      await this.#change((now) => fresh.reduce(withIncarnation, now))
      for (const { agentRun } of fresh) this.#runs.add(agentRun)
    } finally {
      this.#writing = false
    }
  }
}
