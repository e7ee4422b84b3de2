import type { PrimaryAssignment } from '#failover/protocol/assignment.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { instanceOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import type { Machine } from '../machine.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { waitsForFewer } from './commits.ts'
import { heldBy, heldByAtLeast, shown, writtenForOthers } from './held.ts'
import type { OnDisk } from './on-disk.ts'

interface Opened {
  readonly pid: number
  readonly epoch: number
}

/** Servers that let clients in, and whether they may. */
export class Openings {
  readonly #cluster: SimulatedCluster
  readonly #onDisk: OnDisk
  readonly #primaries = new Map<number, MemberId>()
  readonly #mayRestart = new Set<Machine>()
  /** Told to be copied from: where something waits, its agent kills its server, and starts the server again. */
  readonly #donates = new Set<Machine>()
  readonly #heardAtMs = new Map<Machine, number>()
  readonly #last = new Map<Machine, Opened>()

  constructor(cluster: SimulatedCluster, onDisk: OnDisk) {
    this.#cluster = cluster
    this.#onDisk = onDisk
  }

  committed({ epoch, primary }: ClusterRecord): void {
    this.#primaries.set(epoch, primary)
  }

  /** Of a route as well: whom the record named in that epoch. */
  primaryOf(epoch: number): string | undefined {
    const member = this.#primaries.get(epoch)
    return member && instanceOf(member)
  }

  ordered(machine: Machine, order: unknown): void {
    this.#heardAtMs.set(machine, this.#cluster.time.nowMs)
    if ((order as Partial<PrimaryAssignment>).mayRestart === true) this.#mayRestart.add(machine)
  }

  /** Carried out after it had waited behind another order, perhaps one that started the server before. */
  obeyed(machine: Machine, order: unknown): void {
    const { mayRestart, donates } = order as Partial<PrimaryAssignment>
    if (mayRestart === true) this.#mayRestart.add(machine)
    // What comes once the server is killed changes nothing.
    if (donates === true) this.#donates.add(machine)
    else if (machine.mysqld !== null && machine.mysqld.state !== 'dead') this.#donates.delete(machine)
  }

  /** No manager was heard for long: a primary may come back by itself. */
  #isAlone(machine: Machine): boolean {
    const { time, timings } = this.#cluster
    return time.nowMs - (this.#heardAtMs.get(machine) ?? 0) > timings.restartAloneMs * 0.9
  }

  /** Recovery commits the tail of a server that was primary: nobody may start that server before its tail is judged. */
  started(machine: Machine): string | undefined {
    const disk = this.#onDisk.of(machine)
    const isAllowed = this.#isAllowedToStart(machine)
    if (disk?.assignment?.role !== 'primary' || disk.assignment.donates === true) return undefined
    if (machine.folder?.prepared.length === 0) return undefined
    if (disk.promise === disk.assignment.epoch)
      return isAllowed
        ? undefined
        : `mysqld of ${machine.name} is started, which was primary, and no manager allowed that`
    return `mysqld of ${machine.name} is started, which was primary of epoch ${disk.assignment.epoch} and promised ${disk.promise}`
  }

  /** Each leave is good for one start. */
  #isAllowedToStart(machine: Machine): boolean {
    const [isTold, isForCopy] = [this.#mayRestart.delete(machine), this.#donates.delete(machine)]
    return isTold || isForCopy || this.#isAlone(machine)
  }

  opened(machine: Machine): string | undefined {
    const { record } = this.#cluster
    const { mysqld } = machine
    if (record === undefined || mysqld === null) return undefined
    const { epoch, promise } = this.#leadsByDisk(machine)
    if (epoch === 0 || promise !== epoch)
      return `${machine.name} opens; by its disk it is primary of epoch ${epoch} and promised ${promise}`
    const primary = this.primaryOf(epoch)
    if (primary !== machine.name)
      return `${machine.name} opens as primary of epoch ${epoch}; the record named ${primary ?? 'nobody'}`
    const again = this.#opensAgain(machine, { pid: mysqld.pid, epoch })
    this.#last.set(machine, { pid: mysqld.pid, epoch })
    return record.epoch === epoch ? this.#asPrimary(machine, record, again) : undefined
  }

  #leadsByDisk(machine: Machine): { readonly epoch: number; readonly promise: number } {
    const disk = this.#onDisk.of(machine)
    return { epoch: disk?.assignment?.role === 'primary' ? disk.assignment.epoch : 0, promise: disk?.promise ?? 0 }
  }

  #asPrimary(machine: Machine, record: ClusterRecord, again: boolean): string | undefined {
    if (waitsForFewer(machine, record.acks)) return `${machine.name} opens and waits for fewer than ${record.acks}`
    return this.#letsIn(machine, record) ?? this.#shows(machine, again ? record : undefined)
  }

  /** A gate is open for who does not count, and has not stored that in this epoch. */
  #letsIn({ name, folder }: Machine, { epoch, syncSet }: ClusterRecord): string | undefined {
    const members = syncSet.map(instanceOf)
    const uncounted = this.#cluster.machines.filter((other) => other.name !== name && !members.includes(other.name))
    const stranger = uncounted.find(
      (other) => folder?.gates.has(other.name) && this.#mayAcknowledge(other, { name, epoch }),
    )
    return (
      stranger && `${name} opens with an open gate for ${stranger.name}, which has not stored that it does not count`
    )
  }

  /**
   * One that was seeded meanwhile has its gate, and an assignment of before: that one follows somebody else, and did
   * not count.
   */
  #mayAcknowledge(machine: Machine, primary: { readonly name: InstanceName; readonly epoch: number }): boolean {
    const disk = this.#onDisk.of(machine)
    const assignment = disk?.seeding === true ? null : (disk?.assignment ?? null)
    if (assignment === null) return false
    if (assignment.role === 'primary' || assignment.counted) return true
    return assignment.epoch !== primary.epoch && assignment.source.instance === primary.name
  }

  /** Its mysqld was started again since it was open, and nobody else has led meanwhile. */
  #opensAgain({ name, ...machine }: Machine, { pid, epoch }: Opened): boolean {
    const before = [...this.#last].find(([one]) => one.name === name)?.[1]
    if (machine.mysqld === null || before === undefined || before.pid === pid) return false
    // On another volume it is somebody else, who was elected.
    const member = this.#primaries.get(epoch)
    for (let one = before.epoch; one <= epoch; one += 1) if (this.#primaries.get(one) !== member) return false
    return true
  }

  /**
   * Nobody may read what k of the sync set do not hold. A replica acknowledges what a hand wrote with the replica's own
   * `server_id`, and passes that over: no marker can tell, and who lacks that is found afterwards.
   */
  #shows(machine: Machine, record: ClusterRecord | undefined): string | undefined {
    if (record === undefined || record.acks === 0) return undefined
    const { syncSet, acks } = record
    const executed = machine.folder?.executed
    if (executed === undefined) return undefined
    const held = syncSet.map((member) => {
      const one = this.#cluster.machine(instanceOf(member))
      return this.#cluster.mayForget(one) ? executed : heldBy(one)
    })
    const shownTooEarly = executed.subtract(heldByAtLeast(acks, held)).subtract(writtenForOthers(machine))
    return shownTooEarly.isEmpty()
      ? undefined
      : `${machine.name} opens again and shows ${shown(shownTooEarly)}, held by fewer than ${acks} of the sync set`
  }
}
