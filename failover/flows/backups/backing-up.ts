import { joined, say, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { isBehind } from '#topology/snapshot/lag.ts'
import { instanceOf, ordinalOf, type InstanceName } from '#topology/snapshot/member.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { downtimeOf } from '#failover/judge/downtime.ts'
import { hasDoubtedData } from '#failover/judge/data/doubted-data.ts'
import { departing, isFenced, isServing, type LiveView, type Situation } from '#failover/judge/situation.ts'

export interface Chosen {
  readonly view: LiveView
  readonly isPrimary: boolean
  /** Instances that could not be chosen, and why. */
  readonly passedOver: Said
}

export type BackupPlan = Chosen | { readonly refusal: Sentence }

/**
 * The instance that a base backup is made of: the replica that hurts least, since a copy costs its disk. The primary is
 * chosen only where no replica can give a copy, or where a person asks for the primary.
 */
export function planBackup(situation: Situation, asked?: InstanceName): BackupPlan {
  const chosen = whomItHurtsLeast(situation, asked)
  return 'view' in chosen ? chosen : { refusal: say`no instance can be copied now: ${chosen.passedOver}` }
}

/** For work that costs the disk of an instance. */
export function whomItHurtsLeast(situation: Situation, asked?: InstanceName): Chosen | { readonly passedOver: Said } {
  const { snapshot, record } = situation
  const candidates = asked === undefined ? snapshot.instances : snapshot.instances.filter(({ name }) => name === asked)
  const judged = candidates.map((view) => ({ view, why: whyNot(situation, view) }))
  const able = judged.flatMap(({ view, why }) => (why === null ? [view as LiveView] : []))
  const passedOver = joined(
    judged.flatMap(({ view, why }) => (why === null ? [] : [say`${view.name} ${why}`])),
    '; ',
  )
  const leads = (view: LiveView) => view.name === instanceOf(record.primary)
  const [best] = able.toSorted((one, other) => Number(leads(one)) - Number(leads(other)) || cost(one) - cost(other))
  return best === undefined ? { passedOver } : { view: best, isPrimary: leads(best), passedOver }
}

/** The backup that is being made, and of which instance. */
export function underWay(
  views: readonly InstanceView[],
): { readonly instance: InstanceName; readonly name: string } | undefined {
  return views.flatMap(({ name: instance, observation }) => {
    const { stage, name = '' } = observation?.backup ?? {}
    return stage === 'copies' || stage === 'sends' ? [{ instance, name }] : []
  })[0]
}

/** Instances with low ordinals cost most: they are preferred as primary, and are spared. */
function cost({ name }: LiveView): number {
  return -ordinalOf(name)
}

function whyNot(situation: Situation, view: InstanceView): Sentence | null {
  const { timings, notes } = situation
  if (!isServing(view, timings)) return say`does not answer`
  const { stored, seedingProgress, converged, server } = view.observation
  const reasons: readonly (readonly [boolean, Sentence])[] = [
    [seedingProgress !== null || stored.seeding, say`is made anew as a copy itself`],
    [hasDoubtedData(stored), say`has data that are in doubt`],
    [isFenced(notes, view.name), say`is fenced`],
    [downtimeOf(situation, view.name) !== undefined, say`is in downtime`],
    [departing(situation).includes(view.name), say`is leaving`],
    [server?.offlineMode === true, say`is offline`],
    [(server?.foreignTables.length ?? 0) > 0, say`has tables that are not InnoDB, whose rows no CLONE copies`],
    [isLate(situation, view), say`is behind`],
    [!converged.done, say`is not what it is assigned to be`],
  ]
  return reasons.find(([isSo]) => isSo)?.[1] ?? null
}

function isLate({ spec }: Situation, { observation }: LiveView): boolean {
  const channel = observation.server?.channel ?? null
  return channel !== null && isBehind(channel, spec.maxLagSeconds)
}
