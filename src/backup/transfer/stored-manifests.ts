import type { Interruptible, ObjectStore } from '#object-store/object-store.ts'
import type { BackupName } from '../objects/backup-name.ts'
import { keyOf, parseKey, prefixOf } from '../objects/object-key.ts'
import { parseManifest, type Manifest } from '../objects/manifest.ts'
import { parseVerification, type Verification, type VerificationPlace } from '../objects/verification.ts'
import { textOf } from './text-of.ts'

/** Names of the backups of a cluster that are whole, oldest first. */
export async function backupsOf(store: Pick<ObjectStore, 'list'>, cluster: string): Promise<readonly BackupName[]> {
  const names = new Set<BackupName>()
  for await (const { key } of store.list(prefixOf.backups(cluster))) {
    const found = parseKey(key)
    if (found?.kind === 'manifest') names.add(found.name)
  }
  return [...names].toSorted()
}

/** Rejects as the store does, and as `parseManifest`. */
export async function readManifest(
  store: Pick<ObjectStore, 'get'>,
  cluster: string,
  name: BackupName,
  options: Interruptible = {},
): Promise<Manifest> {
  return parseManifest(await textOf(store, keyOf({ kind: 'manifest', cluster, name }), options), { cluster, name })
}

/**
 * The same without the parts: those of a backup with a million parts would be most of what is kept in memory. A caller
 * that looks at all backups, and restores none, asks for outlines.
 */
export async function readOutline(...which: Parameters<typeof readManifest>): Promise<Manifest> {
  return { ...(await readManifest(...which)), parts: [] }
}

/** Rejects as the store does, and as `parseVerification`. */
export async function readVerification(
  store: Pick<ObjectStore, 'get'>,
  place: VerificationPlace,
  options: Interruptible = {},
): Promise<Verification> {
  const { cluster, name } = place
  return parseVerification(await textOf(store, keyOf({ kind: 'verified', cluster, name }), options), place)
}
