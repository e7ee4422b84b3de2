import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { ObjectStore } from '#object-store/object-store.ts'
import { keyOf } from '../objects/object-key.ts'
import { signedText, type Manifest } from '../objects/manifest.ts'
import { dataKeys, isSignedBy } from '../keys/data-key.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { refusedPlain, refusesPlain } from '../keys/plain.ts'
import { readParts } from './read-parts.ts'

export interface VerifySource {
  readonly store: Pick<ObjectStore, 'get'>
  /** The keys of the store; null where none are named. */
  readonly key: KeyRing | null
  readonly signal: AbortSignal
  /** Bytes of the data that were read so far. */
  readonly progress: (rawBytes: number) => void
}

/**
 * Reads every part to its end: lengths, checksums, decryption, and the signature of the manifest. Rejects as
 * `readParts` does, for a byte that is not as stored. Rejects with `REGENT_REFUSED`, before anything is read, for a key
 * that is missing or wrong. Only a rehearsal proves that the data make a server that runs.
 */
export async function verifyBackup(manifest: Manifest, { store, key, signal, progress }: VerifySource): Promise<void> {
  const { cluster, name } = manifest
  const parts = readParts(manifest, {
    store,
    keyOf: (part) => keyOf({ kind: 'part', cluster, name, part }),
    key: keyFor(manifest, key),
    signal,
  })
  let bytes = 0
  for await (const chunk of parts) progress((bytes += chunk.length))
}

function keyFor(manifest: Manifest, key: KeyRing | null): Buffer | null {
  const { name, encryption } = manifest
  if (encryption === null) {
    if (refusesPlain(key)) throw refusedPlain(say`backup ${name}`)
    return null
  }
  const opens = key?.withId(encryption.keyId)
  if (opens === undefined)
    throw new RegentError(
      'REGENT_REFUSED',
      say`backup ${name} is encrypted with key ${encryption.keyId}: give the file of that key with --key-file`,
      { remedy: '' },
    )
  const keys = dataKeys(opens, Buffer.from(encryption.salt, 'hex'))
  if (!isSignedBy(encryption.signature, signedText(manifest), keys))
    throw new RegentError(
      'REGENT_BACKUP_UNUSABLE',
      say`the manifest of backup ${name} was changed after that was written`,
    )
  return keys.encrypts
}
