import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { keyIdOf } from '../keys/data-key.ts'
import { KeyRing } from '../keys/key-ring.ts'
import { aManifest, sourceA } from './testing.ts'
import { parseVerification, verificationText, type Verification } from './verification.ts'

const { cluster, lineage, name } = aManifest()
const verification: Verification = {
  formatVersion: 1,
  verifiedAtMs: 2,
  restoreMs: 1_000,
  gtids: `${sourceA}:1-9`,
  reachedMs: 1,
  tables: 12,
  rows: 100,
}
const [one, other] = [randomBytes(32), randomBytes(32)]
const plain = { cluster, lineage, name, key: null }
const place = { ...plain, key: new KeyRing([one]) }

it('A verification is read as it was written', () => {
  expect(parseVerification(verificationText(verification, plain), plain)).toEqual(verification)
  expect(() => parseVerification('{"formatVersion":1}', plain)).toThrow(`verification of ${name} cannot be used`)
  for (const more of [
    { compared: 7 },
    { compared: 7, replica: 'shop-1' },
    { compared: 0, notCompared: 'it is alone' },
  ]) {
    const signed = verificationText({ ...verification, ...more }, place)
    for (const at of [place, plain, { ...plain, key: new KeyRing([other, one]) }])
      expect(parseVerification(signed, at)).toMatchObject({ ...verification, ...more })
  }
})

it('With a key a verification counts where that key signed it, and for that backup alone', () => {
  const unsigned = verificationText(verification, plain)
  const what = `verification of ${name} cannot be used: the word that backup ${name} was verified`
  expect(() => parseVerification(unsigned, place)).toThrow(`${what} is not signed, and a key is given`)
  const allowed = { ...plain, key: new KeyRing([one], { takesPlain: true }) }
  expect(parseVerification(unsigned, allowed)).toEqual(verification)
  const signed = verificationText(verification, place)
  for (const at of [
    { ...place, name: '20200101T000000Z' },
    { ...place, cluster: 'other' },
    { ...place, lineage: 'ffeeddccbbaa9988' },
    { ...allowed, name: '20200101T000000Z' },
  ])
    expect(() => parseVerification(signed, at)).toThrow('was changed after that was written')
  expect(() => parseVerification(signed, { ...plain, key: new KeyRing([other]) })).toThrow(
    `${what} is signed with key ${keyIdOf(one)}: give the file of that key`,
  )
})

it.each(['verifiedAtMs', 'restoreMs', 'reachedMs', 'tables', 'rows', 'compared'] as const)(
  'A verification says nothing else than was signed: %s',
  (what) => {
    const { seal } = JSON.parse(verificationText(verification, place)) as Verification
    const changed = { ...verification, [what]: 8, seal }
    expect(() => parseVerification(verificationText(changed, plain), place)).toThrow('was changed after')
  },
)

it.each(['replica', 'notCompared'] as const)('A verification names no other replica than was signed: %s', (what) => {
  const said = { ...verification, [what]: 'shop-1' }
  const { seal } = JSON.parse(verificationText(said, place)) as Verification
  for (const changed of [verification, { ...said, [what]: 'shop-2' }, { ...said, replica: '1', notCompared: '2' }])
    expect(() => parseVerification(verificationText({ ...changed, seal } as never, plain), place)).toThrow(
      'was changed after',
    )
})
