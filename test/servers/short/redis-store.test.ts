import { inspect } from 'node:util'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { describeError } from '#common/errors/errors.ts'
import type { CellName } from '#store/cells.ts'
import { after, itKeepsTheContract, itNamesWhatIsDamaged, pause, shop } from '#store/contract.ts'
import { itSettlesWhoLeads } from '#store/leadership-contract.ts'
import { openStore } from '#store/open.ts'
import { redisStore } from '#store/redis.ts'
import type { LeadingStore } from '#store/store.ts'
import { FaultyProxy } from '#test/support/faulty-proxy.ts'
import { RedisServer, safeSettings } from '#test/support/redis-server.ts'
import { patienceMs } from '#test/support/patience.ts'
import { expectBelow } from '#test/support/expect-below.ts'

/** A client of the test's own, to set up and to look from outside. */
async function withClient<Result>(server: RedisServer, work: (client: Redis) => Promise<Result>): Promise<Result> {
  const client = new Redis({ port: server.port, host: '127.0.0.1', retryStrategy: () => null })
  try {
    return await work(client)
  } finally {
    client.disconnect()
  }
}

const opened: LeadingStore[] = []

async function open(...args: Parameters<typeof redisStore>): Promise<LeadingStore> {
  const store = await redisStore(...args)
  opened.push(store)
  return store
}

let redis: RedisServer
beforeAll(async () => {
  redis = await RedisServer.start()
})
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
  await redis.kill()
  await redis.begin(safeSettings)
  await withClient(redis, (client) => client.flushall())
})
afterAll(() => redis.end())

describe('The Redis store', () => {
  const two = async () => ({
    first: await redisStore(redis.url),
    second: await openStore(`${redis.url}/0`),
    end: () => Promise.resolve(),
  })
  itKeepsTheContract(two)
  itSettlesWhoLeads(two)
  itNamesWhatIsDamaged(async () => {
    const keyOf = (name: CellName): string => `regent:{${name.split('.')[1] ?? ''}}:${name.split('.')[0] ?? ''}`
    return {
      store: await redisStore(redis.url),
      damage: (name, text) => withClient(redis, async (client) => void (await client.hset(keyOf(name), 'text', text))),
      objectOf: (name) => `the key ${keyOf(name)} of `,
      end: () => withClient(redis, async (client) => void (await client.flushall())),
    }
  })

  it('takes no record for lost of which a part is there', async () => {
    const store = await redisStore(redis.url)
    opened.push(store)
    await store.compareAndSwap('shop', 0, shop)
    await withClient(redis, (client) => client.hdel('regent:{shop}:record', 'text'))
    await expect(store.readRecord('shop')).rejects.toMatchObject({ code: 'REGENT_STORE_DAMAGED' })
  })

  it('has everything it confirmed after Redis was killed and started again, and goes on by itself', async () => {
    const store = await open(redis.url)
    await store.compareAndSwap('shop', 0, shop)
    await store.updateNotes('shop', (notes) => ({ ...notes, instances: 5 }))
    const led = await store.lead('a', 60_000)
    expect(await store.compareAndSwap('shop', 1, after(shop))).toBe(true)
    await redis.kill()
    await expect(store.readRecord('shop')).rejects.toMatchObject({ code: 'REGENT_STORE_UNAVAILABLE' })
    await redis.begin()
    expect(await store.readRecord('shop')).toEqual(after(shop))
    expect((await store.readNotes('shop')).instances).toBe(5)
    expect(await store.lead('a', 60_000)).toEqual(led)
    await store.resign('a')
    expect((await store.lead('b', 60_000))?.fencingToken).toBe((led?.fencingToken ?? 0) + 1)
  })

  it('lets the manager go on leading where a hand deleted the token alone', async () => {
    const store = await open(redis.url)
    await store.lead('a', 60_000)
    await withClient(redis, async (client) => client.del(...(await client.keys('*:token'))))
    expect(await store.lead('a', 60_000)).toMatchObject({ manager: 'a' })
  })

  it('that cannot be reached says where it looked', async () => {
    await redis.kill()
    await expect(redisStore(redis.url)).rejects.toThrow(
      `redis://127.0.0.1:${redis.port}/0: opening: connect ECONNREFUSED`,
    )
  })

  it('answers by its deadline when Redis is frozen, and works again when it thaws', async () => {
    await (await open(redis.url)).compareAndSwap('shop', 0, shop)
    const store = await open(redis.url, { deadlineMs: 800 })
    redis.signal('SIGSTOP')
    const started = performance.now()
    await expect(store.readRecord('shop')).rejects.toThrow('no answer within 800 ms')
    await expect(store.compareAndSwap('shop', 1, after(shop))).rejects.toMatchObject({
      code: 'REGENT_STORE_UNAVAILABLE',
    })
    expectBelow(3_000, performance.now() - started)
    redis.signal('SIGCONT')
    await vi.waitFor(async () => expect(await store.readRecord('shop')).toEqual(shop))
  })

  it('never says yes to two of several managers, whoever is slow or gives up', async () => {
    const stores = await Promise.all(['a', 'b', 'c'].map(() => open(redis.url)))
    const holders = new Map<number, string>()
    const managers = stores.map(async (store, number) => {
      const manager = `manager-${number}`
      for (let round = 0; round < 25; round++) {
        const led = await store.lead(manager, 30)
        if (led !== undefined) {
          expect(holders.get(led.fencingToken) ?? manager).toBe(manager)
          holders.set(led.fencingToken, manager)
        }
        if (round % 5 === number) await store.resign(manager)
        await pause(10 * (number + 1))
      }
    })
    await Promise.all(managers)
    expect(new Set(holders.values()).size).toBeGreaterThan(1)
    // An answer to one may be heard before the earlier answer to another: each sees its own tokens grow.
    for (const tokens of Map.groupBy(holders, ([, manager]) => manager).values()) {
      const own = tokens.map(([token]) => token)
      expect(own).toEqual([...own].sort((a, b) => a - b))
    }
  })
})

