import { isFenced, isLive, isServing, type DecisionInput } from '#failover/judge/situation.ts'
import type { RouterSettings } from '#failover/protocol/router-settings.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { lagMsOf, replicatingOf } from '#topology/snapshot/replicating.ts'
import { isGone, type InstanceView } from '#topology/snapshot/snapshot.ts'

type Word = 'may' | 'may not' | 'as before'

/**
 * Which instances get reads of clients without a router: replicas that follow and are not late. A replica that was left
 * out comes back once its lag is half of what is allowed, so that reads do not come and go with each second. A replica
 * that is not heard, or whose server does not answer now, stays as it is. While no replica may have reads the primary
 * gets them, or nobody, as is asked for.
 *
 * @param had who gets them now
 */
export function readersIn(
  input: DecisionInput,
  reads: RouterSettings['reads'],
  had: ReadonlySet<InstanceName>,
): readonly InstanceName[] {
  const { snapshot, record, timings } = input
  if (record === undefined) return [...had]
  const primary = snapshot.instances.find(({ observation }) => observation?.member === record.primary)
  const leads = isServing(primary, timings) ? primary : undefined
  const readers = snapshot.instances.filter((view) => {
    if (view === primary) return false
    const { name } = view
    const word = wordAbout(view, input, { leads, mostMs: had.has(name) ? reads.maxLagMs : reads.maxLagMs / 2 })
    return word === 'may' || (word === 'as before' && had.has(name))
  })
  const isAlone = reads.fallback === 'primary' && readers.every((view) => isLost(view, input))
  return snapshot.instances
    .filter((view) => readers.includes(view) || (view === leads && isAlone))
    .map(({ name }) => name)
}

interface Known {
  /** The primary, where its server answers. */
  readonly leads: InstanceView | undefined
  readonly mostMs: number
}

function wordAbout(view: InstanceView, input: DecisionInput, { leads, mostMs }: Known): Word {
  if (isFenced(input.notes, view.name)) return 'may not'
  if (!isLive(view)) return 'as before'
  if (isShut(view.observation)) return 'may not'
  if (!isServing(view, input.timings)) return 'as before'
  const { isWhole, applyLagMs, ...replicating } = replicatingOf(view.observation)
  if (!isWhole) return 'may not'
  // Nobody can follow a primary that is away. What a replica lacks then was written before.
  const lagMs =
    leads === undefined
      ? Math.max(applyLagMs, strayedBeforeMs(view, input))
      : Math.max(lagMsOf(replicating, leads.observation?.heartbeat), strayedMs(view, input))
  return lagMs <= mostMs ? 'may' : 'may not'
}

function isShut(seen: Observation): boolean {
  const { stored, server, seedingProgress } = seen
  const isReplica = stored.assignment?.role === 'replica' && !stored.assignment.fenced
  return !isReplica || isGone(seen) || stored.seeding || seedingProgress !== null || server?.offlineMode === true
}

/** What a replica lacks that follows nobody is not known: at least what came since then. */
function strayedMs({ name }: InstanceView, { strayingSince, nowMs }: DecisionInput): number {
  return nowMs - (strayingSince.get(name) ?? nowMs)
}

/** The time for which a replica already followed nobody when the last of the replicas still followed. */
function strayedBeforeMs({ name }: InstanceView, { snapshot, record, strayingSince, nowMs }: DecisionInput): number {
  const replicas = snapshot.instances.filter(({ observation }) => observation?.member !== record?.primary)
  const newestMs = Math.max(...replicas.map((one) => strayingSince.get(one.name) ?? nowMs))
  return newestMs - (strayingSince.get(name) ?? nowMs)
}

/** Nobody has heard of the replica for a lease: nothing may be there. One that this manager never heard may be well. */
function isLost({ reachable, heardAtMs }: InstanceView, { nowMs, timings }: DecisionInput): boolean {
  return !reachable && heardAtMs !== null && nowMs - heardAtMs > timings.leaseMs
}
