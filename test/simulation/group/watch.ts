import type { ClusterRecord } from '#failover/protocol/record.ts'
import type { PrimaryRoute } from '#common/ports/platform.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Machine } from '../machine.ts'
import type { Happening } from '../happening.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { wronglyGivenUp, type Told } from '../watch/destroyed.ts'
import { heldBy, shown } from '../watch/held.ts'
import { observationIn, wronglyObeyed, type Answered } from '../watch/obeyed.ts'
import { Standing } from '../watch/standing.ts'
import { Words } from '../watch/words.ts'
import type { Groups } from './groups.ts'
import type { Ledger } from './ledger.ts'
import { Dropped } from './dropped.ts'
import { Removals } from './removals.ts'
import { Writers } from './writers.ts'

/** An agent closes a server that hears no majority, so long after the server says so. */
const closedWithinMs = 8_000

/** Looks at each step whether that step keeps the rules of mode `group` (docs/guide/group-replication.md). */
export class GroupWatch {
  readonly #cluster: SimulatedCluster
  readonly #groups: Groups
  readonly #clients: Told
  readonly #words: Words
  readonly #standing: Standing
  readonly #removals: Removals
  readonly #dropped: Dropped
  readonly #writers: Writers
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
    this.#removals = new Removals(groups)
    this.#dropped = new Dropped(cluster, groups)
    this.#writers = new Writers(cluster, groups)
    cluster.onHappening((happening) => this.#see(happening))
  }

  /** The record has changed, or some time has passed. */
  look(): void {
    this.#removals.look()
    this.#found('G3', this.#dropped.look())
    this.#found('G1', this.#writers.look())
    this.#found('standing', this.#standing.look() ?? this.#openWithoutMajority())
  }

  #see(happening: Happening): void {
    switch (happening.kind) {
      case 'said':
        return this.#hear(happening.machine, happening.observation)
      case 'answered':
        return this.#answered(happening)
      case 'committed':
        return this.#committed(happening.before, happening.record)
      case 'formed':
        return this.#found('forming', this.#wronglyFormed(happening.machine, happening.member.ledger))
      case 'routed':
        return this.#found('route', this.#wrongRoute(happening.route))
      case 'gaveUp':
        return this.#found('data', wronglyGivenUp(this.#cluster, happening))
      case 'cut':
        return this.#found('data', `${happening.machine.name} cuts off what its group had agreed on`)
      default:
        this.#seeMembers(happening)
    }
  }

  #seeMembers(happening: Happening): void {
    switch (happening.kind) {
      case 'removing':
        return this.#found('removal', this.#removals.wrong(happening.asked))
      case 'anotherRemoved':
        return this.#found('removal', `another incarnation of ${happening.member.name} is removed than was named`)
      case 'opened':
        return this.#found('opening', opensTooSoon(happening.machine))
      default:
    }
  }

  #answered(answered: Answered): void {
    this.#found('order', wronglyObeyed(this.#cluster, answered))
    const observation = observationIn(answered)
    if (observation !== undefined) this.#hear(this.#cluster.machine(observation.instance), observation)
  }

  #committed(before: ClusterRecord | undefined, after: ClusterRecord): void {
    this.#primaries.set(after.epoch, after.primary)
    if (before === undefined) return
    this.#dropped.committed(before, after)
    this.#found('commit', this.#wrongCommit(before, after))
  }

  #wrongRoute({ epoch, instance }: PrimaryRoute): string | undefined {
    const primary = this.#primaries.get(epoch)
    return primary !== undefined && instanceOf(primary) === instance
      ? undefined
      : `clients are sent to ${instance} of epoch ${epoch}, whose primary is ${primary ?? 'nobody yet'}`
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
      const isElected = this.#groups.ledgers.some((ledger) =>
        ledger.entries.some(({ after: { primary, online } }) => {
          // A group that another hand formed is one to follow once nobody is outside of that group.
          const isLed = primary?.name === name
          return isLed && (!ledger.byHand || online.size === membersOf(before).length)
        }),
      )
      return isElected ? undefined : `${name} is primary by the record, and no group elected it`
    }
    const silent = membersOf(before).find(
      (member) => (this.#words.given(member, after.epoch)?.revision ?? -1) < before.revision,
    )
    return silent && `a group is to be formed anew, and ${instanceOf(silent)} has not promised epoch ${after.epoch}`
  }

  #wronglyFormed(machine: Machine, ledger: Ledger): string | undefined {
    if (ledger.byHand) return undefined
    const { epoch, formedEpoch } = this.#storedBy(machine)
    const earlier = this.#formed.get(epoch)
    this.#formed.set(epoch, ledger)
    const member = this.#cluster.observation(machine.name)?.member
    if (!this.#cluster.excuses.isLossAccepted && !isToForm(this.#cluster.record, epoch, member))
      return `${machine.name} forms a group of epoch ${epoch}, and the record does not say so`
    const isAgain = formedEpoch >= epoch || (earlier !== undefined && wasUsed(earlier))
    return isAgain ? `${machine.name} forms the group of epoch ${epoch} again` : this.#lacks(machine)
  }

  #storedBy(machine: Machine): { readonly epoch: number; readonly formedEpoch: number } {
    const disk = this.#words.onDisk.of(machine)
    return { epoch: disk?.assignment?.epoch ?? 0, formedEpoch: disk?.formedEpoch ?? 0 }
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
      const since = this.#letsInAlone(machine)
        ? Math.min(this.#aloneSince.get(machine) ?? Infinity, time.nowMs)
        : Infinity
      this.#aloneSince.set(machine, since)
      if (time.nowMs - since > closedWithinMs) return `${machine.name} hears no majority and lets clients in`
    }
    return undefined
  }

  /** Its agent runs, and could close it. */
  #letsInAlone(machine: Machine): boolean {
    const member = this.#groups.memberAt(machine)
    const hearsNobody = member?.runs === true && member.detector.isAlone
    return hearsNobody && machine.agentLife?.runs === true && machine.mysqld?.offline === false
  }

  #found(what: string, wrong: string | undefined): void {
    if (wrong !== undefined) this.broken ??= `${what}: ${wrong}`
  }
}

/** A primary that its agent had closed is opened once everything received before is applied. */
function opensTooSoon({ name, mysqld }: Machine): string | undefined {
  const left = mysqld?.folder.backlog ?? 0
  return left === 0 ? undefined : `${name} is opened, and has ${left} transactions to apply`
}

/** Somebody wrote there, or joined. An agent that died while its server formed a group does not know of that group. */
function wasUsed({ entries, former }: Ledger): boolean {
  return entries.some(({ written, after }) => written !== null || after.seats.some((seat) => seat !== former))
}

function isToForm(record: ClusterRecord | undefined, epoch: number, member: MemberId | undefined): boolean {
  return record?.epoch === epoch && record.primary === member && record.group?.forming === true
}

function membersOf({ primary, syncSet }: ClusterRecord): readonly MemberId[] {
  return [primary, ...syncSet]
}
