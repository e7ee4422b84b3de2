import type { ManagedCluster } from '#manager/clusters/managed-cluster.ts'
import type { BackupsSeen } from '#topology/snapshot/copies.ts'

/** What the primary's agent sees in the store of backups: nobody else looks. Undefined where nobody has. */
export function storeSeenIn({
  loop,
}: {
  readonly loop: Pick<ManagedCluster['loop'], 'input'>
}): BackupsSeen | undefined {
  const { instances } = loop.input().snapshot
  return instances.find(({ observation }) => observation?.backups !== undefined)?.observation?.backups
}
