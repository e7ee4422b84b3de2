import type { Archive } from '../archive/history.ts'
import { signedText, type Manifest } from '../objects/manifest.ts'
import { planRestore, type Asked, type Plan } from '../restore/restore-plan.ts'
import { targetOf, type WantedState } from '../restore/restore-target.ts'
import { dataKeys, isSignedBy } from '../keys/data-key.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { refusesPlain } from '../keys/plain.ts'
import { readArchive, readBinlogArchive } from './stored-archive.ts'
import { backupsOf, readManifest } from './stored-manifests.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { ObjectStore } from '#object-store/object-store.ts'

/** The store to read, and the keys; null for none. */
interface ReadStore {
  readonly store: Pick<ObjectStore, 'get' | 'list'>
  readonly key: KeyRing | null
}

/**
 * The part of a cluster's backups and archive to be restored, decided before anything is downloaded. Throws
 * `REGENT_REFUSED`, with what would be possible.
 *
 * @param serverVersion of the server that will open the data
 */
export async function planOf(
  { of, ...wanted }: WantedState & { readonly of: string },
  { store, key }: ReadStore,
  serverVersion: string,
): Promise<Plan> {
  const asked = targetOf(wanted)
  const archive = await archiveFor({ store, key }, of, asked)
  const known = { keyIds: key?.ids ?? [], refusesPlain: refusesPlain(key) }
  const plan = planRestore(archive, { ...asked, ...known, serverVersion })
  if (plan.kind === 'refused') throw new RegentError('REGENT_REFUSED', plan.why, { remedy: '' })
  requireSigned(plan.backup, key)
  return plan
}

/** Only the named backup must be readable where one is named. The archive must be readable where it is replayed. */
async function archiveFor(
  { store, key }: ReadStore,
  cluster: string,
  { target, from }: Pick<Asked, 'target' | 'from'>,
): Promise<Archive> {
  const named = target.kind === 'backup' ? target.name : from
  if (named === undefined || !(await backupsOf(store, cluster)).includes(named))
    return readArchive(store, cluster, 'restore', key)
  const manifests = [await readManifest(store, cluster, named)]
  if (target.kind === 'backup') return { manifests, openings: [], pieces: [] }
  return { manifests, ...(await readBinlogArchive(store, cluster, key)) }
}

function requireSigned(manifest: Manifest, key: KeyRing | null): void {
  const { name, encryption } = manifest
  if (encryption === null) return
  const opens = key?.withId(encryption.keyId)
  const keys = opens && dataKeys(opens, Buffer.from(encryption.salt, 'hex'))
  if (keys === undefined || !isSignedBy(encryption.signature, signedText(manifest), keys))
    throw new RegentError('REGENT_REFUSED', say`the manifest of backup ${name} was changed after that was written`)
}
