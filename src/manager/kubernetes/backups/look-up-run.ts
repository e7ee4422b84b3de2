import type { ManagedCluster } from '#manager/clusters/managed-cluster.ts'
import type { StoredRun } from '#kube/backup/backup-course.ts'
import { shownGtids } from '#topology/snapshot/copies.ts'

/**
 * A run as the store of backups has it, read anew by an agent. Undefined where the store has no such whole backup, or
 * nobody can look: then it is as before.
 */
export async function lookUpRun(
  cluster: Pick<ManagedCluster, 'askAboutStore'>,
  run: string,
): Promise<StoredRun | undefined> {
  const answer = await cluster.askAboutStore('storedBackups', {}).catch(() => undefined)
  const found = answer?.backups.find(({ name }) => name === run)
  if (found === undefined) return undefined
  const { name, startedAtMs, endedAtMs, storedAtMs, rawBytes, storedBytes, gtids } = found
  const tookMs = Math.max(0, storedAtMs - startedAtMs)
  return { name, startedAtMs, endedAtMs, tookMs, rawBytes, storedBytes, gtids: shownGtids(gtids) }
}
