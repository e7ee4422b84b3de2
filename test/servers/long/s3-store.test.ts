import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  PutObjectLegalHoldCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueAuthority, issueLeaf } from '#certificates/issue.ts'
import { realRandom } from '#common/ports/real-world.ts'
import { contentOf, inChunks, itKeepsTheContract, listed, sumOf } from '#object-store/contract.ts'
import { openStore } from '#object-store/open/open-store.ts'
import { BucketStage } from '../../support/bucket-stage.ts'
import { S3Server, usualLogin } from '../../support/s3-server.ts'
import { findVersitygw } from '../../support/versitygw.ts'

const program = await findVersitygw()

describe.skipIf(program === undefined)('A bucket of S3', () => {
  let server: S3Server
  let stage: BucketStage
  let buckets = 0

  beforeAll(async () => {
    server = await S3Server.start(program ?? '')
    stage = await BucketStage.make()
  })

  afterAll(async () => {
    await stage?.end()
    await server?.end()
  })

  const newBucket = () => server.makeBucket(`backups-${(buckets += 1)}`)

  itKeepsTheContract(
    async () => {
      const bucket = await newBucket()
      const client = new S3Client({
        endpoint: server.endpoint,
        region: 'us-east-1',
        forcePathStyle: true,
        credentials: usualLogin,
      })
      return {
        store: await stage.open(bucket, { endpoint: server.endpoint }),
        beginUpload: async (key) => {
          await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: `p/${key}` }))
        },
        end: () => Promise.resolve(client.destroy()),
      }
    },
    { manyKeys: 1_001 },
  )

  it('deletes what is not locked, and names what is', async () => {
    const client = new S3Client({
      endpoint: server.endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: usualLogin,
    })
    const Bucket = `locked-${(buckets += 1)}`
    await client.send(new CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket: true }))
    const store = await stage.open(Bucket, { endpoint: server.endpoint })
    for (const key of ['free', 'held']) await store.put(key, inChunks(Buffer.from(key)))
    const hold = (Status: 'ON' | 'OFF') =>
      client.send(new PutObjectLegalHoldCommand({ Bucket, Key: 'p/held', LegalHold: { Status } }))
    await hold('ON')
    expect(await store.delete(['free', 'held'])).toEqual(['held'])
    expect((await listed(store, '')).map(({ key }) => key)).toEqual(['held'])
    await hold('OFF')
    expect(await store.delete(['held'])).toEqual([])
    expect(await listed(store, '')).toEqual([])
    client.destroy()
  })

  it('holds content of unknown length in parts, and content of any guess', async () => {
    const store = await stage.open(await newBucket(), { endpoint: server.endpoint })
    const content = randomBytes(20_000_000)
    for (const expectedBytes of [undefined, 1, 20_000_000, 100_000_000]) {
      expect(await store.put('big', inChunks(content, 300_007), { expectedBytes })).toBe(content.length)
      expect(sumOf(await contentOf(store, 'big'))).toBe(sumOf(content))
    }
    expect(sumOf(await contentOf(store, 'big', { from: 8_388_600, to: 16_777_300 }))).toBe(
      sumOf(content.subarray(8_388_600, 16_777_300)),
    )
    // Ends where a part ends.
    const even = randomBytes(16_777_216)
    expect(await store.put('even', inChunks(even))).toBe(even.length)
    expect(sumOf(await contentOf(store, 'even'))).toBe(sumOf(even))
    expect(await store.dropUnfinished('', Date.now() + 86_400_000)).toBe(0)
  })

  it('is seen only below its prefix', async () => {
    const bucket = await newBucket()
    const store = await stage.open(bucket, { endpoint: server.endpoint })
    await store.put('a', inChunks(Buffer.from('x')))
    const address = `s3://${bucket}`
    const credentials = { kind: 'folder', folder: stage.folder } as const
    const above = await openStore(address, { s3: { endpoint: server.endpoint, credentials } })
    try {
      await above.put('px', inChunks(Buffer.from('x')))
      expect((await listed(above, '')).map(({ key }) => key)).toEqual(['p/a', 'px'])
      expect((await listed(store, '')).map(({ key }) => key)).toEqual(['a'])
    } finally {
      above.close()
    }
  })

  it('says what is wrong with bucket, key, secret and files of them, and no secret', async () => {
    const bucket = await newBucket()
    const put = async (address: string) => {
      const store = await stage.open(address, { endpoint: server.endpoint })
      await store.put('a', inChunks(Buffer.from('x')))
    }
    await expect(put('no-such-bucket')).rejects.toMatchObject({
      code: 'REGENT_BACKUP_STORE',
      message:
        'Store of backups s3://no-such-bucket/p: object a was not stored: there is no bucket of that name: make the bucket, or correct the address of the store (NoSuchBucket, HTTP 404).',
    })
    await stage.logIn({ ...usualLogin, secretAccessKey: 'hunter2hunter2' })
    await expect(put(bucket)).rejects.toThrow(
      `Store of backups s3://${bucket}/p: object a was not stored: the secret does not belong to the access key: give both anew (SignatureDoesNotMatch, HTTP 403).`,
    )
    await stage.logIn({ ...usualLogin, accessKeyId: 'somebody' })
    await expect(put(bucket)).rejects.toThrow(
      /the store does not know the access key: .* \(XAdminUserNotFound, HTTP 404\)/,
    )
    await stage.logIn({ accessKeyId: 'two\nlines', secretAccessKey: 'hunter2' })
    await expect(put(bucket)).rejects.toThrow(/accessKeyId has spaces or other characters that no credential has/)
    await stage.logIn({ accessKeyId: '', secretAccessKey: 'hunter2' })
    await expect(put(bucket)).rejects.toThrow(/accessKeyId is empty: put the credentials of the store into that file/)
    await stage.logIn(usualLogin)
    await put(bucket)
  })

  it('is reached over TLS, with an authority from a file, and says where that is not trusted', async () => {
    const day = 86_400_000
    const moment = { wallMs: Date.now(), random: realRandom }
    const authority = await issueAuthority(day, moment)
    const leaf = await issueLeaf(authority, { dns: [], ips: ['127.0.0.1'], purposes: ['server'], validMs: day }, moment)
    const [certFile, keyFile, caFile] = ['cert', 'key', 'ca'].map((name) => join(stage.folder, name)) as [
      string,
      string,
      string,
    ]
    await writeFile(certFile, leaf.cert)
    await writeFile(keyFile, leaf.key)
    await writeFile(caFile, authority.cert)
    const secure = await S3Server.start(program ?? '', { folder: server.folder, tls: { certFile, keyFile } })
    try {
      const endpoint = `https://127.0.0.1:${secure.port}`
      const bucket = await newBucket()
      const store = await stage.open(bucket, { endpoint, caFile })
      const content = randomBytes(9_000_000)
      await store.put('a', inChunks(content))
      expect(sumOf(await contentOf(store, 'a'))).toBe(sumOf(content))
      for (const [options, said] of [
        [
          { endpoint },
          /the certificate of the endpoint is not trusted: it is of an authority that is not trusted here/,
        ],
        [
          { endpoint: endpoint.replace('127.0.0.1', 'localhost'), caFile },
          /the certificate of the endpoint is for another name/,
        ],
        [{ endpoint: server.endpoint.replace('http', 'https'), caFile }, /the endpoint does not speak TLS/],
        [{ endpoint: endpoint.replace('https', 'http') }, /the connection to the endpoint broke|HTTPS/],
      ] as const) {
        const stranger = await stage.open(bucket, options, { budgetMs: 500 })
        await expect(stranger.putIfAbsent('b', Buffer.from('x'))).rejects.toThrow(said)
      }
      await expect(stage.open(bucket, { endpoint, caFile: keyFile })).rejects.toThrow('has no certificate in PEM')
    } finally {
      await secure.end()
    }
  })
})
