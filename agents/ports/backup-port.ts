import type { KeyRing } from '#backup/keys/key-ring.ts'
import type { BackupStore } from '#failover/protocol/backup-store.ts'
import type { ObjectStore } from '#object-store/object-store.ts'
import type { ThrowAwayPort } from './throw-away.ts'

/** A store of backups that can be read and written, and the keys that a person keeps for what lies there. */
export interface OpenedStore {
  readonly store: ObjectStore
  /** Null where nothing is encrypted. */
  readonly key: KeyRing | null
}

/** Stores of this cluster. */
export interface StoresPort {
  /** The lineage of this cluster: a cluster with another secret for its accounts is another one, whatever its name. */
  readonly lineage: string
  /**
   * Opens a store: its credentials and its key are read from files now. Rejects with `REGENT_BAD_REQUEST` where the
   * address or a file cannot be right, with `REGENT_BACKUP_STORE` where the store does not answer.
   */
  readonly open: (where: BackupStore) => Promise<OpenedStore>
}

/** What an agent needs for backups. */
export interface BackupPort extends StoresPort {
  readonly throwAway: ThrowAwayPort
}
