import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

/** Bytes of the key that a person keeps, and of each key derived from that key. */
export const keyBytes = 32
/** Bytes drawn anew for each backup, so that no two are encrypted with the same key. */
export const saltBytes = 32

/**
 * The keys of one object, or of one backup. A stranger who changes a byte of the data, or of the signed text, has
 * neither key.
 */
export interface DataKeys {
  readonly encrypts: Buffer
  readonly signs: Buffer
}

/**
 * HKDF-SHA256 (RFC 5869) of a person's key.
 * @param salt drawn for this backup, and kept in its manifest
 * @param of `piece`: for a piece of the archive, with a signed name. Pieces of older Regents have keys as a backup has:
 * so nobody can pass a new piece off as an old one by leaving its signature away
 */
export function dataKeys(key: Buffer, salt: Buffer, of: 'backup' | 'piece' = 'backup'): DataKeys {
  const derived = (purpose: string) => Buffer.from(hkdfSync('sha256', key, salt, `regent ${of} ${purpose}`, keyBytes))
  return { encrypts: derived('data'), signs: derived('manifest') }
}

/** The id of a key in a manifest. The id tells two keys apart, and says nothing of them. */
export function keyIdOf(key: Buffer): string {
  return createHash('sha256').update('regent backup key id').update(key).digest('hex').slice(0, 16)
}

export function signatureOf(text: string, { signs }: DataKeys): string {
  return createHmac('sha256', signs).update(text).digest('hex')
}

export function isSignedBy(signature: string, text: string, keys: DataKeys): boolean {
  const [given, expected] = [Buffer.from(signature), Buffer.from(signatureOf(text, keys))]
  return given.length === expected.length && timingSafeEqual(given, expected)
}
