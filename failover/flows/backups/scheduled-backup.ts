import { backupName, secondOf } from '#backup/objects/backup-name.ts'
import { moment } from '#common/sentence/moment.ts'
import { dueRun, whyBadSchedule } from '#backup/schedule.ts'
import { duration, say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import type { BackupSettings } from '#failover/protocol/backup-settings.ts'
import type { WordAction } from '#failover/protocol/decision.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { isFollowingAsTold, liveView, liveViews, wantedInstances, type Situation } from '#failover/judge/situation.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { whyLostToArchive } from './closing-holes.ts'
import { planBackup, underWay } from './backing-up.ts'
import type { FlowStep } from '#failover/steps/step.ts'

/** What the schedule of backups wants now: a word to an agent, or why there is none yet. */
export interface ScheduledBackup {
  readonly actions: readonly WordAction<'backUp'>[]
  readonly reason: Sentence
  readonly revisitMs: number | null
}

/** A run that failed is tried again after this; and all words of one such span of time name one run. */
const triesMs = 600_000
/** The least between two backups of which no restore takes the first one. */
const afterRefusedMs = 3_600_000
/** What was seen in the store longer ago may not be so any more. */
const staleMs = 300_000
/** A cluster that does not become whole is backed up all the same. */
const wholeWithinMs = 600_000
/** So far clocks of machines may differ. */
export const clocksDifferMs = 60_000
const longestWaitMs = 3_600_000

interface Schedule {
  readonly cron: string
  readonly timeZone: string
}

/** The newest run that anybody knows of. */
interface LastRun {
  readonly name: string
  readonly atMs: number
  readonly isWhole: boolean
  /** Why it failed, as far as that is known; '' otherwise. */
  readonly failure: string
}

/** When a run is to begin, or was; `what` says why then. */
interface Due {
  readonly isDue: boolean
  readonly atMs: number
  readonly what: Sentence
}

/**
 * Decides by the store and by what agents say, and remembers nothing. The name of a run is made of the moment at which
 * the run was due: a word that is said twice, or by two managers, is one backup.
 */
export function scheduledBackup(
  situation: Situation,
  settings: BackupSettings,
  now: Pick<FlowStep, 'flow' | 'blocked'>,
): ScheduledBackup | null {
  const { schedule, timeZone } = settings
  if (schedule === null) return null
  const bad = whyBadSchedule('backup.schedule', { cron: schedule, timeZone })
  const unready = bad === '' ? whyUnready(situation) : say`no backup is begun: ${bad}`
  if (unready !== '') return not(unready)
  const last = lastRun(situation)
  if (last !== null && last.atMs > situation.wallMs + clocksDifferMs) return not(fromTheFuture(last))
  const due = dueNow(situation, { cron: schedule, timeZone }, last)
  const { wallMs } = situation
  if (!due.isDue) return not(due.what, Math.min(longestWaitMs, Math.max(1, due.atMs - wallMs)))
  const busy = whatComesFirst(situation, now) || (last === null ? whyNotWhole(situation) : '')
  if (busy !== '') return not(say`${due.what}, and waits: ${busy}`)
  return begun(situation, settings, due)
}

function not(reason: Sentence, revisitMs: number | null = null): ScheduledBackup {
  return { actions: [], reason, revisitMs }
}

function begun(situation: Situation, { store }: BackupSettings, due: Due): ScheduledBackup {
  const plan = planBackup(situation)
  if ('refusal' in plan) return not(say`${due.what}, and waits: ${plan.refusal}`)
  const { view, isPrimary } = plan
  const name = backupName(Math.max(due.atMs, spanOf(situation.wallMs)))
  const said = { version: orderVersion, cluster: situation.cluster, member: view.observation.member, name, store }
  const note = isPrimary ? say`, which is the primary, since no replica can be copied` : ''
  return {
    actions: [{ kind: 'say', to: view.name, word: 'backUp', said }],
    reason: say`${due.what}: ${view.name} is told to make backup ${name}${note}`,
    revisitMs: null,
  }
}

/** Why nobody can know whether a backup is due; or the sentence that a backup is being made. */
function whyUnready(situation: Situation): Said {
  const { snapshot, record } = situation
  const busy = underWay(liveViews(snapshot))
  if (busy !== undefined) return say`no other backup is begun: ${busy.instance} makes backup ${busy.name}`
  const name = instanceOf(record.primary)
  const primary = liveView(snapshot, record.primary)
  if (primary === undefined)
    return say`no backup is begun: the agent of ${name} is silent, which looks at the store of backups`
  const { backupTask, backups } = primary.observation
  if (backupTask === undefined)
    return say`no backup is begun: the agent of ${name} is older than this, and does not look at the store of backups`
  if (backups === undefined) return say`no backup is begun: ${name} has not looked at the store of backups yet`
  const { answers, sentence, lookedAgoMs } = backups
  if (!answers) return say`no backup is begun: ${name} cannot see the store of backups: ${text(sentence)}`
  return lookedAgoMs === null || lookedAgoMs > staleMs
    ? say`no backup is begun: ${name} last saw the store of backups ${duration(lookedAgoMs ?? 0)} ago`
    : ''
}

/** An instance that is silent may have begun it, and is not waited for. */
function lastRun({ snapshot, record }: Situation): LastRun | null {
  const begun = liveView(snapshot, record.primary)?.observation.backups?.begun ?? null
  const inStore = begun === null ? [] : [{ name: begun.name, isWhole: begun.whole, failure: '' }]
  const told = snapshot.instances.flatMap(({ observation }) => observation?.backup ?? [])
  const toldRuns = told.map(({ name, stage, sentence }) => ({ name, isWhole: stage === 'done', failure: sentence }))
  const runs = [...inStore, ...toldRuns].flatMap((run) => {
    const atMs = secondOf(run.name)
    return atMs === null ? [] : [{ ...run, atMs }]
  })
  const [newest] = runs.toSorted((one, other) => (one.name < other.name ? 1 : -1))
  if (newest === undefined) return null
  const same = runs.filter(({ name }) => name === newest.name)
  return {
    ...newest,
    isWhole: same.some(({ isWhole }) => isWhole),
    failure: same.find(({ failure }) => failure !== '')?.failure ?? '',
  }
}

function fromTheFuture({ name }: LastRun): Sentence {
  return say`no backup is begun: backup ${name} has a time that is still to come by the clock of this manager; set the clocks right, or delete that backup`
}

function dueNow(situation: Situation, schedule: Schedule, last: LastRun | null): Due {
  const bySchedule = dueBySchedule(situation, schedule, last)
  return dueForHole(situation, last) ?? dueForRefused(situation, last, bySchedule) ?? bySchedule
}

function dueBySchedule({ wallMs }: Situation, schedule: Schedule, last: LastRun | null): Due {
  if (last === null) return { isDue: true, atMs: spanOf(wallMs), what: say`the first backup is due` }
  const { isDue, atMs } = dueRun(schedule, last.atMs, wallMs)
  if (isDue) return { isDue, atMs, what: say`a backup is due since ${moment(atMs)}` }
  if (last.isWhole) return { isDue, atMs, what: say`no backup is due: the next one is at ${moment(atMs)}` }
  const againMs = Math.min(atMs, last.atMs + triesMs)
  const why = last.failure === '' ? '' : say`: ${text(last.failure)}`
  return againMs <= wallMs
    ? { isDue: true, atMs: againMs, what: say`a backup is due since backup ${last.name} did not become whole${why}` }
    : {
        isDue: false,
        atMs: againMs,
        what: say`backup ${last.name} did not become whole${why}; the next try is at ${moment(againMs)}`,
      }
}

/** A schedule may be a day away, and nothing of that day could be restored. Null where a backup changes nothing. */
function dueForHole(situation: Situation, last: LastRun | null): Due | null {
  const why = whyLostToArchive(situation)
  if (why === '' || last?.isWhole !== true) return null
  const atMs = last.atMs + triesMs
  const isDue = atMs <= situation.wallMs
  const when = isDue ? say`now` : say`at ${moment(atMs)}`
  return { isDue, atMs, what: say`a backup is due ${when}, before its schedule, since ${why}` }
}

/**
 * A backup that no restore takes with the key of the store is none: the next one is made with that key. The next one
 * waits where the useless backup was made a moment ago: an agent of an older version may make another one that is no
 * better.
 */
function dueForRefused(situation: Situation, last: LastRun | null, bySchedule: Due): Due | null {
  const refused = last?.isWhole === true ? whyRefused(situation, last.name) : ''
  if (last === null || refused === '') return null
  const atMs = last.atMs + afterRefusedMs
  const isDue = atMs <= situation.wallMs
  if (!isDue && bySchedule.atMs <= atMs) return null
  const when = isDue ? say`now` : say`at ${moment(atMs)}`
  return {
    ...{ isDue, atMs },
    what: say`a backup is due ${when}, before its schedule, since no restore takes the newest one: ${text(refused)}`,
  }
}

/** '' also where another one is the newest by now. */
function whyRefused({ snapshot, record }: Situation, name: string): string {
  const newest = liveView(snapshot, record.primary)?.observation.backups?.newest
  return newest?.name === name ? (newest.refused ?? '') : ''
}

/** The beginning of the span of time that a moment is in. */
function spanOf(wallMs: number): number {
  return Math.floor(wallMs / triesMs) * triesMs
}

/** A copy costs a disk its rate: nothing that the cluster needs soon waits for a backup. */
export function whatComesFirst(situation: Situation, { flow, blocked }: Pick<FlowStep, 'flow' | 'blocked'>): Said {
  const { notes, record, snapshot, inFlight } = situation
  if (notes.paused !== null) return say`the cluster is paused: ${text(notes.paused.reason)}`
  if (flow !== null || record.intent !== null) return say`a ${flow ?? 'switchover'} is under way`
  if (blocked) return say`what the cluster waits for comes first`
  if (snapshot.instances.length !== wantedInstances(situation)) return say`the cluster changes its size`
  const seeded = snapshot.instances.find(
    ({ name, observation }) =>
      observation?.stored.seeding === true ||
      (observation?.seedingProgress ?? null) !== null ||
      inFlight.get(name)?.order === 'reseed',
  )
  return seeded === undefined ? '' : say`${seeded.name} is made anew as a copy`
}

/** The first backup is of a cluster that has found itself; but some replica that is gone for good stops no backup. */
function whyNotWhole(situation: Situation): Said {
  const { snapshot, record, nowMs, leadsSinceMs } = situation
  if (nowMs - leadsSinceMs >= wholeWithinMs) return ''
  const primary = liveView(snapshot, record.primary)
  const missing = snapshot.instances.find((view) =>
    view.name === primary?.name ? !primary.observation.converged.done : !isFollowingAsTold(view, situation),
  )
  return missing === undefined ? '' : say`${missing.name} is not what it is assigned to be yet`
}
