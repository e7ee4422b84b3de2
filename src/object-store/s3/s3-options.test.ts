import { describe, expect, it } from 'vitest'
import { requireS3Options, type S3Options } from './s3-options.ts'

describe('The options of S3', () => {
  it.each<S3Options>([
    {},
    { endpoint: 'https://s3.example.com', region: 'eu-central-1', pathStyle: true, caFile: '/etc/ca.crt' },
    { endpoint: 'http://127.0.0.1:9000/', region: 'auto', credentials: { kind: 'environment' } },
    { endpoint: 'https://[::1]:9000', credentials: { kind: 'folder', folder: '/run/secrets/s3' } },
  ])('%j can work', (options) => {
    expect(requireS3Options(options)).toEqual(options)
  })

  it.each<readonly [S3Options, RegExp]>([
    [{ endpoint: 'minio:9000' }, /The S3 endpoint must be https:\/\/host\[:port\].*; it is not of that form\./],
    [{ endpoint: 'ftp://minio' }, /it is not of that form/],
    [{ endpoint: 'https:///' }, /it is not of that form/],
    [{ endpoint: '' }, /it is not of that form/],
    [{ endpoint: 'https://minio:99999' }, /it is not of that form/],
    [{ endpoint: 'https://KEY:hunter2@minio' }, /credentials never stand in it/],
    [{ endpoint: 'hunter2@minio' }, /credentials never stand in it/],
    [
      { endpoint: 'https://minio/backups' },
      /it has a path: the bucket and the prefix stand in the address of the store/,
    ],
    [{ endpoint: 'https://minio/?x=1' }, /it has parameters/],
    [{ endpoint: 'https://minio?' }, /it has parameters/],
    [{ endpoint: 'http://minio', caFile: '/ca.crt' }, /A file of authorities is given for an S3 endpoint without TLS/],
    [{ region: 'EU West' }, /The S3 region "EU West" must have/],
    [{ region: '' }, /The S3 region "" must have/],
    [{ caFile: 'ca.crt' }, /The file of authorities of the S3 endpoint is "ca.crt", which is no absolute path/],
    [
      { credentials: { kind: 'folder', folder: 'secrets' } },
      /The folder of the S3 credentials is "secrets", which is no/,
    ],
  ])('%j is refused', (options, reason) => {
    const require = () => requireS3Options(options)
    expect(require).toThrow(reason)
    expect(require).not.toThrow(/hunter2/)
  })
})