describe('A connection to Redis that breaks', () => {
  let proxy: FaultyProxy
  beforeEach(async () => {
    proxy = await FaultyProxy.start(redis.port)
  })
  afterEach(() => proxy.end())

  it('in the middle of a write fails the write; the next read tells that it happened', async () => {
    const store = await open(`redis://127.0.0.1:${proxy.port}`)
    await store.compareAndSwap('shop', 0, shop)
    proxy.next({ kind: 'cut', text: 'HSET' })
    await expect(store.compareAndSwap('shop', 1, after(shop))).rejects.toMatchObject({
      code: 'REGENT_STORE_UNAVAILABLE',
    })
    expect(await store.readRecord('shop')).toEqual(after(shop))
    expect(await store.compareAndSwap('shop', 1, after(shop))).toBe(false)
    expect(await store.compareAndSwap('shop', 2, after(after(shop)))).toBe(true)
  })

  it('before a write arrives fails the write, and it cannot arrive after the next read', async () => {
    await (await open(redis.url)).compareAndSwap('shop', 0, shop)
    const store = await open(`redis://127.0.0.1:${proxy.port}`, { deadlineMs: 1_000 })
    proxy.next({ kind: 'delay', text: 'HSET', delayMs: 200 })
    await expect(store.compareAndSwap('shop', 1, after(shop))).rejects.toThrow('no answer within 1000 ms')
    const reads = () => vi.waitFor(async () => expect(await store.readRecord('shop')).toEqual(shop))
    await reads()
    await pause(400)
    await reads()
  })

  it('in the middle of taking leadership leaves the manager able to learn that it leads', async () => {
    const store = await open(`redis://127.0.0.1:${proxy.port}`)
    proxy.next({ kind: 'cut', text: 'INCR' })
    await expect(store.lead('a', 60_000)).rejects.toMatchObject({ code: 'REGENT_STORE_UNAVAILABLE' })
    expect(await store.lead('a', 60_000)).toEqual({ manager: 'a', fencingToken: 1 })
  })
})

