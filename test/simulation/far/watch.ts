import { orders } from '#failover/protocol/order.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { instanceOf, type InstanceName } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Clients } from '../clients.ts'
import type { Machine } from '../machine.ts'
import { heldBy, shown } from '../watch/held.ts'
import type { Happening } from '../happening.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { agentsPlace } from './roads.ts'

/** Who hears its source for so long without a break surely testifies. */
const steadilyMs = 2_500
/** Clocks differ by 2 %, and a word is on its way for a moment. */
const besidesMs = 1_500
/** Where nothing is in the way an old primary is closed by then. */
/** Between a commit and its answer. */
const toldMs = 60
const closedWithinMs = 15_000

/** What must be so where agents are far from their servers (docs/guide/adopt-managed.md). */
export class FarWatch {
  readonly #cluster: SimulatedCluster
  readonly #clients: Clients
  readonly #hearsSince = new Map<InstanceName, number>()
  /** Who heard its source when told to promise this epoch, by that epoch. */
  readonly #heard = new Map<number, ReadonlySet<InstanceName>>()
  /** What was given up, wherever that is. */
  #givenUp = GtidSet.empty
  /** The last word of each agent. */
  readonly #said = new Map<InstanceName, Observation>()
  readonly #openSince = new Map<Machine, number>()
  /** The first rule that was broken. */
  broken: string | undefined

  constructor(cluster: SimulatedCluster, clients: Clients) {
    this.#cluster = cluster
    this.#clients = clients
    cluster.onHappening((happening) => this.#see(happening))
  }

  look(): void {
    for (const machine of this.#cluster.machines) this.#listen(machine)
    this.broken ??= this.#leavesOpen() ?? this.#handsOn()
  }

  #see(happening: Happening): void {
    if (happening.kind === 'said') this.#said.set(happening.machine.name, happening.observation)
    if (happening.kind === 'ordered' && happening.path === orders.promise.route)
      this.#promises(happening.machine, (happening.order as { epoch: number }).epoch)
    if (happening.kind === 'opened' && this.#leads(happening.machine)) happening.machine.far?.isBack()
    // Before the loss is excused.
    if (
      happening.kind === 'committed' &&
      happening.before !== undefined &&
      isElection(happening.before, happening.record)
    )
      this.#elected(happening.before, happening.record)
  }

  /** Its receiver hears the primary, its agent sees that, and a manager hears the agent. */
  #listen(machine: Machine): void {
    const { record, time } = this.#cluster
    if (record !== undefined && this.#hears(machine, record) && this.#isSeen(machine)) {
      if (!this.#hearsSince.has(machine.name)) this.#hearsSince.set(machine.name, time.nowMs)
    } else this.#hearsSince.delete(machine.name)
  }

  #hears({ mysqld, folder }: Machine, { primary }: ClusterRecord): boolean {
    if (mysqld?.state !== 'running' || mysqld.receiver.status !== 'yes') return false
    const { host } = this.#cluster.machine(instanceOf(primary))
    return folder?.source?.host === host && (mysqld.receiver.silentMs ?? 0) < this.#cluster.timings.unreachableMs / 2
  }

  #isSeen({ agentLife, far }: Machine): boolean {
    const { managers, network } = this.#cluster
    return (
      agentLife?.runs === true &&
      far?.sql.isCut === false &&
      managers.some(
        (one, index) =>
          one?.loop.leads === true && one.life.runs && network.reachesBothWays(`manager-${index}`, agentsPlace),
      )
    )
  }

