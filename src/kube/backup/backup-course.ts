import { timeOf } from '#controller-runtime/objects/conditions.ts'
import { describeBackup, type BackupSeen, type BackupsSeen } from '#topology/snapshot/copies.ts'
import { duration, mebibytes } from '#common/text/words.ts'
import type { MySQLBackupStatus } from './backup-schema.ts'
import type { MySQLBackup } from './mysql-backup.ts'

/** The state of the cluster that a `MySQLBackup` is about, as the manager sees it. */
export interface CourseInput {
  readonly object: MySQLBackup
  /** Each instance, and the run that its agent speaks of. */
  readonly instances: readonly { readonly name: string; readonly reachable: boolean; readonly backup?: BackupSeen }[]
  /** The store as the primary's agent sees it; absent where nobody has looked. */
  readonly store?: BackupsSeen | undefined
  /** The run as the store has it, where an agent was asked for just that. */
  readonly stored?: StoredRun | undefined
  /** Time for which nobody has spoken of the run. */
  readonly silentMs: number
  readonly wallMs: number
}

/** A whole backup. */
export type StoredRun = NonNullable<BackupsSeen['newest']>

/** The status to write to the object, and whether the agent is to be told once more to begin. */
export interface Course {
  readonly status: MySQLBackupStatus
  readonly asks: boolean
}

/** An agent that starts again, or a manager that has just taken the lead, speaks within this time. */
export const longestSilenceMs = 120_000
/** An agent that is cut off for longer may end the run all the same: the store has the backup then. */
export const givenUpMs = 3_600_000

export function isOver({ status }: MySQLBackup): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}

/** The run that an object tells of; undefined where none is chosen yet. */
export function runOf({ spec, status }: MySQLBackup): string | undefined {
  return status?.backup ?? spec.backup
}

/**
 * The state of a run that is chosen. Only a word ends a run: of the agent that makes the backup, or of the agent that
 * looks into the store. Where nobody speaks, the phase says so, and does not say `Running`.
 */
export function courseOf(input: CourseInput): Course {
  const { object, instances } = input
  const run = runOf(object) ?? ''
  const before: MySQLBackupStatus = { backup: run, ...object.status }
  const row = speakerOf(run, instances)
  if (row?.backup !== undefined) return { status: heardOf(input, before, row.name, row.backup), asks: false }
  const stored = newestAs(run, input.store) ?? input.stored
  if (stored !== undefined) return { status: storedOf(before, stored), asks: false }
  return unheardOf(input, before)
}

/**
 * Whether the store is to be asked for the run. The store is seen by its newest backup alone, and another one may be
 * newer.
 */
export function isUnspoken({ object, instances, store, silentMs }: CourseInput): boolean {
  const run = runOf(object) ?? ''
  const isTold = speakerOf(run, instances) !== undefined || newestAs(run, store) !== undefined
  return !isTold && silentMs >= longestSilenceMs
}

function newestAs(run: string, store: BackupsSeen | undefined): StoredRun | undefined {
  return store?.answers === true && store.newest?.name === run ? store.newest : undefined
}

/**
 * The instance whose agent speaks of a run. A view keeps the last word of an agent that is silent. Of a run under way
 * that word says nothing: the instance may be gone for good.
 */
export function speakerOf<Row extends CourseInput['instances'][number]>(
  run: string,
  instances: readonly Row[],
): Row | undefined {
  const isEnd = ({ stage }: BackupSeen): boolean => stage === 'done' || stage === 'failed'
  return instances.find(({ backup, reachable }) => backup?.name === run && (reachable || isEnd(backup)))
}

function unheardOf(input: CourseInput, before: MySQLBackupStatus): Course {
  const { instances, object, silentMs } = input
  if (silentMs >= givenUpMs) return { status: givenUp(input, before), asks: false }
  const asked = instances.find(({ name }) => name === before.instance)
  // An agent that has begun another run since does not know any more what became of this run.
  const asks = object.spec.backup === undefined && asked?.reachable === true && asked.backup === undefined
  return { status: silentMs < longestSilenceMs ? { ...before, phase: 'Running' } : lost(before), asks }
}

