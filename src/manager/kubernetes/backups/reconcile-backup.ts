import { describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Clock } from '#common/ports/ports.ts'
import { isConflict, isNotFound } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import type { Reconcile, ReconcileResult } from '#controller-runtime/controller/controller.ts'
import type { EventRecorder } from '#controller-runtime/events/event-recorder.ts'
import type { InformerPort } from '#controller-runtime/informers/informer-port.ts'
import { keyOf, type ObjectKey } from '#controller-runtime/objects/objects.ts'
import { timeOf } from '#controller-runtime/objects/conditions.ts'
import {
  courseOf,
  givenUpMs,
  isOver,
  isUnspoken,
  runOf,
  speakerOf,
  verifiedBy,
  type CourseInput,
  type StoredRun,
} from '#kube/backup/backup-course.ts'
import type { MySQLBackupStatus } from '#kube/backup/backup-schema.ts'
import { mysqlBackups, type MySQLBackup } from '#kube/backup/mysql-backup.ts'
import { fieldManager } from '#kube/names/names.ts'
import type { ManagedCluster } from '#manager/clusters/managed-cluster.ts'
import { lookUpRun } from './look-up-run.ts'
import type { RunBook } from './run-book.ts'
import { storeSeenIn } from './store-seen.ts'

export interface ReconcileBackupParts {
  readonly client: Pick<KubeClient, 'get' | 'patch'>
  readonly clock: Clock
  readonly backups: InformerPort<MySQLBackup>
  readonly clusterOf: (key: ObjectKey) => BackedUpCluster | undefined
  readonly leads: () => boolean
  readonly recorder: Pick<EventRecorder, 'record'>
  readonly book: RunBook
}

/** What is asked of a cluster here. */
export type BackedUpCluster = Pick<ManagedCluster, 'operations' | 'view' | 'askAboutStore'> & {
  readonly loop: Pick<ManagedCluster['loop'], 'leads' | 'input'>
}

/** An object that cannot begin for so long is given up: nobody wants the backup of last week's wish. */
const patienceMs = 3_600_000
const waitingMs = 5_000
const watchingMs = 2_000
/** Figures move all the time, and each write is an event for everybody who watches. */
const figuresMs = 10_000
/** So often the store is asked for a run of which nobody speaks. */
const lookedUpMs = 600_000
/** The first backup is verified at once, and others days later. */
const [verifiedMs, firstVerifiedMs] = [300_000, 30_000]

/**
 * Begins the backup that a `MySQLBackup` asks for, and tells how that goes. Its name and its instance are written down
 * before the agent hears of them: a manager that dies between is followed by one that asks the same agent for the same
 * backup, which is begun once however often it is asked for.
 */
export function reconcileBackup(parts: ReconcileBackupParts): Reconcile {
  const { backups, leads, book, clusterOf } = parts
  return async (key, signal) => {
    const object = backups.get(key)
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return book.forget(key)
    if (!leads()) return
    const cluster = clusterOf({ namespace: key.namespace, name: object.spec.cluster })
    if (isOver(object)) return tellVerified(parts, object, cluster, signal)
    const run = runOf(object)
    if (run === undefined) return beginOrWait(parts, object, cluster, signal)
    return follow(parts, object, cluster, signal)
  }
}

async function tellVerified(
  { client, clock }: ReconcileBackupParts,
  object: MySQLBackup,
  cluster: BackedUpCluster | undefined,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  if (object.status?.phase !== 'Succeeded') return {}
  const store = cluster && storeSeenIn(cluster)
  const verified = verifiedBy(object, store)
  if (verified !== undefined && verified.at !== object.status.verified?.at)
    await write(client, object, { verified }, signal)
  return { requeueAfterMs: verified === undefined && isYoung(object, clock.wallMs()) ? firstVerifiedMs : verifiedMs }
}

function isYoung({ status }: MySQLBackup, wallMs: number): boolean {
  return wallMs - Date.parse(status?.completedAt ?? '') < patienceMs
}

async function beginOrWait(
  parts: ReconcileBackupParts,
  object: MySQLBackup,
  cluster: BackedUpCluster | undefined,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { client, clock } = parts
  try {
    await begin(parts, object, cluster, signal)
    return { requeueAfterMs: watchingMs }
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return { requeueAfterMs: waitingMs }
    if (!(error instanceof RegentError) || error.code === 'REGENT_KUBE_UNREACHABLE') throw error
    const message = describeError(error)
    const waitedMs = clock.wallMs() - Date.parse(object.metadata.creationTimestamp ?? timeOf(clock.wallMs()))
    if (waitedMs >= patienceMs) {
      const why = `it could not begin within an hour: ${message}`
      await write(client, object, { phase: 'Failed', message: why, completedAt: timeOf(clock.wallMs()) }, signal)
      tell(parts, object, 'BackupFailed', why)
      return {}
    }
    if (object.status?.message !== message) await write(client, object, { phase: 'Pending', message }, signal)
    return { requeueAfterMs: waitingMs }
  }
}

