import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { codeOf } from '#common/errors/errors.ts'
import { checkPart, manifestText, parseManifest, type Manifest } from './manifest.ts'
import { writeStored } from './stored-json.ts'
import { aManifest, sourceA } from './testing.ts'

const whole = aManifest({ gtids: `${sourceA}:1-100` })
const at = { cluster: 'shop', name: whole.name }
const read = (manifest: object) => parseManifest(writeStored(manifest), at)

describe('a manifest', () => {
  it('is read as it was written', () => {
    expect(parseManifest(manifestText(whole), at)).toEqual(whole)
    const encrypted = aManifest({
      encryption: { scheme: 'aes-256-gcm', keyId: 'prod-2026', salt: '4'.repeat(64), signature: '5'.repeat(64) },
    })
    expect(parseManifest(manifestText(encrypted), at)).toEqual(encrypted)
  })

  it('of the same format has fields of a newer Regent, which are left out', () => {
    const parts = whole.parts.map((part) => ({ ...part, etag: 'x' }))
    expect(read({ ...whole, comment: 'from the future', parts })).toEqual(whole)
  })

  it('of a newer format is refused, and says so', () => {
    const newer = () => read({ formatVersion: 3, all: 'is different' })
    expect(newer).toThrow(
      expect.objectContaining({
        code: 'REGENT_NEWER_VERSION',
        message: `manifest of ${whole.name} is of a newer Regent: format version 3, and this Regent reads up to 2`,
      }),
    )
  })

  const gone: unknown = undefined
  it.each<[object, string]>([
    [{ formatVersion: 0 }, 'formatVersion is 0; allowed is 1'],
    [{ formatVersion: '2' }, 'formatVersion is "2"; allowed is 1'],
    [{ sha256: gone }, 'the top level lacks "sha256"'],
    [{ sha256: 'abc' }, 'sha256 is "abc"'],
    [{ rawBytes: -1 }, 'rawBytes is -1'],
    [{ gtidsAtMost: `${sourceA}:1-99` }, 'it holds more than the most it can hold'],
    [{ storedAtMs: whole.endedAtMs - 1 }, 'it was stored before its copy ended'],
    [{ compression: 'gzip' }, 'compression is "gzip"; allowed is "zstd"'],
    [{ encryption: { scheme: 'rot13', keyId: 'k' } }, 'encryption'],
    [{ cluster: 'other' }, `the name in it is ${whole.name} of cluster other`],
    [{ endedAtMs: whole.startedAtMs - 1 }, 'its copy ended before it began'],
    [{ gtids: `${sourceA}:7-5` }, 'GTID set: at "7-5"'],
    [{ parts: whole.parts.toReversed() }, 'part 1 of 2 parts is named part-000002'],
    [{ parts: whole.parts.slice(0, 1) }, 'its parts have 1000000 bytes, and 1500000 were stored'],
  ])('that contradicts itself is refused: %j', (change, why) => {
    const wrong = () => read({ ...whole, ...change })
    expect(wrong).toThrow(`manifest of ${whole.name} cannot be used: `)
    expect(wrong).toThrow(why)
    expect(wrong).toThrow(expect.objectContaining({ code: 'REGENT_BACKUP_UNUSABLE' }))
  })

  it('that was cut, or of which a byte was flipped, is refused, or is the same', () => {
    const stored = manifestText(whole).trimEnd()
    fc.assert(
      fc.property(fc.nat(stored.length - 1), fc.integer({ min: 1, max: 255 }), (index, code) => {
        const cut = tryToRead(stored.slice(0, index))
        const flipped = tryToRead(stored.slice(0, index) + String.fromCharCode(code) + stored.slice(index + 1))
        expect(cut).toBeNull()
        expect(flipped ?? whole).toEqual(whole)
      }),
      { numRuns: 500 },
    )
  })

  it('of any text is refused with a code', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => tryToRead(text) === null))
  })
})

function tryToRead(text: string): Manifest | null {
  try {
    return parseManifest(text, at)
  } catch (error) {
    expect(['REGENT_BACKUP_UNUSABLE', 'REGENT_NEWER_VERSION']).toContain(codeOf(error))
    return null
  }
}

describe('a part', () => {
  const [first] = whole.parts
  it('is as the manifest has it', () => {
    expect(() => checkPart(whole, 1, first ?? { bytes: 0, sha256: '' })).not.toThrow()
  })

  it.each([
    [
      1,
      { bytes: 999_999, sha256: '1'.repeat(64) },
      'part 1 of backup NAME cannot be used: 999999 bytes came, and the manifest has 1000000',
    ],
    [
      1,
      { bytes: 1_000_000, sha256: '4'.repeat(64) },
      'part 1 of backup NAME cannot be used: its checksum is another than in the manifest',
    ],
    [3, { bytes: 1, sha256: '1'.repeat(64) }, 'part 3 of backup NAME cannot be used: the manifest has 2 parts'],
  ])('that is not is named: %#', (part, seen, message) => {
    expect(() => checkPart(whole, part, seen)).toThrow(message.replace('NAME', whole.name))
  })
})
