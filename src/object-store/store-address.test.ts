import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { parseStoreAddress } from './store-address.ts'

describe('The address of a store of backups', () => {
  it.each([
    ['/srv/backups', '/srv/backups'],
    ['/srv//backups/', '/srv/backups'],
    ['file:///srv/backups', '/srv/backups'],
    ['file:/srv/backups/', '/srv/backups'],
    ['FILE:///srv/my%20backups%3F', '/srv/my backups?'],
    ['/srv/my backups', '/srv/my backups'],
    ['/s3:/x', '/s3:/x'],
  ])('%s is a folder', (text, folder) => {
    expect(parseStoreAddress(text)).toEqual({ kind: 'folder', shown: folder, folder })
  })

  it.each([
    ['s3://backups', 'backups', '', 's3://backups'],
    ['s3://backups/', 'backups', '', 's3://backups'],
    ['S3://my-backups.2026/prod/shop/', 'my-backups.2026', 'prod/shop', 's3://my-backups.2026/prod/shop'],
  ])('%s is a bucket', (text, bucket, prefix, shown) => {
    expect(parseStoreAddress(text)).toEqual({ kind: 's3', shown, bucket, prefix })
  })

  it.each([
    ['', /a relative folder has another meaning for each process: write the folder from \/ on/],
    ['backups', /a relative folder/],
    ['./backups', /a relative folder/],
    ['/', /it names no folder below \//],
    ['file:///', /it names no folder below \//],
    ['/srv/../etc', /a part of the folder is \. or \.\./],
    ['file:///srv/%2e%2E/etc', /a part of the folder is \. or \.\./],
    ['file:///srv/./x', /a part of the folder is \. or \.\./],
    ['/srv/\0x', /zero byte/],
    ['file:///srv/a%2Fb', /a % in it is no percent-encoding/],
    ['file:///srv/%zz', /a % in it is no percent-encoding/],
    ['file://host/srv', /names no host/],
    ['file:srv', /names no host, and its folder begins with \//],
    ['file:///srv?x=1', /written as %3F or %23/],
    ['http://minio/backups', /it begins in another way/],
    ['gs://bucket', /it begins in another way/],
    ['s3:backups', /after s3: come \/\/ and the name of the bucket/],
    ['s3://', /the bucket's name has 0 characters, and 3 to 63 are possible/],
    ['s3:///prefix', /the bucket's name has 0 characters/],
    ['s3://ab', /the bucket's name has 2 characters/],
    [`s3://${'a'.repeat(64)}`, /the bucket's name has 64 characters/],
    ['s3://Backups', /other characters than a–z, 0–9, dots and dashes/],
    ['s3://my_backups', /other characters/],
    ['s3://backups:9000/x', /other characters/],
    ['s3://-backups', /begins or ends with a dot or a dash/],
    ['s3://backups.', /begins or ends with a dot or a dash/],
    ['s3://back..ups', /a dot beside another dot or a dash/],
    ['s3://back-.ups', /a dot beside another dot or a dash/],
    ['s3://192.168.5.4', /is an IP address/],
    ['s3://xn--backups', /what S3 keeps for itself/],
    ['s3://backups--x-s3', /what S3 keeps for itself/],
    ['s3://backups/a//b', /the prefix after the bucket cannot be: a part between two \/ is empty/],
    ['s3://backups//', /the prefix after the bucket cannot be/],
    ['s3://backups/a/../b', /a part of it is \.\./],
    ['s3://backups/a b', /dot, dash and underscore/],
    [`s3://backups/${'abcdefghi/'.repeat(40)}x`, /the prefix after the bucket cannot be: it has 401 characters/],
    ['s3://backups/x?region=eu', /it has parameters, and none are known/],
    ['s3://KEY:hunter2@backups/x', /credentials never stand in an address/],
    ['s3://backups/KEY:hunter2@x', /credentials never stand in an address/],
  ])('%j is refused', (text, reason) => {
    const parse = () => parseStoreAddress(text)
    expect(parse).toThrow(RegentError)
    expect(parse).toThrow(
      /^The address of a store of backups must be file:\/\/\/folder .* or s3:\/\/bucket\/prefix; .*\.$/,
    )
    expect(parse).toThrow(reason)
    expect(parse).not.toThrow(/hunter2/)
  })

  test('is read or refused, whatever it is, and says no secret back', () => {
    const scheme = fc.constantFrom('s3://', 's3:', 'file:///', 'file:', '/', '', 'https://')
    fc.assert(
      fc.property(scheme, fc.string(), fc.string(), (before, left, right) => {
        try {
          const address = parseStoreAddress(`${before}${left}hunter2@${right}`)
          expect(address.kind).toBe('folder')
        } catch (error) {
          expect(error).toMatchObject({ code: 'REGENT_BAD_REQUEST' })
          expect(String(error)).not.toContain('hunter2')
        }
      }),
    )
  })
})
