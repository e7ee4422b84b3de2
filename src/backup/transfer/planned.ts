import { signedText, type Manifest } from '../manifest.ts'
import { planRestore, type Plan } from '../restore-plan.ts'
import { targetOf, type WantedState } from '../restore-target.ts'
import { dataKeys, isSignedBy, keyIdOf } from '../stream/data-key.ts'
import { readArchive } from './stored-archive.ts'
import { RegentError } from '#common/errors/errors.ts'
import type { ObjectStore } from '#object-store/object-store.ts'

/**
 * What is to be restored of a cluster, decided before anything is downloaded. Throws `REGENT_REFUSED` with what would
 * be possible.
 *
 * @param serverVersion of the server that will open the data
 */
export async function planOf(
  { of, ...wanted }: WantedState & { readonly of: string },
  { store, key }: { readonly store: Pick<ObjectStore, 'get' | 'list'>; readonly key: Buffer | null },
  serverVersion: string,
): Promise<Plan> {
  const asked = targetOf(wanted)
  const archive = await readArchive(store, of)
  const plan = planRestore(archive, { ...asked, serverVersion, keyIds: key === null ? [] : [keyIdOf(key)] })
  if (plan.kind === 'refused') throw new RegentError('REGENT_REFUSED', plan.why, { remedy: '' })
  requireSigned(plan.backup, key)
  return plan
}

function requireSigned(manifest: Manifest, key: Buffer | null): void {
  const { name, encryption } = manifest
  if (encryption === null) return
  const keys = key && dataKeys(key, Buffer.from(encryption.salt, 'hex'))
  if (keys === null || !isSignedBy(encryption.signature, signedText(manifest), keys))
    throw new RegentError('REGENT_REFUSED', `the manifest of backup ${name} was changed after that was written`)
}