  #leads({ name }: Machine): boolean {
    const { record } = this.#cluster
    return record !== undefined && instanceOf(record.primary) === name
  }

  #promises(machine: Machine, epoch: number): void {
    const { time, record } = this.#cluster
    if (record === undefined || record.epoch >= epoch) return
    const since = this.#hearsSince.get(machine.name)
    const names = new Set(this.#heard.get(epoch) ?? [])
    if (since !== undefined && time.nowMs - since >= steadilyMs) names.add(machine.name)
    else names.delete(machine.name)
    this.#heard.set(epoch, names)
  }

  #elected(before: ClusterRecord, record: ClusterRecord): void {
    const former = this.#cluster.machine(instanceOf(before.primary))
    const elected = this.#cluster.machine(instanceOf(record.primary))
    if (former === elected) return
    // A person answers for whom that person had lead.
    if (this.#cluster.acceptingLoss > 0) this.#givenUp = this.#givenUp.subtract(heldBy(elected))
    else this.broken ??= this.#electsGivenUp(elected) ?? this.#loses(record, former, elected)
    this.#giveUp(elected)
  }

  #loses(record: ClusterRecord, former: Machine, elected: Machine): string | undefined {
    const lost = this.#clients.acknowledged.subtract(heldBy(elected))
    const atMs = this.#cluster.time.nowMs
    if ((this.#cluster.observation(former.name)?.promiseReport?.epoch ?? 0) < record.epoch) {
      former.far?.depose()
      // What it is for is told once it is done.
      this.#cluster.time.after(toldMs, () => (this.broken ??= this.#saidLess(record, { former, elected, lost, atMs })))
      return this.#heardAll(record, former)
    }
    return lost.isEmpty() || former.far?.sql.isCut === true
      ? undefined
      : `far: ${shown(lost)} is given up, and the agent of ${former.name} had promised: it could be had`
  }

  /** A server that a replica hears lives, and only the agents have lost it. */
  #heardAll({ epoch, primary }: ClusterRecord, former: Machine): string | undefined {
    const [witness] = this.#heard.get(epoch) ?? []
    return witness === undefined || former.mysqld?.mayWrite !== true
      ? undefined
      : `far: ${instanceOf(primary)} leads with loss, and ${witness} heard ${former.name} all the while`
  }

  /** What is lost was counted, or came while nobody heard the primary. */
  #saidLess(record: ClusterRecord, { former, elected, lost, atMs }: Loss): string | undefined {
    const why = this.#cluster.commits.get(commitKey(record))
    // Who committed died, or did not hear that it is done.
    if (why === undefined) return undefined
    const said = lossSaid(why)
    if (said === undefined)
      return `far: ${elected.name} leads in place of ${former.name} with a loss that nobody said: ${why}`
    return this.#isTooMuch(said) ?? this.#isMore(said, former, { lost, atMs })
  }

  #isTooMuch({ known, seconds }: Said): string | undefined {
    const { acceptLossUpTo: bound } = this.#cluster.spec.failover
    return bound === undefined || (known !== null && known <= bound.transactions && seconds <= bound.seconds)
      ? undefined
      : `far: ${known} transactions and ${seconds} s are given up, and ${bound.transactions} and ${bound.seconds} s were accepted`
  }

  #isMore({ known, seconds }: Said, former: Machine, { lost, atMs }: Pick<Loss, 'lost' | 'atMs'>): string | undefined {
    if (known === null) return undefined
    const seen = this.#said.get(former.name)
    const heardOf = seen === undefined ? GtidSet.empty : holdsOf(seen)
    const sinceMs = atMs - seconds * 1_050 - besidesMs
    const early = this.#clients.heardBefore(lost.subtract(heardOf), sinceMs)
    if (!early.isEmpty()) return `far: ${shown(early)} is lost, and came sooner than in the ${seconds} s that were said`
    const counted = lost.intersect(heardOf).count()
    return counted > known
      ? `far: ${counted} transactions are lost of which was heard, and ${known} were said`
      : undefined
  }

  /** Whatever somebody else has beyond the elected one. */
  #giveUp(elected: Machine): void {
    const held = heldBy(elected)
    for (const machine of this.#cluster.machines) this.#givenUp = this.#givenUp.union(heldBy(machine).subtract(held))
  }

  #electsGivenUp(elected: Machine): string | undefined {
    const errant = heldBy(elected).intersect(this.#givenUp)
    return errant.isEmpty() ? undefined : `far: ${elected.name} is elected with ${shown(errant)}, which was given up`
  }

  /** What was given up stays where it is. */
  #handsOn(): string | undefined {
    const { record } = this.#cluster
    if (record === undefined || this.#givenUp.isEmpty()) return undefined
    const primary = this.#cluster.machine(instanceOf(record.primary))
    const handed = heldBy(primary).intersect(this.#givenUp)
    return handed.isEmpty() ? undefined : `far: ${primary.name} leads and got ${shown(handed)}, which was given up`
  }

  /** Nothing is in the way of closing an old primary, and that takes writes. */
  #leavesOpen(): string | undefined {
    const { machines, time } = this.#cluster
    for (const machine of machines) {
      const { mysqld } = machine
      if (this.#leads(machine) || mysqld?.mayWrite !== true || !this.#isSeen(machine)) {
        this.#openSince.delete(machine)
        continue
      }
      const since = this.#openSince.get(machine) ?? time.nowMs
      this.#openSince.set(machine, since)
      if (time.nowMs - since > closedWithinMs) return `far: ${machine.name} leads no more, is reached, and takes writes`
    }
    return undefined
  }
}

interface Said {
  /** Null where nobody knows. */
  readonly known: number | null
  readonly seconds: number
}

/** As the manager says that of the failover. */
function lossSaid(why: string): Said | undefined {
  const [, known, seconds] =
    /allows: (?:(\d+) transactions? heard of|nobody heard what) .* took in the (\d+) s since/.exec(why) ?? []
  if (seconds === undefined) return undefined
  return { known: known === undefined ? null : Number(known), seconds: Number(seconds) }
}

interface Loss {
  readonly former: Machine
  readonly elected: Machine
  readonly lost: GtidSet
  readonly atMs: number
}

function isElection(before: ClusterRecord, after: ClusterRecord): boolean {
  return before.epoch !== after.epoch
}

/** One that was prepared by one manager. */
export function commitKey({ epoch, revision, primary }: ClusterRecord): string {
  return `${epoch} ${revision} ${primary}`
}
