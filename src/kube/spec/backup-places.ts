import type { ObjectKey } from '#controller-runtime/objects/objects.ts'
import type { BackupStore, BackupToRestore } from '#failover/protocol/backup-store.ts'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import { never, type KubeBackupStore } from './backup-schema.ts'
import type { MySQLClusterSpec } from './spec-schema.ts'

/** Where the agent’s container has what a store of backups needs. */
export interface StorePlace {
  /** Volume and folder with credentials, key and authority. */
  readonly secrets: { readonly volume: string; readonly folder: string }
  /** Volume and folder of a store that is a claim. */
  readonly claim: { readonly volume: string; readonly folder: string }
}

/** Places of two stores: the store that a cluster fills, and the store that a new cluster comes from. */
export const storePlaces = {
  backup: {
    secrets: { volume: 'backup-secrets', folder: '/etc/regent-backup' },
    claim: { volume: 'backup-store', folder: '/var/lib/regent-backup' },
  },
  restore: {
    secrets: { volume: 'restore-secrets', folder: '/etc/regent-restore' },
    claim: { volume: 'restore-store', folder: '/var/lib/regent-restore' },
  },
} as const satisfies Readonly<Record<string, StorePlace>>

/** Files in the folder of Secrets. The files of credentials are what `src/object-store/s3/s3-credentials.ts` reads. */
export const storeFiles = {
  credentials: ['accessKeyId', 'secretAccessKey', 'sessionToken'],
  encryption: 'encryption.key',
  authority: 'ca.crt',
} as const

/** The folder of a cluster's backups in a store: two namespaces may have clusters of one name. */
function folderOf({ namespace, name }: ObjectKey): string {
  return `${namespace}.${name}`
}

/** The backups of a cluster, in the words of its agents. */
export function coreBackupOf(key: ObjectKey, { backup }: MySQLClusterSpec): Pick<ClusterSpec, 'backup'> {
  if (backup === undefined) return {}
  const { store, schedule, rehearsal, ...settings } = backup
  return {
    backup: {
      ...settings,
      store: storeAt(store, storePlaces.backup, folderOf(key)),
      schedule: orNull(schedule),
      rehearsal: { ...rehearsal, schedule: orNull(rehearsal.schedule) },
    },
  }
}

function orNull(schedule: string): string | null {
  return schedule === never ? null : schedule
}

/** What a new cluster begins with, in the words of its agents. */
export function coreRestoreOf(key: ObjectKey, { bootstrap }: MySQLClusterSpec): { readonly restore?: BackupToRestore } {
  const { restore } = bootstrap ?? {}
  if (restore === undefined) return {}
  const { store, of, ...which } = restore
  const folder = store.folder ?? folderOf(clusterNamed(of, key))
  return { restore: { ...which, of: folder, store: storeAt(store, storePlaces.restore, folder) } }
}

function clusterNamed(of: string | undefined, { namespace, name }: ObjectKey): ObjectKey {
  if (of === undefined) return { namespace, name }
  const slash = of.indexOf('/')
  return slash < 0 ? { namespace, name: of } : { namespace: of.slice(0, slash), name: of.slice(slash + 1) }
}

function storeAt(store: KubeBackupStore, { secrets, claim }: StorePlace, folder: string): BackupStore {
  const { address, claim: name, credentialsSecret, caSecret, encryption, ...words } = store
  return {
    folder,
    ...words,
    address: name === undefined ? (address ?? '') : claim.folder,
    ...(credentialsSecret !== undefined && { credentialsFolder: secrets.folder }),
    ...(caSecret !== undefined && { caFile: `${secrets.folder}/${storeFiles.authority}` }),
    ...(encryption !== undefined && { encryptionKeyFile: `${secrets.folder}/${storeFiles.encryption}` }),
  }
}
