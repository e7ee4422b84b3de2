import { instanceOf, type InstanceName } from '#topology/snapshot/member.ts'
import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Machine } from '../machine.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import type { SimulatedRouter } from './routers.ts'

/** A word that was said so long ago may still be on its way, or be believed while its stream is silent. */
const believedMs = 2_500
/** Words that wait for a router that wakes are heard one after the other. */
const awakeMs = 500
/** Where nothing is in the way writers are led to the primary by then. */
const ledWithinMs = 6_000

/** What routers must not do (docs/why/safety-of-modes.md, "Routers"). */
export class RouterWatch {
  readonly #cluster: SimulatedCluster
  readonly #confirmedMs = new Map<InstanceName, number>()
  readonly #lostSince = new Map<SimulatedRouter, number>()
  /** The newest epoch whose primary has told a client OK, and what is on that primary's volume. */
  #newest: { readonly epoch: number; readonly folder: Machine['folder'] } = { epoch: 0, folder: undefined }
  /** The first rule that was broken. */
  broken: string | undefined

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster
    cluster.onHappening((happening) => {
      if (happening.kind === 'said' && confirms(happening.observation))
        this.#confirmedMs.set(happening.machine.name, cluster.time.nowMs)
    })
    for (const router of cluster.routers) router.proxy.led = () => this.#led(router)
  }

  look(): void {
    for (const router of this.#cluster.routers) this.broken ??= this.#findsNobody(router)
  }

  /**
   * A server tells a client OK, at this moment: an old primary for what the new one has, at most, as a paused machine
   * does that wakes. In a group the group answers for that (`group/watch.ts`).
   */
  acknowledged(machine: Machine, write: GtidSet): void {
    const { name } = machine
    const { assignment } = this.#cluster.observation(name)?.stored ?? {}
    if (this.#cluster.groups !== null || assignment?.role !== 'primary') return
    const { epoch } = this.#newest
    if (assignment.epoch < epoch && !this.#isHeld(write))
      this.broken ??= `router: ${name}, primary of epoch ${assignment.epoch}, acknowledges after the primary of epoch ${epoch} did`
    if (assignment.epoch > epoch) this.#newest = { epoch: assignment.epoch, folder: machine.folder }
  }

  #isHeld(write: GtidSet): boolean {
    const { folder } = this.#newest
    return folder !== undefined && folder.executed.union(folder.received).contains(write)
  }

  /** Writes never go to an instance whose agent does not confirm the epoch. A group has none. */
  #led(router: SimulatedRouter): void {
    const { target, place } = router
    if (target === null || this.#cluster.groups !== null || !this.#isAwake(router)) return
    if (!this.#wasConfirmed(target))
      this.broken ??= `router: ${place} leads writers to ${target.name}, whose agent does not confirm that`
  }

  #isAwake({ life, awakeSinceMs }: SimulatedRouter): boolean {
    return life?.runs === true && this.#cluster.time.nowMs - awakeSinceMs >= awakeMs
  }

  #wasConfirmed({ name }: Machine): boolean {
    const seen = this.#cluster.observation(name)
    const atMs = this.#confirmedMs.get(name) ?? -Infinity
    return this.#cluster.time.nowMs - atMs <= believedMs || (seen !== undefined && confirms(seen))
  }

  /** A majority of the agents tells who the primary is, and that one takes writes. */
  #findsNobody(router: SimulatedRouter): string | undefined {
    const { time } = this.#cluster
    const primary = this.#known(router)
    if (primary === undefined || router.target === primary) {
      this.#lostSince.delete(router)
      return undefined
    }
    const since = Math.max(this.#lostSince.get(router) ?? time.nowMs, router.awakeSinceMs)
    this.#lostSince.set(router, since)
    return time.nowMs - since < ledWithinMs
      ? undefined
      : `router: ${router.place} leads writers to ${router.target?.name ?? 'nobody'}, and a majority of the agents says that ${primary.name} is primary`
  }

  /** By agents alone: no manager is needed. */
  #known({ place, life, proxy }: SimulatedRouter): Machine | undefined {
    if (life?.runs !== true || proxy.isTroubled) return undefined
    const { record, machines, network } = this.#cluster
    const heard = machines.filter(
      ({ name, agentLife }) => agentLife?.runs === true && network.reachesBothWays(place, name),
    )
    if (record === undefined || heard.length * 2 <= machines.length) return undefined
    const primary = heard.find(({ name }) => name === instanceOf(record.primary))
    if (primary?.mysqld?.mayWrite !== true) return undefined
    return this.#isAgreed(heard, primary, record.epoch) ? primary : undefined
  }

  #isAgreed(heard: readonly Machine[], primary: Machine, epoch: number): boolean {
    const seen = heard.flatMap(({ name }) => this.#cluster.observation(name) ?? [])
    const own = this.#cluster.observation(primary.name)
    if (this.#cluster.groups !== null) {
      const agreeing = seen.filter((one) => groupPrimaryOf(one) === own?.server?.uuid)
      return own !== undefined && agreeing.length * 2 > this.#cluster.machines.length
    }
    const agreeing = seen.filter(({ stored }) => stored.promise === epoch)
    return own !== undefined && isOpenIn(own, epoch) && agreeing.length * 2 > this.#cluster.machines.length
  }
}

function isOpenIn(seen: Observation, epoch: number): boolean {
  return (
    confirms(seen) && seen.stored.assignment?.epoch === epoch && seen.silentMs === 0 && seen.server?.readOnly === false
  )
}

function confirms({ stored: { assignment, promise } }: Observation): boolean {
  return assignment?.role === 'primary' && promise === assignment.epoch
}

function groupPrimaryOf({ server }: Observation): string | undefined {
  return server?.group?.members.find(({ role, state }) => role === 'PRIMARY' && state === 'ONLINE')?.uuid
}
