import type { ClusterRecord } from '#failover/protocol/record.ts'
import { passedOver, sourceLookOf, stillLacking, type SourceLook } from '#topology/snapshot/holes.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import type { Snapshot } from '#topology/snapshot/snapshot.ts'

/**
 * Under load nobody has ever read as far as the newest look at the primary: one look is kept for so long, and whoever
 * lags less reaches its place.
 */
const keptMs = 3_000

/**
 * Which replicas were shown to hold all that their primary had executed up to a place that they have read, and which
 * lack a part of that. A later manager shows it again within a second.
 */
export class HoleWatch {
  #kept: { readonly look: SourceLook; readonly atMs: number } | null = null
  readonly #lacking = new Map<string, GtidText>()
  /** The server, volume and source of which that was shown. */
  readonly #shownOf = new Map<string, string>()

  /** By instance: '' for nothing, and no entry while nothing is shown. */
  get passedOver(): ReadonlyMap<string, GtidText> {
    return this.#lacking
  }

  track(record: ClusterRecord, { instances }: Snapshot, nowMs: number): void {
    const primary = instances.find(({ observation }) => observation?.member === record.primary)?.observation
    const newest = primary ? sourceLookOf(primary) : null
    const kept = this.#keep(newest, nowMs)
    if (kept === undefined) return
    const looks = [newest ?? kept, kept]
    for (const { name, observation } of instances) if (observation) this.#look(name, observation, looks)
  }

  /** The look that is kept, for a while, of the primary that was seen last. */
  #keep(newest: SourceLook | null, nowMs: number): SourceLook | undefined {
    const isDue = this.#kept?.look.uuid !== newest?.uuid || nowMs - (this.#kept?.atMs ?? 0) > keptMs
    if (newest !== null && isDue) this.#kept = { look: newest, atMs: nowMs }
    return this.#kept?.look
  }

  #look(name: string, replica: Observation, looks: readonly SourceLook[]): void {
    const of = `${replica.member} ${replica.server?.uuid} ${looks[0]?.uuid}`
    if (this.#shownOf.get(name) !== of) this.#lacking.delete(name)
    this.#shownOf.set(name, of)
    const before = this.#lacking.get(name)
    const shown = looks.map((look) => passedOver(replica, look)).find((lacking) => lacking !== undefined)
    if (shown !== undefined) this.#lacking.set(name, shown.toString())
    else if (before !== undefined) this.#lacking.set(name, stillLacking(before, replica))
  }
}
