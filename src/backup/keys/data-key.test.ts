import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { dataKeys, isSignedBy, keyIdOf, signatureOf } from './data-key.ts'

const key = createHash('sha256').update('a key').digest()

it('A manifest is signed with a key of its own, which another salt changes', () => {
  const [one, other] = [dataKeys(key, Buffer.alloc(32, 1)), dataKeys(key, Buffer.alloc(32, 2))]
  expect(isSignedBy(signatureOf('a manifest', one), 'a manifest', one)).toBe(true)
  expect(isSignedBy(signatureOf('a manifest', one), 'another manifest', one)).toBe(false)
  expect(isSignedBy(signatureOf('a manifest', other), 'a manifest', one)).toBe(false)
  expect(one.encrypts.equals(one.signs)).toBe(false)
  expect(keyIdOf(key)).toMatch(/^[0-9a-f]{16}$/)
})
