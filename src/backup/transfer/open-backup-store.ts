import type { BackupStore } from '#failover/protocol/backup-store.ts'
import type { ObjectStore } from '#object-store/object-store.ts'

/** Opens the store that a spec or a command names. Rejects as `openStore`. */
export async function openBackupStore(where: BackupStore): Promise<ObjectStore> {
  const { address, credentialsFolder, encryptionKeyFile: _, ...s3 } = where
  // Loaded only now: most processes never open a store, and need not keep its libraries in memory.
  const { openStore } = await import('#object-store/open-store.ts')
  const credentials =
    credentialsFolder === undefined ? undefined : ({ kind: 'folder', folder: credentialsFolder } as const)
  const isBucket = /^s3:/i.test(address) || Object.keys(s3).length > 0 || credentials !== undefined
  return openStore(address, isBucket ? { s3: { ...s3, credentials } } : {})
}
