import { wayOut } from '#failover/way-out/way-out.ts'
import { parseNotes } from '#store/wire.ts'
import type { ClusterNotes } from '#failover/protocol/notes.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { cluster as name, type SimulatedCluster } from '../simulated-cluster.ts'
import { FarPeople } from '../far/people.ts'
import { failOver, resume, unfence } from './people.ts'
import { say } from '#common/sentence/sentence.ts'

const lookMs = 1_500
/** A person gives Regent so long before that person accepts a loss. */
const patienceMs = 30_000

export function notesOf({ cells }: SimulatedCluster): ClusterNotes | undefined {
  const cell = cells.get(`notes.${name}`)
  return cell && parseNotes(cell.text, say`the simulated store`)
}

/**
 * The primary's volume is gone, and all others may have forgotten what they acknowledged: none of them is elected, not
 * even by force (`failover/semisync/unfit-members.test.ts`). Regent says who must come back, and the volume never does.
 */
export function isBeyondPeople(cluster: SimulatedCluster): boolean {
  const { record, machines } = cluster
  if (record === undefined || !cluster.isElsewhere(record.primary)) return false
  const others = machines.filter(({ name }) => name !== instanceOf(record.primary))
  return others.every((machine) => cluster.mayForget(machine) || machine.goneMember !== undefined)
}

/**
 * What a person must decide, and decides once nothing goes wrong any more. Regent names each of these by itself, and
 * nothing else may keep a cluster from being whole:
 *
 * - A pause and a fence stand until a person ends them.
 * - What an old primary alone has that is far from its agent (`far/people.ts`).
 * - A volume is lost, and perhaps with it what nobody else has: a person waits for the volume, and then gives the one
 *   command that Regent names (`failover/way-out/way-out.ts`), whatever is lost by that.
 */
export function letPeopleDecide(cluster: SimulatedCluster): void {
  const healedMs = cluster.time.nowMs
  const farPeople = new FarPeople(cluster)
  const look = (): void => {
    endPausesAndFences(cluster)
    farPeople.look()
    const leading = cluster.managers.find((one) => one?.loop.leads === true && one.life.runs)
    const command = leading == null ? undefined : wayOut(leading.loop.input())?.command
    if (command?.verb === 'failover' && cluster.time.nowMs > healedMs + patienceMs)
      failOver(cluster, command.to === null ? undefined : cluster.machine(command.to), command.acceptLoss)
    cluster.time.after(lookMs, look)
  }
  look()
}

function endPausesAndFences(cluster: SimulatedCluster): void {
  const notes = notesOf(cluster)
  if (notes?.paused) resume(cluster)
  for (const { instance } of notes?.fenced ?? []) unfence(cluster, cluster.machine(instance))
}
