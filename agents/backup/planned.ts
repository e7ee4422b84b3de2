import { signedText, type Manifest } from '#backup/manifest.ts'
import { planRestore, type Plan } from '#backup/restore-plan.ts'
import { targetOf, type WantedState } from '#backup/restore-target.ts'
import { dataKeys, isSignedBy, keyIdOf } from '#backup/stream/data-key.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import { RegentError } from '#common/errors/errors.ts'
import type { OpenedStore } from '../ports/backup-port.ts'

/**
 * What is to be restored of a cluster, decided before anything is downloaded. Throws `REGENT_REFUSED` with what would
 * be possible.
 *
 * @param serverVersion of the server that will open the data
 */
export async function planOf(
  { of, ...wanted }: WantedState & { readonly of: string },
  { store, key }: OpenedStore,
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