/** Throws `REGENT_REFUSED` with what stands in the way, and a conflict where another manager has chosen meanwhile. */
async function begin(
  parts: ReconcileBackupParts,
  object: MySQLBackup,
  cluster: BackedUpCluster | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, backups, book } = parts
  const { metadata, spec } = object
  if (cluster === undefined)
    throw new RegentError('REGENT_REFUSED', say`there is no MySQLCluster ${metadata.namespace}/${spec.cluster} yet`)
  if (!cluster.loop.leads)
    throw new RegentError('REGENT_REFUSED', say`the manager is still reading the cluster’s record`)
  const end = book.claim({ namespace: metadata.namespace ?? '', name: spec.cluster }, object, backups.list())
  try {
    const wish = { instance: spec.instance, name: undefined, dryRun: true }
    const { instance = '', backup = '' } = await cluster.operations.perform('backup', wish)
    // Read from etcd: what another manager chose may not be in memory yet.
    const now = await client.get(mysqlBackups, keyOf(object), { signal })
    if (now === undefined || runOf(now) !== undefined || now.metadata.uid !== metadata.uid) return
    const status = {
      phase: 'Running' as const,
      backup,
      instance,
      startedAt: timeOf(clock.wallMs()),
      message: `${instance} is told to make backup ${backup}`,
    }
    await write(client, now, status, { signal, onlyAsRead: true })
    book.note({ namespace: metadata.namespace ?? '', name: spec.cluster }, backup)
    book.heard(keyOf(object), backup, clock.monotonicMs())
    await ask(cluster, { ...now, status })
  } finally {
    end()
  }
}

/**
 * What an agent refuses now is asked for again while somebody may still speak. Whether it is possible is asked first: a
 * dry run tells nobody that something was refused.
 *
 * @returns why it is refused; '' where it is not
 */
async function ask({ operations }: BackedUpCluster, { status }: MySQLBackup): Promise<string> {
  const { backup: name, instance } = status ?? {}
  try {
    for (const dryRun of [true, false]) await operations.perform('backup', { instance, name, dryRun })
    return ''
  } catch (error) {
    return describeError(error)
  }
}

async function follow(
  parts: ReconcileBackupParts,
  object: MySQLBackup,
  cluster: BackedUpCluster | undefined,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { clock, book, client } = parts
  const seen = seenOf(parts, object, cluster)
  const { status, asks } = courseOf({ ...seen, stored: await storedRunOf(parts, seen, cluster) })
  const refused = asks && cluster?.loop.leads === true ? await ask(cluster, object) : ''
  const told = refused === '' ? status : { ...status, message: refused }
  if (book.isWorthWriting(object, told, { nowMs: clock.monotonicMs(), pauseMs: figuresMs })) {
    await write(client, object, told, signal)
    tellEnd(parts, object, told)
  }
  return { requeueAfterMs: watchingMs }
}

/** The last look comes right before a run is given up. */
async function storedRunOf(
  { clock, book }: ReconcileBackupParts,
  seen: CourseInput,
  cluster: BackedUpCluster | undefined,
): Promise<StoredRun | undefined> {
  if (cluster === undefined || !isUnspoken(seen)) return undefined
  const pauseMs = seen.silentMs >= givenUpMs ? 0 : lookedUpMs
  const isDue = book.mayLookUp(keyOf(seen.object), { nowMs: clock.monotonicMs(), pauseMs })
  return isDue ? lookUpRun(cluster, runOf(seen.object) ?? '') : undefined
}

function seenOf(
  { clock, book }: ReconcileBackupParts,
  object: MySQLBackup,
  cluster: BackedUpCluster | undefined,
): CourseInput {
  const [key, run, nowMs] = [keyOf(object), runOf(object) ?? '', clock.monotonicMs()]
  const instances = cluster?.view().instances ?? []
  if (speakerOf(run, instances) !== undefined) book.heard(key, run, nowMs)
  const silentMs = nowMs - book.heardAt(key, run, nowMs)
  return { object, instances, silentMs, wallMs: clock.wallMs(), store: cluster && storeSeenIn(cluster) }
}

function tellEnd(parts: ReconcileBackupParts, object: MySQLBackup, { phase, backup, message = '' }: MySQLBackupStatus) {
  if (phase === 'Succeeded') tell(parts, object, 'BackupMade', `backup ${backup}: ${message}`)
  if (phase === 'Failed') tell(parts, object, 'BackupFailed', `backup ${backup} failed: ${message}`)
}

/**
 * Into that very object: another one of its name has a backup of its own to come. Over nothing that somebody wrote
 * since, where the object is said as it was read.
 */
async function write(
  client: Pick<KubeClient, 'patch'>,
  { metadata }: MySQLBackup,
  status: MySQLBackupStatus,
  how: AbortSignal | { readonly signal: AbortSignal; readonly onlyAsRead: true },
): Promise<void> {
  const { namespace = '', name, uid, resourceVersion } = metadata
  const guard = { metadata: { uid, ...('onlyAsRead' in how && { resourceVersion }) } }
  const signal = 'onlyAsRead' in how ? how.signal : how
  await client.patch(
    mysqlBackups,
    { namespace, name },
    { ...guard, status },
    { subresource: 'status', fieldManager, signal },
  )
}

function tell(
  { recorder }: ReconcileBackupParts,
  regarding: MySQLBackup,
  reason: 'BackupMade' | 'BackupFailed',
  note: string,
): void {
  recorder.record({ regarding, type: reason === 'BackupMade' ? 'Normal' : 'Warning', reason, action: 'BackUp', note })
}
