import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Interruptible, ObjectStore } from '#object-store/object-store.ts'
import { keyOf, prefixOf } from '../objects/object-key.ts'
import type { Manifest } from '../objects/manifest.ts'

/**
 * Throws `REGENT_BACKUP_UNUSABLE` where the store does not hold each part of a backup. A backup asks before its
 * manifest is written: a person may have deleted the run meanwhile, or a retention whose clock had jumped. A restore
 * asks before its download, which would find a missing part in its middle, and again each time.
 */
export async function requireParts(
  { cluster, name, parts }: Pick<Manifest, 'cluster' | 'name' | 'parts'>,
  store: Pick<ObjectStore, 'list'>,
  { signal }: Interruptible = {},
): Promise<void> {
  const there = new Map<string, number>()
  for await (const { key, bytes } of store.list(prefixOf.backup(cluster, name), { signal })) there.set(key, bytes)
  const lost = parts.findIndex(
    ({ bytes }, at) => there.get(keyOf({ kind: 'part', cluster, name, part: at + 1 })) !== bytes,
  )
  if (lost !== -1)
    throw new RegentError(
      'REGENT_BACKUP_UNUSABLE',
      say`part ${lost + 1} of backup ${name} is not in the store any more as it was written: somebody deleted or changed that`,
    )
}
