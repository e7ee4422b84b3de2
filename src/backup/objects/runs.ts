import type { StoredObject } from '#object-store/object-store.ts'
import type { BackupName } from './backup-name.ts'
import { parseKey } from './object-key.ts'

/** A run of a base backup, as its objects in the store tell without being read. */
export interface Run {
  readonly name: BackupName
  /** Whether the run has a manifest: such a run came to its end. */
  readonly isWhole: boolean
  readonly isVerified: boolean
}

/** The runs of a cluster's folder, the oldest first. @param objects the list below `prefixOf.backups` */
export function runsIn(objects: readonly Pick<StoredObject, 'key'>[]): readonly Run[] {
  const runs = new Map<BackupName, Run>()
  for (const { key } of objects) {
    const found = parseKey(key)
    if (found === null || !('name' in found)) continue
    const { name, kind } = found
    const before = runs.get(name) ?? { name, isWhole: false, isVerified: false }
    runs.set(name, {
      name,
      isWhole: before.isWhole || kind === 'manifest',
      isVerified: before.isVerified || kind === 'verified',
    })
  }
  return [...runs.values()].sort((one, other) => (one.name < other.name ? -1 : 1))
}
