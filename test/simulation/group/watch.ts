import type { ClusterRecord } from '../../../failover/protocol/record.ts'
import { GtidSet } from '../../../topology/gtid/gtid-set.ts'
import { instanceOf, type MemberId } from '../../../topology/snapshot/member.ts'
import type { Observation } from '../../../topology/snapshot/observation.ts'
import type { Machine } from '../machine.ts'
import type { Happening, SimulatedCluster } from '../simulated-cluster.ts'
import { wronglyGivenUp, type Told } from '../watch/destroyed.ts'
import { heldBy, shown } from '../watch/held.ts'
import { observationIn, wronglyObeyed } from '../watch/obeyed.ts'
import { Standing } from '../watch/standing.ts'
import { Words } from '../watch/words.ts'
import type { Groups } from './groups.ts'
import type { Ledger } from './ledger.ts'

/** An agent closes a server that hears no majority, so long after the server says so. */
const closedWithinMs = 8_000

/** Looks at each step whether that step keeps the rules of mode `group` (docs/guide/group-replication.md). */
export class GroupWatch {
  readonly #cluster: SimulatedCluster
  readonly #groups: Groups
  readonly #clients: Told
  readonly #words: Words
  readonly #standing: Standing
  readonly #primaries = new Map<number, MemberId>()
  /** The group of each epoch in which one was formed. */
  readonly #formed = new Map<number, Ledger>()
  readonly #aloneSince = new Map<Machine, number>()
  /** The first rule that was broken. */
  broken: string | undefined

  constructor(cluster: SimulatedCluster, groups: Groups, clients: Told) {
    this.#cluster = cluster
    this.#groups = groups
    this.#clients = clients
    this.#words = new Words(cluster)
    this.#standing = new Standing(cluster)
    cluster.onHappening((happening) => this.#see(happening))
  }

  /** The record has changed, or some time has passed. */
  look(): void {
    this.#found('standing', this.#standing.look() ?? this.#openWithoutMajority())
  }

  #see(happening: Happening): void {
    switch (happening.kind) {
      case 'said':
        return this.#hear(happening.machine, happening.observation)
      case 'answered': {
        this.#found('order', wronglyObeyed(this.#cluster, happening))
        const observation = observationIn(happening)
        if (observation !== undefined) this.#hear(this.#cluster.machine(observation.instance), observation)
        return
      }
      case 'committed':
        this.#primaries.set(happening.record.epoch, happening.record.primary)
        if (happening.before !== undefined) this.#found('commit', this.#wrongCommit(happening.before, happening.record))
        return
      case 'formed':
        return this.#found('forming', this.#wronglyFormed(happening.machine, happening.member.ledger))
      case 'routed': {
        const primary = this.#primaries.get(happening.route.epoch)
        const isRight = primary !== undefined && instanceOf(primary) === happening.route.instance
        return this.#found('route', isRight ? undefined : `clients are sent to ${happening.route.instance}`)
      }
      case 'gaveUp':
        return this.#found('data', wronglyGivenUp(this.#cluster, happening))
      case 'cut':
        return this.#found('data', `${happening.machine.name} cuts off what its group had agreed on`)
      default:
    }
  }

  #hear(machine: Machine, observation: Observation): void {
    const isInside = observation.promiseReport !== null && this.#groups.memberAt(machine) !== undefined
    const inside = isInside ? `${machine.name} says what it holds, and is a member of a group` : undefined
    this.#found('word', this.#words.hear(machine, observation) ?? inside)
  }

  /** Nobody else's word makes a primary: a group's own, or the promise of all that the record names. */
  #wrongCommit(before: ClusterRecord, after: ClusterRecord): string | undefined {
    if (after.epoch === before.epoch || this.#cluster.acceptingLoss > 0) return undefined
    if (after.group?.forming !== true) {
      const name = instanceOf(after.primary)
      const isElected = this.#groups.ledgers.some(({ entries }) =>
        entries.some((entry) => entry.after.primary?.name === name),
      )
      return isElected ? undefined : `${name} is primary by the record, and no group elected it`
    }
    const silent = membersOf(before).find(
      (member) => (this.#words.given(member, after.epoch)?.revision ?? -1) < before.revision,
    )
    return silent && `a group is to be formed anew, and ${instanceOf(silent)} has not promised epoch ${after.epoch}`
  }

  #wronglyFormed(machine: Machine, ledger: Ledger): string | undefined {
    const { record } = this.#cluster
    const disk = this.#words.onDisk.of(machine)
    const epoch = disk?.assignment?.epoch ?? 0
    const earlier = this.#formed.get(epoch)
    this.#formed.set(epoch, ledger)
    if (this.#cluster.excuses.isLossAccepted) return this.#lacks(machine)
    const isTold = record?.epoch === epoch && record.primary === this.#cluster.observation(machine.name)?.member
    if (!isTold || record.group?.forming !== true)
      return `${machine.name} forms a group of epoch ${epoch}, and the record does not say so`
    if ((disk?.formedEpoch ?? 0) >= epoch || (earlier?.entries.length ?? 0) > 1)
      return `${machine.name} forms the group of epoch ${epoch} again`
    return this.#lacks(machine)
  }

  /** All that anybody holds who may have been a member, and all that clients were told. */
  #lacks(machine: Machine): string | undefined {
    const { record, machines, excuses, acceptingLoss } = this.#cluster
    const names =
      record === undefined || record.epoch === 1 ? machines.map(({ name }) => name) : membersOf(record).map(instanceOf)
    const isForced = excuses.isLossAccepted || acceptingLoss > 0
    const others = isForced ? [] : machines.filter(({ name }) => names.includes(name) && !this.#isAnother(name))
    const held = others.reduce((all, other) => all.union(heldBy(other)), GtidSet.empty)
    const lost = held.union(this.#clients.acknowledged).subtract(heldBy(machine))
    return lost.isEmpty() ? undefined : `${machine.name} forms a group and lacks ${shown(lost)}`
  }

  /** On another volume than the record knows: nobody asks for what is there. */
  #isAnother(name: string): boolean {
    const { record } = this.#cluster
    const member = record && membersOf(record).find((one) => instanceOf(one) === name)
    return member !== undefined && this.#cluster.isElsewhere(member)
  }

  #openWithoutMajority(): string | undefined {
    const { machines, time } = this.#cluster
    for (const machine of machines) {
      const member = this.#groups.memberAt(machine)
      const isAlone = member?.runs === true && member.detector.isAlone && machine.agentLife?.runs === true
      if (!isAlone || machine.mysqld?.offline !== false) this.#aloneSince.delete(machine)
      else {
        const since = this.#aloneSince.get(machine) ?? time.nowMs
        this.#aloneSince.set(machine, since)
        if (time.nowMs - since > closedWithinMs) return `${machine.name} hears no majority and lets clients in`
      }
    }
    return undefined
  }

  #found(what: string, wrong: string | undefined): void {
    if (wrong !== undefined) this.broken ??= `${what}: ${wrong}`
  }
}

function membersOf({ primary, syncSet }: ClusterRecord): readonly MemberId[] {
  return [primary, ...syncSet]
}
