import { isNotedUnsettled } from '#failover/judge/data/unsettled.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { parseNotes } from '#store/wire.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import type { Machine } from '../machine.ts'
import { cluster as clusterName, type SimulatedCluster } from '../simulated-cluster.ts'
import { heldBy, heldIn, shown } from './held.ts'
import type { Given, Words } from './words.ts'
import { say } from '#common/sentence/sentence.ts'

interface Step {
  readonly cluster: SimulatedCluster
  readonly words: Words
  readonly before: ClusterRecord
  readonly after: ClusterRecord
}

/**
 * What is wrong with a change of the record (docs/why/safety.md, "A failover, and why each step keeps the invariant"
 * and "Changing the sync set").
 */
export function wrongCommit(step: Step): string | undefined {
  const { cluster, before, after } = step
  if (after.epoch === before.epoch) return wrongChange(step)
  // A person answers for what is given up, or did so ahead of time.
  if (cluster.acceptingLoss > 0 || cluster.acceptsLoss) return undefined
  if (after.primary !== before.primary) return notRevoked(step) ?? wrongSyncSet(step)
  const isSame = after.acks === before.acks && String(after.syncSet) === String(before.syncSet)
  return isSame ? undefined : 'the same primary goes on in another epoch with another sync set or k'
}

function wrongChange({ cluster, words, before, after }: Step): string | undefined {
  const dropped = before.syncSet.find((member) => !after.syncSet.includes(member) && !before.leaving.includes(member))
  if (dropped !== undefined) return `${instanceOf(dropped)} is dropped before it was leaving`
  const primary = machineOf(cluster, after.primary)
  if (after.acks > before.acks && waitsForFewer(primary, after.acks))
    return `writes need ${after.acks} acknowledgements by the record, and ${primary.name} waits for fewer`
  for (const member of after.syncSet) {
    if (before.syncSet.includes(member) || cluster.isElsewhere(member)) continue
    const machine = machineOf(cluster, member)
    const errant = heldBy(machine).subtract(heldBy(primary)).subtract(words.byHand.unknownOf(machine))
    if (!errant.isEmpty()) return `${instanceOf(member)} joins with ${shown(errant)}, which the primary lacks`
  }
  return undefined
}

export function waitsForFewer({ mysqld }: Machine, acks: number): boolean {
  if (mysqld === null || mysqld.state === 'dead' || acks === 0) return false
  return !mysqld.semiSyncSource.enabled || mysqld.semiSyncSource.acks < acks
}

function machineOf(cluster: SimulatedCluster, member: MemberId): Machine {
  return cluster.machine(instanceOf(member))
}

/** At the revision that the commit takes the place of. */
function given({ words, before, after }: Step, member: MemberId): Given | undefined {
  const found = words.given(member, after.epoch)
  return found !== undefined && found.revision >= before.revision ? found : undefined
}

function notRevoked(step: Step): string | undefined {
  const { cluster, before, after } = step
  const quorum =
    before.syncSet.length >= before.acks && before.acks > 0 ? before.syncSet.length - before.acks + 1 : null
  const promised = before.syncSet.filter((member) => given(step, member) !== undefined).length
  const byPrimary = given(step, before.primary)?.asPrimary === true
  const notes = cluster.cells.get(`notes.${clusterName}`)
  const isUnsettled =
    notes !== undefined && isNotedUnsettled(parseNotes(notes.text, say`the simulated store`), before.primary)
  if (byPrimary || (!isUnsettled && quorum !== null && promised >= quorum)) return undefined
  const why = isUnsettled ? ', and what its primary holds is unsettled' : ''
  return `epoch ${after.epoch} is committed by ${promised} promises of ${before.syncSet.length}, k = ${before.acks}${why}`
}

function wrongSyncSet(step: Step): string | undefined {
  const { cluster, after } = step
  const elected = machineOf(cluster, after.primary)
  // What a hand wrote there since the election is nobody else's.
  const primary = heldBy(elected).withoutSource(elected.folder?.uuid ?? '')
  for (const member of after.syncSet) {
    const why = whyNotInSyncSet(step, member, elected)
    if (why !== undefined) return `${instanceOf(member)} is in the new sync set ${why}`
  }
  const whole = after.syncSet.filter((member) => {
    const machine = machineOf(cluster, member)
    return cluster.isElsewhere(member) || cluster.mayForget(machine) || heldBy(machine).contains(primary)
  })
  return after.syncSet.length === 0 || whole.length >= after.acks
    ? undefined
    : `${whole.length} of the new sync set hold all that the new primary has; writes need ${after.acks}`
}

function whyNotInSyncSet(step: Step, member: MemberId, elected: Machine): string | undefined {
  const { cluster, before, after } = step
  const found = given(step, member)
  if (found === undefined) return 'and promised nothing'
  if (member === before.primary && found.isDown) return 'with a tail that nobody judged'
  if (cluster.isElsewhere(member) || cluster.isElsewhere(after.primary)) return undefined
  const { folder } = machineOf(cluster, member)
  const held = member === before.primary ? heldIn(folder) : heldIn(folder).withoutSource(folder?.uuid ?? '')
  const more = held.subtract(heldBy(elected))
  return more.isEmpty() ? undefined : `with ${shown(more)}, which nobody else has`
}