describe('A Redis that could lose what it confirmed', () => {
  it.each([
    ['appendonly', 'no', 'CONFIG SET appendonly yes, and "appendonly yes" in redis.conf'],
    ['appendfsync', 'everysec', 'CONFIG SET appendfsync always'],
    ['no-appendfsync-on-rewrite', 'yes', 'CONFIG SET no-appendfsync-on-rewrite no'],
    ['maxmemory-policy', 'allkeys-lru', 'CONFIG SET maxmemory-policy noeviction'],
  ])(
    'by %s %s is refused with the line that fixes it, and accepted by who accepts the risk',
    async (name, value, fix) => {
      await withClient(redis, (client) => client.config('SET', name, value))
      const refused = redisStore(redis.url)
      await expect(refused).rejects.toMatchObject({ code: 'REGENT_STORE_UNSAFE' })
      await expect(refused).rejects.toThrow(`${name} is "${value}"`)
      await expect(refused).rejects.toThrow(fix)
      const store = await open(redis.url, { allowVolatile: true })
      expect(await store.compareAndSwap('shop', 0, shop)).toBe(true)
    },
  )

  it('is accepted as soon as the lines of the error were typed in', async () => {
    await redis.kill()
    await redis.begin({ appendonly: 'no', appendfsync: 'no', 'maxmemory-policy': 'volatile-lru' })
    const message = await redisStore(redis.url).then(() => 'accepted', describeError)
    const lines = [...message.matchAll(/CONFIG SET (\S+) (\w+)/g)]
    expect(lines).toHaveLength(3)
    await withClient(redis, async (client) => {
      for (const [, name = '', value = ''] of lines) await client.config('SET', name, value)
    })
    const store = await open(redis.url)
    expect(await store.compareAndSwap('shop', 0, shop)).toBe(true)
  })

  it('since it was restarted with other settings is refused before the next write', async () => {
    const store = await open(redis.url)
    await redis.kill()
    await redis.begin({ ...safeSettings, appendfsync: 'no' })
    await expect(store.compareAndSwap('shop', 0, shop)).rejects.toMatchObject({ code: 'REGENT_STORE_UNSAFE' })
    expect(await withClient(redis, (client) => client.exists('regent:{shop}:record'))).toBe(0)
  })

  it('because it is part of a Redis Cluster is refused', async () => {
    await redis.kill()
    await redis.begin({ ...safeSettings, 'cluster-enabled': 'yes', 'cluster-port': `${redis.port + 1}` })
    await expect(redisStore(redis.url)).rejects.toThrow('it is a node of a Redis Cluster')
  })

  it('because a Sentinel watches it is refused', async () => {
    const sentinel = new Redis({ port: redis.port, host: '127.0.0.1' })
    await sentinel.subscribe('__sentinel__:hello')
    try {
      await expect(redisStore(redis.url)).rejects.toThrow('a Sentinel watches it')
    } finally {
      sentinel.disconnect()
    }
  })

  it('because a replica could take over, or it is one itself, is refused, also when the replica comes later', async () => {
    const store = await open(redis.url)
    const replica = await RedisServer.start({ ...safeSettings, replicaof: `127.0.0.1 ${redis.port}` })
    try {
      await untilReplicas(redis, 1)
      await expect(store.compareAndSwap('shop', 0, shop)).rejects.toMatchObject({ code: 'REGENT_STORE_UNSAFE' })
      expect(await withClient(redis, (client) => client.exists('regent:{shop}:record'))).toBe(0)
      await expect(redisStore(redis.url)).rejects.toThrow('1 replica is connected')
      await expect(redisStore(replica.url)).rejects.toThrow(`it is a replica of 127.0.0.1:${redis.port}`)
      await withClient(replica, (client) => client.replicaof('NO', 'ONE'))
      await untilReplicas(redis, 0)
      expect(await store.compareAndSwap('shop', 0, shop)).toBe(true)
    } finally {
      await replica.end()
    }
  })
})

describe('A Redis with accounts', () => {
  const password = 'p@ss:w/rd%1'

  beforeEach(async () => {
    await withClient(redis, async (client) => {
      await client.call('ACL', 'SETUSER', 'keeper', 'on', `>${password}`, '~regent:*', '&*', '+@all')
      await client.call('ACL', 'SETUSER', 'limited', 'on', `>${password}`, '~regent:*', '&*', '+@all', '-config')
    })
  })

  it('is used by the user and password in the URL', async () => {
    const store = await open(urlFor('keeper', password))
    expect(await store.compareAndSwap('shop', 0, shop)).toBe(true)
  })

  it('that refuses the login is reported without the password', async () => {
    const wrong = `${password}-not`
    const error: unknown = await redisStore(urlFor('keeper', wrong)).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'REGENT_STORE_UNAVAILABLE' })
    const everything = inspect(error, { depth: null, showHidden: true })
    expect(everything).toContain('WRONGPASS')
    expect(everything).not.toContain(wrong)
    expect(everything).not.toContain(encodeURIComponent(wrong))
  })

  it('that does not show its settings is refused, naming what the user must be allowed', async () => {
    await expect(redisStore(urlFor('limited', password))).rejects.toThrow('does not tell whether it is safe')
    await expect(redisStore(urlFor('limited', password))).rejects.toThrow('+config|get')
  })

  function urlFor(user: string, secret: string): string {
    return `redis://${user}:${encodeURIComponent(secret)}@127.0.0.1:${redis.port}`
  }
})

async function untilReplicas(server: RedisServer, count: number): Promise<void> {
  await withClient(server, async (client) => {
    for (const started = performance.now(); performance.now() - started < patienceMs; await pause(20)) {
      if ((await client.info('replication')).includes(`connected_slaves:${count}`)) return
    }
    throw new Error(`Redis never had ${count} replicas`)
  })
}
