import { isDeepStrictEqual } from 'node:util'
import { whyBadTarget } from '#backup/restore/restore-target.ts'
import { complaintAboutBackup, complaintAboutStore } from '#backup/transfer/open-backup-store.ts'
import type { BackupToRestore } from '#failover/protocol/backup-store.ts'
import { keyOf } from '#controller-runtime/objects/objects.ts'
import { namesOf } from '../names/names.ts'
import { backupVolumes } from '../pods/backup-volumes.ts'
import type { KubeBackupStore } from '../spec/backup-schema.ts'
import { coreBackupOf, coreRestoreOf } from '../spec/backup-places.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import { type Said, say, type Sentence } from '#common/sentence/sentence.ts'

/** A store that the resource names. */
interface Named {
  readonly field: string
  readonly store: KubeBackupStore
  /** Why the agents could not use what they are told; undefined where they perhaps can. */
  readonly whyUnusable: Sentence | undefined
}

/** Why no backup could be made, or restored, as the resource says: each with field, value and what is allowed. */
export function* complaintsAboutBackups(cluster: MySQLCluster): Generator<Sentence> {
  const stores = storesIn(cluster)
  for (const named of stores) {
    yield* aboutStore(named)
    yield* aboutSecrets(named, cluster.metadata.name)
  }
  if (stores.length > 0) yield* aboutVolumes(cluster)
  yield* aboutOneFolder(cluster)
}

/** The archive of the old cluster would go on with what another one did: no restore could tell the two apart. */
function* aboutOneFolder({ spec, ...cluster }: MySQLCluster): Generator<Sentence> {
  const key = keyOf(cluster)
  const { backup } = coreBackupOf(key, spec)
  const { restore } = coreRestoreOf(key, spec)
  if (backup === undefined || restore === undefined) return
  const { folder } = backup.store
  if (folder === restore.of && isDeepStrictEqual(placeOf(spec.backup?.store), placeOf(spec.bootstrap?.restore?.store)))
    yield say`spec.backup.store.folder is "${folder}", where the backups of spec.bootstrap.restore lie; allowed is another folder, such as "${folder}-2": this one is new`
}

function placeOf(store: KubeBackupStore | undefined): object {
  return [store?.address, store?.claim, store?.endpoint]
}

/** What may be, and is not what most people want. */
export function backupWarnings({ spec: { backup } }: MySQLCluster): readonly string[] {
  return backup === undefined || backup.store.encryption !== undefined
    ? []
    : [
        'spec.backup.store.encryption is not given: backups hold all data and all accounts, readable for whoever reads the store',
      ]
}

/** Why what a cluster begins with may not become this; '' where it may, as before the first primary. */
export function whyLateBootstrap(next: MySQLCluster, before: MySQLCluster): Said {
  const { bootstrap } = next.spec
  const hasBegun = (before.status?.epoch ?? 0) > 0
  return hasBegun && bootstrap !== undefined && !isDeepStrictEqual(bootstrap, before.spec.bootstrap)
    ? say`spec.bootstrap is for a new cluster, and this one had a primary; allowed is to leave spec.bootstrap as it is, or to drop it: nothing is restored over data`
    : ''
}

function storesIn(cluster: MySQLCluster): readonly Named[] {
  const { backup, bootstrap } = cluster.spec
  const key = keyOf(cluster)
  const [writes, reads] = [coreBackupOf(key, cluster.spec).backup, coreRestoreOf(key, cluster.spec).restore]
  const restore = bootstrap?.restore
  const whyNoSource = reads && whyNotRestored(reads)
  return [
    ...(backup && writes
      ? [{ field: 'spec.backup', store: backup.store, whyUnusable: complaintAboutBackup(writes) }]
      : []),
    ...(restore
      ? [
          {
            field: 'spec.bootstrap.restore',
            store: restore.store,
            whyUnusable: whyNoSource,
          },
        ]
      : []),
  ]
}

function whyNotRestored(restore: BackupToRestore): Sentence | undefined {
  const aboutStore = complaintAboutStore(restore.store)
  if (aboutStore !== undefined) return say`the store of backups cannot be opened: ${aboutStore}`
  const aboutTarget = whyBadTarget(restore)
  return aboutTarget === '' ? undefined : say`it cannot be done: ${aboutTarget}`
}

const ofBuckets = ['endpoint', 'region', 'pathStyle', 'credentialsSecret', 'caSecret'] as const

/** As the definition's own rules say, for whoever speaks to the webhook alone; then as the agent itself would. */
function* aboutStore({ field, store, whyUnusable }: Named): Generator<Sentence> {
  const { address, claim } = store
  const beside = ofBuckets.filter((word) => store[word] !== undefined)
  if ((address === undefined) === (claim === undefined))
    yield say`${field}.store does not say where backups lie; give either address, or claim`
  else if (claim !== undefined && beside.length > 0)
    yield say`${field}.store.claim is "${claim}", and ${beside.join(', ')} beside; allowed beside a claim are folder and encryption`
  else if (whyUnusable !== undefined) yield say`${field}: ${whyUnusable}`
}

function* aboutSecrets({ field, store }: Named, cluster: string): Generator<Sentence> {
  const { client, admin, internal, certificates, authority } = namesOf(cluster)
  const own: readonly string[] = [client, admin, internal, certificates, authority]
  const { credentialsSecret, caSecret, encryption } = store
  for (const [word, name] of Object.entries({ credentialsSecret, caSecret, 'encryption.secret': encryption?.secret }))
    if (name !== undefined && own.includes(name))
      yield say`${field}.store.${word} is "${name}"; allowed is a Secret that is not Regent’s own`
}

function* aboutVolumes({ spec: { pod } }: MySQLCluster): Generator<Sentence> {
  for (const { name } of (pod.volumes ?? []) as readonly { readonly name?: unknown }[])
    if (backupVolumes.includes(String(name)))
      yield say`spec.pod.volumes is "${String(name)}"; allowed with backups are names other than ${backupVolumes.join(', ')}`
}
