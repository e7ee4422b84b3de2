import { deleteObject } from '#controller-runtime/changes/delete-object.ts'
import { isAlreadyExists } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import type { InformerPort } from '#controller-runtime/informers/informer-port.ts'
import { keyOf } from '#controller-runtime/objects/objects.ts'
import { isOver } from '#kube/backup/backup-course.ts'
import { mysqlBackups, type MySQLBackup } from '#kube/backup/mysql-backup.ts'
import { fieldManager, group, version } from '#kube/names/names.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { ownedBy } from '#kube/spec/owned.ts'
import type { BackupSeen } from '#topology/snapshot/copies.ts'
import type { RunBook } from './run-book.ts'

export interface TellOfRunsParts {
  readonly client: Pick<KubeClient, 'create' | 'delete'>
  readonly backups: InformerPort<MySQLBackup>
  readonly book: RunBook
}

/** So many objects of a cluster that Regent made stay; those of people stay until they delete them. */
const mostObjects = 30

interface Row {
  readonly name: string
  readonly backup?: BackupSeen
}

/**
 * Makes an object for each run that is under way and has none: that of the schedule, or of "regent backup now". The
 * object says in its spec which run that is, so nothing is begun by it.
 */
export async function tellOfRuns(
  { client, backups, book }: TellOfRunsParts,
  cluster: MySQLCluster,
  instances: readonly Row[],
  signal: AbortSignal,
): Promise<void> {
  for (const { name: instance, backup } of instances) {
    if (backup?.stage !== 'copies' && backup?.stage !== 'sends') continue
    if (book.isKnown(keyOf(cluster), backup.name, backups.list())) continue
    await makeObject(client, cluster, { instance, backup: backup.name }, signal)
    book.note(keyOf(cluster), backup.name)
    await removeOldest({ client, backups }, cluster, signal)
  }
}

async function makeObject(
  client: TellOfRunsParts['client'],
  cluster: MySQLCluster,
  run: { readonly instance: string; readonly backup: string },
  signal: AbortSignal,
): Promise<void> {
  const { name } = cluster.metadata
  const object = ownedBy<MySQLBackup>(cluster, {
    apiVersion: `${group}/${version}`,
    kind: 'MySQLBackup',
    metadata: { name: `${name}-${run.backup.toLowerCase()}` },
    spec: { cluster: name, ...run },
  })
  try {
    await client.create(mysqlBackups, object, { fieldManager, signal })
  } catch (error) {
    // Another manager, or a person, who may name objects as they like.
    if (!isAlreadyExists(error)) throw error
  }
}

async function removeOldest(
  { client, backups }: Pick<TellOfRunsParts, 'client' | 'backups'>,
  { metadata }: MySQLCluster,
  signal: AbortSignal,
): Promise<void> {
  const made = backups
    .list()
    .filter((one) => one.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) && isOver(one))
    .toSorted((one, other) => ((one.spec.backup ?? '') < (other.spec.backup ?? '') ? 1 : -1))
  for (const old of made.slice(mostObjects)) await deleteObject(client, mysqlBackups, old, { signal })
}
