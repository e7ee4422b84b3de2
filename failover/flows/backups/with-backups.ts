import type { Said } from '#common/sentence/sentence.ts'
import { backupTaskOf, backupTaskText } from '#failover/protocol/backup-task.ts'
import type { WordAction } from '#failover/protocol/decision.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { liveViews, type Situation } from '#failover/judge/situation.ts'
import type { Decided } from '#failover/steps/step.ts'
import { archiveTrouble } from './archive-trouble.ts'
import { closeHoles } from './closing-holes.ts'
import { scheduledBackup } from './scheduled-backup.ts'
import { scheduledRehearsal } from './scheduled-rehearsal.ts'
import { soonest } from '#failover/steps/step.ts'

/**
 * What is decided, and what of backups goes beside that: agents are told what the spec says, and one of them to make a
 * backup that is due. Nothing of the rest is decided otherwise; and nothing goes beside a commit, which ends a round.
 */
export function withBackups(situation: Situation, decided: Decided): Decided {
  if (decided.actions.some(({ kind }) => kind === 'commit')) return decided
  const told = tasksToTell(situation)
  const due = whatIsDue(situation, decided)
  const reasons = [archiveTrouble(situation), ...due.reasons].flatMap((said) => (said === '' ? [] : [said]))
  if (told.length + reasons.length === 0) return decided
  return {
    ...decided,
    actions: [...decided.actions, ...told, ...due.actions],
    reasons: [...decided.reasons, ...reasons],
    revisitMs: soonest(decided.revisitMs, due.revisitMs),
  }
}

interface DueOfBackups {
  readonly actions: readonly WordAction[]
  readonly reasons: readonly Said[]
  readonly revisitMs: number | null
}

function whatIsDue(situation: Situation, decided: Decided): DueOfBackups {
  const { backup: settings } = situation.spec
  if (settings === undefined) return { actions: [], reasons: [], revisitMs: null }
  const backup = scheduledBackup(situation, settings, decided)
  const rehearsal = scheduledRehearsal(situation, settings, decided)
  const holes = closeHoles(situation, settings)
  const steps = [backup, rehearsal].flatMap((step) => (step === null ? [] : [step]))
  return {
    // A rehearsal waits for a backup that is about to be made.
    actions: [...holes.actions, ...(steps.find(({ actions }) => actions.length > 0)?.actions ?? [])],
    reasons: [holes.reason, ...steps.map(({ reason }) => reason)],
    revisitMs: backup?.revisitMs ?? null,
  }
}

/**
 * Everybody hears of the store, so that whoever leads next looks at once; and that the cluster has a folder there, once
 * anybody has seen the folder. An instance on a new volume may lead while the disk of the store is not mounted: what
 * the others know keeps that instance from beginning another folder on the disk below.
 */
function tasksToTell(situation: Situation): readonly WordAction<'backups'>[] {
  const { snapshot, spec, cluster } = situation
  const task = backupTaskOf(spec.backup)
  const wanted = backupTaskText(task)
  const live = liveViews(snapshot)
  const isKnown = live.some(({ observation }) => observation.backupTask === wanted && observation.knowsStore === true)
  return live.flatMap(({ name, observation: { backupTask, knowsStore, member } }) => {
    const lacksThat = isKnown && knowsStore === false
    if (backupTask === undefined || (backupTask === wanted && !lacksThat)) return []
    const said = { ...(task === null ? {} : { task }), ...(lacksThat ? { used: true } : {}) }
    return [
      {
        kind: 'say' as const,
        to: name,
        word: 'backups' as const,
        said: { version: orderVersion, cluster, member, ...said },
      },
    ]
  })
}