function lost(before: MySQLBackupStatus): MySQLBackupStatus {
  const { instance = 'the instance', backup } = before
  const message = `nobody speaks of this run any more: the agent of ${instance} was perhaps started again; "regent backup list" shows whether backup ${backup} is whole`
  return { ...before, phase: 'Unknown', message }
}

/** When the newest backup of the store was verified, where the object tells of that backup. */
export function verifiedBy({ status }: MySQLBackup, store: BackupsSeen | undefined): MySQLBackupStatus['verified'] {
  const verified = store?.verified
  if (verified === undefined || verified === null || verified.name !== status?.backup) return status?.verified
  const { verifiedAtMs, restoreMs, tables, rows, compared, replica, notCompared } = verified
  // Older agents tell fewer numbers.
  const told = Object.entries({ tables, rows, compared, replica, notCompared }).filter(([, is]) => is !== undefined)
  return { at: timeOf(verifiedAtMs), restoreSeconds: secondsOf(restoreMs), ...Object.fromEntries(told) }
}

function heardOf(
  { wallMs }: CourseInput,
  before: MySQLBackupStatus,
  instance: string,
  seen: BackupSeen,
): MySQLBackupStatus {
  const phase = ({ copies: 'Running', sends: 'Running', done: 'Succeeded', failed: 'Failed' } as const)[seen.stage]
  return {
    ...before,
    phase,
    instance,
    ...amountsOf(seen),
    message: phase === 'Failed' ? seen.sentence : String(describeBackup(seen)),
    ...timesOf(seen),
    ...(phase !== 'Running' && { completedAt: timeOf(endOf(seen) ?? wallMs) }),
  }
}

/** Older agents tell neither start nor duration. */
function timesOf({ startedAtMs, tookMs }: Pick<BackupSeen, 'startedAtMs' | 'tookMs'>) {
  return {
    ...(startedAtMs !== undefined && { startedAt: timeOf(startedAtMs) }),
    ...(tookMs !== undefined && { seconds: secondsOf(tookMs), took: duration(tookMs) }),
  }
}

function endOf({ startedAtMs, tookMs }: Pick<BackupSeen, 'startedAtMs' | 'tookMs'>): number | undefined {
  return startedAtMs === undefined || tookMs === undefined ? undefined : startedAtMs + tookMs
}

function secondsOf(ms: number): number {
  return Math.round(ms / 100) / 10
}

function givenUp({ wallMs }: CourseInput, before: MySQLBackupStatus): MySQLBackupStatus {
  const message = 'nobody has spoken of this run for an hour, and it was not found in the store'
  return { ...before, phase: 'Failed', message, completedAt: timeOf(wallMs) }
}

/** The backup is whole in the store, whoever saw how the run ended. */
function storedOf(before: MySQLBackupStatus, stored: StoredRun): MySQLBackupStatus {
  const { rawBytes, storedBytes, endedAtMs, gtids } = stored
  return {
    ...before,
    phase: 'Succeeded',
    ...amountsOf({ rawBytes, storedBytes, ...(gtids !== undefined && { gtids }) }),
    message: `it is whole in the store: ${mebibytes(rawBytes)} of data`,
    ...timesOf(stored),
    completedAt: timeOf(endOf(stored) ?? endedAtMs),
  }
}

function amountsOf({ rawBytes, storedBytes, gtids }: Pick<BackupSeen, 'rawBytes' | 'storedBytes' | 'gtids'>) {
  return {
    ...{ bytes: rawBytes, storedBytes, size: mebibytes(rawBytes), stored: mebibytes(storedBytes) },
    ...(gtids !== undefined && { gtids }),
  }
}
