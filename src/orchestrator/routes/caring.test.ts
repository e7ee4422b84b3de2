import { expect, test, vi } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Hands } from '../trees/hands.ts'
import { orchestratorOver, watchedShop } from '../testing.ts'

/** Hands that find servers when the test says so. */
async function slowDiscovery() {
  const asked: string[] = []
  const ends: ((error?: Error) => void)[] = []
  const hands: Hands = {
    lookNow: async () => undefined,
    begin: () => expect.fail('no recovery'),
    carryOut: async () => undefined,
    async discover(host, port) {
      asked.push(`${host}:${port}`)
      return new Promise<undefined>((resolve, reject) =>
        ends.push((error) => (error ? reject(error) : resolve(undefined))),
      )
    },
  }
  return { ...(await orchestratorOver([watchedShop()], { hands })), asked, ends }
}

test('async-discover answers before anybody is found, asks once for each server, and says in the log what failed', async () => {
  const { get, asked, ends, logged } = await slowDiscovery()
  const begun = {
    status: 200,
    body: {
      Code: 'OK',
      Message: 'Asynchronous discovery initiated for Instance: 10.0.0.9:3306',
      Details: null,
    },
  }
  expect(await get('async-discover/10.0.0.9/3306')).toEqual(begun)
  expect(await get('async-discover/10.0.0.9/3306')).toEqual(begun)
  await vi.waitFor(() => expect(asked).toEqual(['10.0.0.9:3306']))
  ends[0]?.(new RegentError('REGENT_REFUSED', say`nobody answers there`))
  await vi.waitFor(() => expect(logged.join('')).toContain('discovery of 10.0.0.9:3306 failed: nobody answers there'))
  expect(await get('async-discover/10.0.0.9/3306')).toEqual(begun)
  await vi.waitFor(() => expect(asked).toHaveLength(2))
})

test('async-discover refuses what is no address, and more than it can do', async () => {
  const { get, asked } = await slowDiscovery()
  expect((await get('async-discover/a;b/3306')).body.Code).toBe('ERROR')
  for (let at = 1; at <= 20; at++) expect((await get(`async-discover/10.0.1.${at}/3306`)).body.Code).toBe('OK')
  expect((await get('async-discover/10.0.2.1/3306')).body).toMatchObject({
    Code: 'ERROR',
    Message: '20 discoveries go on already; ask again later',
  })
  await vi.waitFor(() => expect(asked).toHaveLength(20))
})

test('A server that is discovered by a name that nobody has heard is told of by the one that is known', async () => {
  const hands: Hands = {
    lookNow: async () => undefined,
    begin: () => expect.fail('no recovery'),
    carryOut: async () => undefined,
    discover: async () => ({ host: '127.24.1.2', port: 3_306 }),
  }
  const { get, said } = await orchestratorOver([watchedShop()], { hands })
  const discovered = { Code: 'OK', Message: 'Instance discovered: shop-1:3306', Details: { InstanceAlias: 'shop-1' } }
  expect((await get('discover/shop.prod.svc/3306')).body).toMatchObject(discovered)
  expect((await get('forget/shop-1/3306')).body.Code).toBe('OK')
  expect((await get('discover/shop.prod.svc/3306')).body).toMatchObject(discovered)
  expect(said.get('shop')).not.toHaveProperty('hidden')
})
