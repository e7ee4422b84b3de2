import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable, type Sentence } from '#common/sentence/sentence.ts'
import type { KeyRing } from './key-ring.ts'

/**
 * A stranger who can write to a store can put something plain in the place of an encrypted object. So nothing plain is
 * taken where a person gives a key, unless that is allowed.
 */
export function refusesPlain(key: KeyRing | null): boolean {
  return key !== null && !key.takesPlain
}

/** @param what names the object, as the subject of a sentence */
export function whyNotPlain(what: Sayable): Sentence {
  return say`${what} is not encrypted, and a key is given: anybody who writes to the store may have put that there; older objects need --allow-plain (allowPlain)`
}

/** The same about an object that is to be signed, and is not. */
export function whyNotSigned(what: Sayable): Sentence {
  return say`${what} is not signed, and a key is given: anybody may have put that there; older objects, or those of an older Regent, need --allow-plain (allowPlain)`
}

export function refusedPlain(what: Sayable): RegentError {
  return new RegentError('REGENT_REFUSED', whyNotPlain(what), { remedy: '' })
}
