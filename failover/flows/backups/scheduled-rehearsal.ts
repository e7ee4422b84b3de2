import { backupName, secondOf } from '#backup/objects/backup-name.ts'
import { moment } from '#common/sentence/moment.ts'
import { dueRun, whyBadSchedule } from '#backup/schedule.ts'
import { say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import type { RehearsalSeen } from '#topology/snapshot/copies.ts'
import { liveView, liveViews, type Situation } from '#failover/judge/situation.ts'
import type { BackupSettings } from '#failover/protocol/backup-settings.ts'
import type { WordAction } from '#failover/protocol/decision.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { underWay } from './backing-up.ts'
import { planRehearsal, rehearsalUnderWay } from './rehearsing.ts'
import { clocksDifferMs, whatComesFirst } from './scheduled-backup.ts'
import type { FlowStep } from '#failover/steps/step.ts'

/** What the schedule of rehearsals wants now: a word to an agent, and what a person should know. */
export interface ScheduledRehearsal {
  readonly actions: readonly WordAction<'rehearse'>[]
  readonly reason: Sentence
}

/** A rehearsal that failed is tried again after a day: its cause may be gone. */
const againMs = 86_400_000
/** All words of one such span of time name one rehearsal, whoever says them. */
const spanMs = 600_000

interface LastRehearsal {
  readonly atMs: number
  /** Why that failed; '' where it did not. */
  readonly failure: string
}

/**
 * A backup counts once it was restored: the first one is rehearsed as soon as it is there, and then the newest one, by
 * the schedule. Null where nothing is to be done or told.
 */
export function scheduledRehearsal(
  situation: Situation,
  settings: BackupSettings,
  now: Pick<FlowStep, 'flow' | 'blocked'>,
): ScheduledRehearsal | null {
  const { timeZone } = settings
  const cron = settings.rehearsal.schedule
  if (cron === null || !hasBackup(situation)) return null
  const bad = whyBadSchedule('backup.rehearsal.schedule', { cron, timeZone })
  if (bad !== '') return told(say`no rehearsal is begun: ${bad}`)
  const last = lastRehearsal(situation)
  if (last !== null && last.atMs > situation.wallMs + clocksDifferMs) return told(fromTheFuture(last))
  if (!isDue({ cron, timeZone }, last, situation.wallMs) && !hasBetterBackup(situation, last))
    return last === null ? null : failureOf(last)
  const busy = whatKeeps(situation, now)
  return busy === '' ? begun(situation, settings) : told(say`a rehearsal is due, and waits: ${busy}`)
}

function hasBackup({ snapshot, record }: Situation): boolean {
  const seen = liveView(snapshot, record.primary)?.observation.backups
  return seen !== undefined && seen.answers && seen.whole > 0
}

function failureOf({ failure }: LastRehearsal): ScheduledRehearsal | null {
  return failure === '' ? null : told(say`the last rehearsal failed: ${text(failure)}`)
}

/** The schedule would wait for that time, and say nothing. */
function fromTheFuture({ atMs }: LastRehearsal): Sentence {
  return say`no rehearsal is begun: the last one was at ${moment(atMs)}, still to come by the clock of this manager; set the clocks right, and rehearse once by hand`
}

function isDue(
  schedule: { readonly cron: string; readonly timeZone: string },
  last: LastRehearsal | null,
  wallMs: number,
): boolean {
  if (last === null) return true
  return dueRun(schedule, last.atMs, wallMs).isDue || (last.failure !== '' && wallMs - last.atMs >= againMs)
}

/** Where none is verified and the last rehearsal failed, a backup that ended later is rehearsed as the first one is. */
function hasBetterBackup({ snapshot, record }: Situation, last: LastRehearsal | null): boolean {
  const { newest = null, verified = null } = liveView(snapshot, record.primary)?.observation.backups ?? {}
  if (newest === null || newest.refused !== undefined || verified !== null) return false
  return last !== null && last.failure !== '' && newest.endedAtMs > last.atMs + spanMs
}

/** By the store, and by what agents say that are there: one that failed is in no store. */
function lastRehearsal({ snapshot, record }: Situation): LastRehearsal | null {
  const verified = liveView(snapshot, record.primary)?.observation.backups?.verified ?? null
  const all: LastRehearsal[] = verified === null ? [] : [{ atMs: verified.verifiedAtMs, failure: '' }]
  for (const { observation } of snapshot.instances)
    if (observation?.rehearsal !== undefined) all.push(...asLast(observation.rehearsal))
  const [newest = null] = all.toSorted((one, other) => other.atMs - one.atMs)
  return newest
}

function asLast({ name, stage, sentence }: RehearsalSeen): readonly LastRehearsal[] {
  const atMs = secondOf(name)
  return atMs === null ? [] : [{ atMs, failure: stage === 'failed' ? sentence : '' }]
}

function whatKeeps(situation: Situation, now: Pick<FlowStep, 'flow' | 'blocked'>): Said {
  const views = liveViews(situation.snapshot)
  const rehearsal = rehearsalUnderWay(views)
  if (rehearsal !== undefined) return say`${rehearsal.instance} rehearses already`
  const backup = underWay(views)
  if (backup !== undefined) return say`${backup.instance} makes backup ${backup.name}`
  return whatComesFirst(situation, now)
}

function told(reason: Sentence): ScheduledRehearsal {
  return { actions: [], reason }
}

function begun(situation: Situation, { store }: BackupSettings): ScheduledRehearsal {
  const plan = planRehearsal(situation)
  if ('refusal' in plan) return told(say`a rehearsal is due, and waits: ${plan.refusal}`)
  const { view } = plan
  if (view.observation.backupTask === undefined)
    return told(say`a rehearsal is due, and waits: the agent of ${view.name} is older than this`)
  const name = backupName(Math.floor(situation.wallMs / spanMs) * spanMs)
  const said = { version: orderVersion, cluster: situation.cluster, member: view.observation.member, name, store }
  return {
    actions: [{ kind: 'say', to: view.name, word: 'rehearse', said }],
    reason: say`a rehearsal is due: ${view.name} is told to restore the newest backup, and to remove that again (${name})`,
  }
}
