import { storeSeen } from '#manager/clusters/store-seen.ts'
import type { ManagedCluster } from '#manager/clusters/managed-cluster.ts'
import type { BackupsSeen } from '#topology/snapshot/copies.ts'

/** What is known of the store of backups. Undefined where nobody has looked. */
export function storeSeenIn({
  loop,
}: {
  readonly loop: Pick<ManagedCluster['loop'], 'input'>
}): BackupsSeen | undefined {
  return storeSeen(loop.input())
}
