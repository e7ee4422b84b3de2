import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeCluster } from '#local/folder/cluster-file.ts'
import { clusterIn, temporaryFolder } from '#local/testing.ts'
import { shop } from '#store/contract.ts'
import { openStore } from '#store/open.ts'
import { runRegent } from '#test/support/cluster.ts'
import { RedisServer } from '#test/support/redis-server.ts'

let redis: RedisServer
beforeAll(async () => {
  redis = await RedisServer.start()
})
afterAll(() => redis.end())

describe('regent local down --purge', () => {
  it.each(['file', 'redis'] as const)(
    'removes a record in %s with its cluster, and not while a manager leads it',
    async (kind) => {
      const home = await temporaryFolder()
      const dir = join(home, 'shop')
      await mkdir(dir)
      const url = kind === 'file' ? 'file' : redis.url
      await writeCluster(dir, clusterIn(dir, { store: url }))
      const purge = () => runRegent(home, ['local', 'down', 'shop', '--purge'], { deadlineMs: 60_000 })
      const store = await openStore(kind === 'file' ? join(dir, 'records') : url, { leadershipScope: 'shop' })
      try {
        await store.compareAndSwap('shop', 0, shop)
        await store.lead('by-hand', 120_000)
        const refused = await purge()
        expect([refused.code, refused.stderr]).toEqual([
          1,
          expect.stringContaining(
            'shop is down, and not removed: a manager that "regent local up" did not start still leads it',
          ) as string,
        ])
        expect(await store.readRecord('shop')).toEqual(shop)
        await store.resign('by-hand')
        expect(await purge()).toMatchObject({ code: 0, stdout: 'shop is down and removed\n', stderr: '' })
        await expect(stat(dir)).rejects.toMatchObject({ code: 'ENOENT' })
        expect(await store.readRecord('shop')).toBeUndefined()
      } finally {
        await store.close()
      }
    },
    120_000,
  )
})
