import { describeError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { RestoreWindow, StoredBackup, StoredBackups } from '#failover/protocol/stored-backups.ts'
import { isMissing } from '#object-store/missing-object.ts'
import type { ObjectStore, StoredObject } from '#object-store/object-store.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { refusesPlain, whyNotPlain } from '../keys/plain.ts'
import type { Manifest } from '../objects/manifest.ts'
import { prefixOf } from '../objects/object-key.ts'
import { runsIn } from '../objects/runs.ts'
import { isOfContent } from '../objects/stored-json.ts'
import { shownProof, type Verification } from '../objects/verification.ts'
import { windowOf } from '../restore/window.ts'
import { readArchive } from './stored-archive.ts'
import { readManifest, readVerification } from './stored-manifests.ts'

/** The store to look into, and the keys; null for none. */
export interface LookedInto {
  readonly store: Pick<ObjectStore, 'get' | 'list' | 'address'>
  readonly key: KeyRing | null
  /** Folder of the cluster there. */
  readonly cluster: string
}

/** The backups that are whole. A backup that cannot be used is told beside, and hides no other backup. */
export async function storedBackups({ store, key, cluster }: LookedInto): Promise<StoredBackups> {
  const objects: StoredObject[] = []
  for await (const object of store.list(prefixOf.backups(cluster))) objects.push(object)
  const [backups, unusable]: [StoredBackup[], string[]] = [[], []]
  const ifUsable = async <T>(reading: Promise<T>): Promise<T | undefined> => {
    try {
      return await reading
    } catch (error) {
      if (!isOfContent(error)) throw error
      unusable.push(describeError(error))
      return undefined
    }
  }
  for (const { name, isWhole, isVerified } of runsIn(objects)) {
    const manifest = isWhole ? await ifUsable(readManifest(store, cluster, name)) : undefined
    if (manifest === undefined) continue
    const { lineage } = manifest
    const proof = isVerified ? await ifUsable(readVerification(store, { cluster, lineage, name, key })) : undefined
    backups.push(shown(manifest, proof))
  }
  return { cluster, address: store.address, refusesPlain: refusesPlain(key), backups, unusable }
}

/** The backup of a name. Rejects as the store does, and for a manifest that cannot be used. */
export async function storedBackup({ store, key, cluster }: LookedInto, name: string): Promise<StoredBackup> {
  const manifest = await readManifest(store, cluster, name)
  const place = { cluster, lineage: manifest.lineage, name, key }
  const proof = await readVerification(store, place).catch((error: unknown) => {
    if (isOfContent(error) || isMissing(error)) return undefined
    throw error
  })
  return shown(manifest, proof)
}

/** A backup in the shape for scripts: the number of parts is enough, and the format is that of the output. */
function shown(
  { parts, formatVersion: _format, ...manifest }: Manifest,
  proof: Verification | undefined,
): StoredBackup {
  return { ...manifest, parts: parts.length, verified: proof === undefined ? null : shownProof(proof) }
}

/** The times to which the cluster can be restored with these keys, with each hole of the archive. */
export async function restoreWindow({ store, key, cluster }: LookedInto): Promise<RestoreWindow> {
  const { manifests, ...archive } = await readArchive(store, cluster, 'restore', key)
  const taken = manifests.filter(({ encryption }) => encryption !== null || !refusesPlain(key))
  const leftOut = manifests.filter((one) => !taken.includes(one))
  const { spans, alone, holes } = windowOf({ ...archive, manifests: taken })
  return {
    ...{ cluster, spans, alone },
    holes: holes.map(({ why }) => String(why)),
    leftOut: leftOut.map(({ name }) => String(whyNotPlain(say`backup ${name}`))),
  }
}
