import { expect, it } from 'vitest'
import { FakeKubernetes } from '../connection/testing.ts'

const backup = {
  ...{ name: '20261126T031209Z', cluster: 'shops.shop', lineage: '0011', instance: 'shop-1', serverUuid: 'u' },
  ...{ mysqlVersion: '9.7.4', epoch: 4, startedAtMs: Date.UTC(2026, 10, 26), endedAtMs: Date.UTC(2026, 10, 26, 1) },
  ...{ storedAtMs: Date.UTC(2026, 10, 26, 1), gtids: '', gtidsAtMost: '', rawBytes: 1_048_576, storedBytes: 5 },
  ...{ parts: 1, compression: 'zstd', sha256: 'ab', encryption: null },
  verified: {
    ...{ verifiedAtMs: Date.UTC(2026, 10, 27), restoreMs: 5_000, tables: 3, rows: 9 },
    ...{ compared: 2, replica: 'shop-1' },
  },
}
const found = (gtid: string) => ({ gtid, committedMs: 0, kind: 'drop', statement: 'DROP TABLE orders' })

/** What a manager answers by the agents of its clusters. */
function answers(path: string, body: unknown): object {
  if (path.endsWith('/backups'))
    return {
      cluster: 'shops.shop',
      address: 's3://backups',
      refusesPlain: true,
      backups: [backup],
      unusable: ['cut off'],
    }
  if (path.endsWith('/window'))
    return {
      cluster: 'shops.shop',
      spans: [{ fromMs: 0, toMs: 5_000 }],
      alone: [],
      holes: ['a hole'],
      leftOut: ['plain'],
    }
  const part = { cluster: 'shops.shop', pieces: 2, passedOver: 1 }
  const { after } = body as { readonly after?: string }
  if (after === undefined) return { ...part, read: 1, found: [found('u:4'), found('u:5')], next: 'piece 1' }
  return { ...part, read: 2, found: [found('u:5'), found('u:6')], next: null }
}

async function aKubernetes(): Promise<FakeKubernetes> {
  const fake = await FakeKubernetes.start()
  await fake.manager('regent-a', ({ path, body }) => ({ status: 200, body: answers(path, body) }))
  return fake
}

it('The backups of a cluster on Kubernetes are listed by its manager', async () => {
  const fake = await aKubernetes()
  const { code, out, err } = await fake.regent('backup list shop -n shops')
  expect([code, err]).toEqual([0, 'cut off'])
  expect(out).toMatch(/20261126T031209Z +2026-11-26 00:00:00 UTC .* no: refused +2026-11-27 00:00:00 UTC, 5 s/)
  const json = JSON.parse((await fake.regent('backup list shops/shop -o json')).out) as object
  expect(json).toEqual({ formatVersion: 1, cluster: 'shops.shop', backups: [backup] })
  expect(new Set(fake.asked.map(({ method, path }) => `${method} ${path}`))).toEqual(
    new Set(['GET /api/v1/clusters/shops.shop/backups']),
  )
})

it('One backup of a cluster on Kubernetes is shown by its manager, with the replica that it was compared with', async () => {
  const fake = await aKubernetes()
  const { code, out } = await fake.regent('backup show 20261126T031209Z --cluster shops/shop')
  expect(code).toBe(0)
  expect(out).toMatch(/^lineage +0011$/m)
  expect(out).toMatch(/^verified +2026-11-27 00:00:00 UTC, 5 s$/m)
  expect(out).toMatch(/^compared +2 of 3 tables, with shop-1$/m)
  const json = await fake.regent('backup show 20261126T031209Z --cluster shop -n shops -o json')
  expect(JSON.parse(json.out)).toEqual({ formatVersion: 1, ...backup })
  const other = await fake.regent('backup show 20201126T031209Z --cluster shops/shop')
  expect([other.code === 0, other.err]).toEqual([
    false,
    expect.stringContaining('s3://backups has no backup 20201126T031209Z of shops.shop') as string,
  ])
})

it('From when to when a cluster on Kubernetes can be restored its manager tells', async () => {
  const fake = await aKubernetes()
  expect(await fake.regent('backup window shops/shop')).toEqual({
    code: 0,
    out: 'cluster shops.shop can be restored to: 1970-01-01T00:00:00Z to 1970-01-01T00:00:05Z\na hole',
    err: 'plain',
  })
})

it('What was done to a table of a cluster on Kubernetes its manager finds, in parts, each transaction once', async () => {
  const fake = await aKubernetes()
  const { out, err } = await fake.regent('backup find shops/shop --table app.orders --kind drop')
  expect(out.match(/u:\d/g)).toEqual(['u:4', 'u:5', 'u:6'])
  expect(err).toContain('too long to be looked into, since compressed: 2 transactions')
  expect(err).toContain('spec.bootstrap.restore of a new cluster, with before: TRANSACTION')
  expect(fake.asked.map(({ body }) => body)).toEqual([
    { table: 'app.orders', kind: 'drop' },
    { table: 'app.orders', kind: 'drop', after: 'piece 1' },
  ])
})

it('A store that is named is read here, whatever the name of the cluster', async () => {
  const fake = await aKubernetes()
  const { code, err } = await fake.regent('backup list shops.shop --from /nowhere/at/all', { REGENT_API: 'http://x' })
  expect([code, err.includes('there is no such folder')]).toEqual([1, true])
  expect(fake.asked).toEqual([])
})
