import type { V1Volume, V1VolumeMount, V1VolumeProjection } from '@kubernetes/client-node'
import type { KubeBackupStore } from '../spec/backup-schema.ts'
import { storeFiles, storePlaces, type StorePlace } from '../spec/backup-places.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'

/** What the agent’s container and its pod have more where a cluster has backups, or is to begin with one. */
export interface BackupParts {
  readonly volumes: readonly V1Volume[]
  readonly volumeMounts: readonly V1VolumeMount[]
}

/** All of them, for whoever adds volumes to a pod. */
export const backupVolumes: readonly string[] = Object.values(storePlaces).flatMap(({ secrets, claim }) => [
  secrets.volume,
  claim.volume,
])

/**
 * The Secrets themselves are mounted, not copies in a Secret of Regent's, although a cluster that gets its first store
 * is restarted for it, instance by instance: the kubelet brings what is rotated while no manager runs, and no key lies
 * in a second place. They are optional: without one of them a pod that is made again would hang, and an instance that
 * is missing is worse than a backup that fails.
 */
export function backupParts(cluster: MySQLCluster): BackupParts {
  const all = storesOf(cluster).flatMap(([place, store, purpose]) => [...partsOf(place, store, purpose)])
  return { volumes: all.map(({ volume }) => volume), volumeMounts: all.map(({ mount }) => mount) }
}

/** What of `spec.backup` a pod is made of; null where nothing is. */
export function mountedOf({ backup }: MySQLCluster['spec']): object | null {
  if (backup === undefined) return null
  const { claim, credentialsSecret, caSecret, encryption } = backup.store
  const mounted = { claim, credentialsSecret, caSecret, encryption }
  return Object.values(mounted).some((one) => one !== undefined) ? mounted : null
}

type Purpose = 'writes' | 'reads'

interface Mounted {
  readonly volume: V1Volume
  readonly mount: V1VolumeMount
}

/** Once a cluster has had a primary nothing is restored any more, and its later pods need nothing of that store. */
function storesOf({ spec, status }: MySQLCluster): readonly (readonly [StorePlace, KubeBackupStore, Purpose])[] {
  const { backup, bootstrap } = spec
  const isNew = (status?.epoch ?? 0) === 0
  return [
    ...(backup === undefined ? [] : [[storePlaces.backup, backup.store, 'writes'] as const]),
    ...(bootstrap?.restore === undefined || !isNew
      ? []
      : [[storePlaces.restore, bootstrap.restore.store, 'reads'] as const]),
  ]
}

function* partsOf(place: StorePlace, store: KubeBackupStore, purpose: Purpose): Generator<Mounted> {
  const sources = sourcesOf(store)
  if (sources.length > 0) {
    const { volume: name, folder } = place.secrets
    yield {
      volume: { name, projected: { defaultMode: 0o440, sources } },
      mount: { name, mountPath: folder, readOnly: true },
    }
  }
  if (store.claim !== undefined) {
    const { volume: name, folder } = place.claim
    yield {
      volume: { name, persistentVolumeClaim: { claimName: store.claim } },
      mount: { name, mountPath: folder, ...(purpose === 'reads' && { readOnly: true }) },
    }
  }
}

/** In one volume: what belongs together changes together there. */
function sourcesOf({ credentialsSecret, caSecret, encryption }: KubeBackupStore): V1VolumeProjection[] {
  const from = (name: string | undefined, files: Readonly<Record<string, string>>): V1VolumeProjection[] =>
    name === undefined
      ? []
      : [{ secret: { name, optional: true, items: Object.entries(files).map(([key, path]) => ({ key, path })) } }]
  return [
    ...from(credentialsSecret, Object.fromEntries(storeFiles.credentials.map((key) => [key, key]))),
    ...from(caSecret, { 'ca.crt': storeFiles.authority }),
    ...from(encryption?.secret, { [encryption?.key ?? '']: storeFiles.encryption }),
  ]
}
