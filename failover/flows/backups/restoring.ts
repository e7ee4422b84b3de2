import { counted, duration, heard, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { abbreviated } from '#common/text/words.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { ordinalOf } from '#topology/snapshot/member.ts'
import type { DecisionInput, LiveView } from '#failover/judge/situation.ts'
import type { BackupToRestore } from '#failover/protocol/backup-store.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { standStillInMaking } from '#failover/steps/making.ts'
import { step, type FlowStep } from '#failover/steps/step.ts'

/** A restore that failed is tried again after this time; one that was refused needs another store, key or order. */
const retryMs = { failed: 30_000, refused: 600_000 } as const

/**
 * A new cluster that is to begin with a backup: its first instance restores the backup, and leads, since nobody holds
 * as much. Null where none is asked for, or that is done. Never over data.
 * @param live everybody: all answer, and nobody has promised anything
 */
export function restoreFirst(input: DecisionInput, live: readonly LiveView[]): FlowStep | null {
  const { restore } = input.spec
  if (restore === undefined || live.some(({ observation }) => observation.stored.restored !== undefined)) return null
  const holder = live.find(({ observation }) => !holdsOf(observation).isEmpty())
  // A restore has the server up before that is noted.
  if (holder !== undefined && holder.observation.seedingProgress === null) {
    const held = counted(holdsOf(holder.observation).count(), 'transaction')
    const advice = say`make a new cluster for the backup, or back these data up and delete their volumes`
    return standStillInMaking(say`${holder.name} holds ${held} already, and nothing is restored over data: ${advice}`)
  }
  const [first] = live.toSorted((one, other) => ordinalOf(one.name) - ordinalOf(other.name))
  return first === undefined ? null : restoreAt(input, first, restore)
}

function restoreAt(input: DecisionInput, { name, observation }: LiveView, restore: BackupToRestore): FlowStep {
  const what = whatIsWanted(restore)
  const { seedingProgress, seedingFailures = [], member } = observation
  if (seedingProgress !== null)
    return step(say`${name} restores ${what}: ${heard(seedingProgress.stage)}`, [], { revisitMs: 1_000 })
  const failed = seedingFailures.find(({ donor }) => donor === name)
  const waitMs = failed === undefined ? 0 : retryMs[failed.isRefused === true ? 'refused' : 'failed'] - failed.agoMs
  if (failed !== undefined && waitMs > 0)
    return standStillInMaking(
      say`${name} could not restore ${what}: ${text(failed.error)}; that is tried again in ${duration(waitMs)}`,
    )
  if (input.inFlight.has(name)) return step(say`${name} is told to restore ${what}`, [], { revisitMs: 500 })
  const order = { version: orderVersion, cluster: input.cluster, member, epoch: 1, revision: 0, ...restore }
  return step(say`${name} restores ${what}, before anybody leads`, [{ kind: 'restore', to: name, order }], {
    revisitMs: 1_000,
  })
}

function whatIsWanted({ of, backup, until, untilGtids, before }: BackupToRestore): Sentence {
  const from = backup === undefined ? '' : say`backup ${backup} of `
  if (until !== undefined) return say`${from}${of} as of ${text(until)}`
  if (untilGtids !== undefined) return say`${from}${of} up to ${text(abbreviated(untilGtids))}`
  if (before !== undefined) return say`${from}${of} as before ${text(before)}`
  return backup === undefined ? say`the newest of ${of}` : say`backup ${backup} of ${of}`
}
