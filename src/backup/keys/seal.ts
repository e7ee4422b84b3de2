import { randomBytes } from 'node:crypto'
import { matching, objectOf, type Shaped } from '#common/input/shapes.ts'
import { say, type Said, type Sayable } from '#common/sentence/sentence.ts'
import { refusesPlain, whyNotSigned } from './plain.ts'
import { dataKeys, isSignedBy, keyIdOf, saltBytes, signatureOf } from './data-key.ts'
import type { KeyRing } from './key-ring.ts'

const sha256 = matching('^[0-9a-f]{64}$')

/**
 * The signature of a small object that is not encrypted, by a key of the store. A stranger who can write to the store
 * cannot make one.
 */
export const sealShape = objectOf({ keyId: matching('^[A-Za-z0-9._-]{1,64}$'), salt: sha256, signature: sha256 })
export type Seal = Shaped<typeof sealShape>

/** @param text all that the object says, and the place where the object lies; begins with the kind of the object */
export function sealOf(text: string, key: KeyRing): Seal {
  const salt = randomBytes(saltBytes)
  const signature = signatureOf(text, dataKeys(key.first, salt))
  return { keyId: keyIdOf(key.first), salt: salt.toString('hex'), signature }
}

/**
 * Why a holder of these keys does not believe an object; '' where the object is believed, or where no key is given.
 * @param seal as read; undefined for none
 * @param what names the object, as the subject of a sentence
 */
export function whyNotSealed(
  seal: Seal | undefined,
  { text, what, key }: { readonly text: string; readonly what: Sayable; readonly key: KeyRing | null },
): Said {
  if (key === null) return ''
  if (seal === undefined) return refusesPlain(key) ? whyNotSigned(what) : ''
  const { keyId, salt, signature } = seal
  const opens = key.withId(keyId)
  if (opens === undefined) return say`${what} is signed with key ${keyId}: give the file of that key`
  const isWhole = isSignedBy(signature, text, dataKeys(opens, Buffer.from(salt, 'hex')))
  return isWhole ? '' : say`${what} was changed after that was written`
}
