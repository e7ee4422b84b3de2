import { liveView } from '#failover/judge/situation.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import type { Groups } from './groups.ts'

/** A manager has heard an agent so long when what that one says was surely looked at. */
const heardForMs = 500

/**
 * Who is taken away for good may be dropped from the record while nobody hears whether it still joins. One that a
 * manager hears is dropped only once it joins no more by what it was told.
 */
export class Dropped {
  readonly #cluster: SimulatedCluster
  readonly #groups: Groups
  readonly #heardSinceMs = new Map<MemberId, number>()
  readonly #whileHeard = new Set<MemberId>()

  constructor(cluster: SimulatedCluster, groups: Groups) {
    this.#cluster = cluster
    this.#groups = groups
  }

  /** To be called again and again: whom the manager that leads hears, and since when. */
  look(): string | undefined {
    const { record, managers, time } = this.#cluster
    const leader = managers.find((manager) => manager?.loop.leads === true && manager.life.runs)
    const snapshot = leader?.loop.input().snapshot
    for (const member of record?.syncSet ?? [])
      if (snapshot === undefined || liveView(snapshot, member) === undefined) this.#heardSinceMs.delete(member)
      else if (!this.#heardSinceMs.has(member)) this.#heardSinceMs.set(member, time.nowMs)
    return this.#wrong()
  }

  committed(before: ClusterRecord, after: ClusterRecord): void {
    for (const member of [after.primary, ...after.syncSet]) this.#whileHeard.delete(member)
    for (const member of before.syncSet)
      if (member !== after.primary && !after.syncSet.includes(member) && this.#isHeard(member))
        this.#whileHeard.add(member)
  }

  #isHeard(member: MemberId): boolean {
    const sinceMs = this.#heardSinceMs.get(member) ?? Infinity
    return this.#cluster.time.nowMs - sinceMs >= heardForMs
  }

  #wrong(): string | undefined {
    const back = [...this.#whileHeard].find((member) => this.#isMember(member))
    return back && `${instanceOf(back)} is in the group, and was dropped from the record while a manager heard it`
  }

  #isMember(member: MemberId): boolean {
    const machine = this.#cluster.machine(instanceOf(member))
    const isOther = machine.goneMember !== undefined || this.#cluster.observation(machine.name)?.member !== member
    return !isOther && this.#groups.memberAt(machine) !== undefined
  }
}
