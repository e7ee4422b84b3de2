import { lineageOf } from '#backup/keys/lineage.ts'
import { openBackupStore } from '#backup/transfer/open-backup-store.ts'
import { keyOfStore } from '#backup/transfer/read-key-file.ts'
import type { BackupPort } from '../ports/backup-port.ts'
import type { ThrowAwayPort } from '../ports/throw-away.ts'

/** @param secret the secret that the passwords of the cluster's accounts are derived from */
export function realBackupPort(secret: string, throwAway: ThrowAwayPort): BackupPort {
  return {
    throwAway,
    lineage: lineageOf(secret),
    open: async (where) => ({
      store: await openBackupStore(where),
      key: await keyOfStore(where),
    }),
  }
}
