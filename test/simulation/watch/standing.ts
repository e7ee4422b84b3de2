import { instanceOf } from '#topology/snapshot/member.ts'
import type { Machine } from '../machine.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'

/** Clocks differ by 2 %, and what an agent does takes a moment. */
const besidesMs = 1_500

/** What must be true at every moment, whatever happened. */
export class Standing {
  readonly #cluster: SimulatedCluster
  readonly #aloneSince = new Map<Machine, number>()

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster
  }

  look(): string | undefined {
    return this.#lacksLease() ?? this.#letsInWhoDoesNotCount()
  }

  /** An agent that runs and reaches neither a manager nor a majority closes its primary. */
  #lacksLease(): string | undefined {
    const { machines, time, timings } = this.#cluster
    for (const machine of machines) {
      const runs = machine.agentLife?.runs === true && machine.mysqld?.state === 'running' && machine.mysqld.mayWrite
      if (!runs || !this.#isAlone(machine)) {
        this.#aloneSince.delete(machine)
        continue
      }
      const since = this.#aloneSince.get(machine) ?? time.nowMs
      this.#aloneSince.set(machine, since)
      const aloneMs = time.nowMs - since
      if (aloneMs > timings.leaseMs + timings.leaseAfterPauseMs + besidesMs)
        return `${machine.name} is alone for ${Math.round(aloneMs)} ms and takes writes`
    }
    return undefined
  }

  #isAlone(machine: Machine): boolean {
    const { machines, managers, network, groups } = this.#cluster
    const { name } = machine
    // Its group agrees with what it does.
    if (groups?.memberAt(machine)?.hearsMajority() === true) return false
    const hears = (other: string): boolean => network.reaches(name, other) && network.reaches(other, name)
    const managed = managers.some((manager, index) => manager?.life.runs === true && hears(`manager-${index}`))
    const peers = machines.filter((peer) => peer.name !== name && peer.agentLife?.runs === true && hears(peer.name))
    return !managed && (peers.length + 1) * 2 <= machines.length
  }

  /** A gate is open, and whoever comes through would be counted, and the record does not count that one. */
  #letsInWhoDoesNotCount(): string | undefined {
    const { record, machines } = this.#cluster
    if (record === undefined) return undefined
    const primary = this.#cluster.machine(instanceOf(record.primary))
    if (!awaitsAcknowledgements(primary)) return undefined
    const members = record.syncSet.map(instanceOf)
    const stranger = machines.find(
      (machine) =>
        machine !== primary &&
        !members.includes(machine.name) &&
        primary.folder?.gates.has(machine.name) === true &&
        wouldAcknowledge(machine, primary),
    )
    if (stranger === undefined) return undefined
    const assignment = this.#cluster.observation(primary.name)?.stored.assignment
    if (assignment?.role !== 'primary' || assignment.epoch !== record.epoch) return undefined
    return `the gate of ${stranger.name} is open, which does not count and would acknowledge`
  }
}

/** A server that is being opened sets its gates first: until then nobody writes there, and nothing waits. */
function awaitsAcknowledgements({ mysqld }: Machine): boolean {
  if (mysqld === null || mysqld.state === 'dead' || !mysqld.semiSyncSource.enabled) return false
  return mysqld.mayWrite || mysqld.semiSyncSource.waits
}

function wouldAcknowledge({ mysqld }: Machine, { host }: Machine): boolean {
  if (mysqld === null || mysqld.state === 'dead') return false
  return mysqld.semiSyncReplica && mysqld.receiver.status !== 'no' && mysqld.folder.source?.host === host
}
