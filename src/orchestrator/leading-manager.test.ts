import { afterEach, expect, test } from 'vitest'
import { shopRecovery } from '#manager/api/testing.ts'
import { freePort } from '#test/support/free-port.ts'
import { knownShop, orchestratorOver } from './testing.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Two managers of one cluster; the one that stands by knows where the other one is. */
async function both({ readOnly = false }: { readonly readOnly?: boolean } = {}) {
  const leading = await orchestratorOver([knownShop()], { recoveries: [shopRecovery] })
  const url = await leading.app.listen({ host: '127.0.0.1', port: 0 })
  closing.push(() => leading.app.close())
  const leader = () => new URL(url).host
  const standby = await orchestratorOver([knownShop()], { leads: false, leader, readOnly })
  return { leading, standby }
}

test('A manager that does not lead has the one that leads answer, and do what is asked', async () => {
  const { leading, standby } = await both()
  expect((await standby.get('tag/shop-1/3306?tag=role%3Dreport%0A')).body).toMatchObject({ Code: 'OK' })
  expect((await standby.get('tags/shop-1/3306')).body).toEqual(['role=report'])
  expect((await standby.get('instance/hop-1/3306')).body).toMatchObject({ Key: { Hostname: 'shop-1' } })
  expect((await standby.get('graceful-master-takeover-auto/shop')).body).toMatchObject({ Code: 'OK' })
  expect(await standby.get('instance/nobody/3306')).toMatchObject({ status: 500, body: { Code: 'ERROR' } })
  expect(leading.asked).toMatchObject([
    { operation: 'switchover', request: { reason: expect.stringMatching(/ by 127\.0\.0\.1$/) as string } },
  ])
  expect([standby.asked, standby.said.get('shop')]).toEqual([[], {}])
})

test('Whoever asks each manager finds the one that leads, and who leads is reached through the other', async () => {
  const { leading, standby } = await both()
  expect([(await standby.get('leader-check')).status, (await leading.get('leader-check')).status]).toEqual([404, 200])
  expect((await standby.get('routed-leader-check')).status).toBe(200)
  expect((await standby.get('health')).body).toMatchObject({ Details: { IsActiveNode: false } })
})

test('Where the manager that leads does not answer nothing is changed, and this one says what it knows', async () => {
  const { leading, standby } = await both()
  await leading.app.close()
  expect((await standby.get('clusters')).body).toEqual(['shop-0:3306'])
  expect(await standby.get('tag/shop-1/3306?tag=role')).toMatchObject({
    status: 500,
    body: { Code: 'ERROR', Message: expect.stringMatching(/^Not leader: the manager that leads, at /) as string },
  })
  expect((await standby.get('routed-leader-check')).status).toBe(404)
  expect([leading.said.get('shop'), standby.said.get('shop')]).toEqual([{}, {}])
})

test('Two managers that each take the other one for the leader ask once, and each knows the other', async () => {
  const port = await freePort()
  const one = await orchestratorOver([knownShop()], { leads: false, leader: () => `127.0.0.1:${port}` })
  const url = await one.app.listen({ host: '127.0.0.1', port: 0 })
  closing.push(() => one.app.close())
  const other = await orchestratorOver([knownShop()], { leads: false, leader: () => new URL(url).host })
  await other.app.listen({ host: '127.0.0.1', port })
  closing.push(() => other.app.close())
  expect((await one.get('clusters')).body).toEqual(['shop-0:3306'])
  expect((await one.get('tag/shop-1/3306?tag=role')).body).toMatchObject({
    Message: expect.stringMatching(/^Not leader: another manager leads/) as string,
  })
})

test('What may not be changed here is not changed through another manager', async () => {
  const { leading, standby } = await both({ readOnly: true })
  expect((await standby.get('tag/shop-1/3306?tag=role')).body).toMatchObject({ Message: 'Unauthorized' })
  expect((await standby.get('clusters')).body).toEqual(['shop-0:3306'])
  expect(leading.said.get('shop')).toEqual({})
})

test('A login goes along', async () => {
  const credentials = { login: 'ann:secret-of-ann-12', token: 'token-0123456789abcdef' }
  const leading = await orchestratorOver([knownShop()], { credentials: async () => credentials })
  const url = await leading.app.listen({ host: '127.0.0.1', port: 0 })
  closing.push(() => leading.app.close())
  const standby = await orchestratorOver([knownShop()], {
    ...{ leads: false, credentials: async () => credentials },
    leader: () => new URL(url).host,
  })
  const authorization = `Basic ${Buffer.from(credentials.login).toString('base64')}`
  const tag = { url: '/api/tag/shop-1/3306?tag=role', headers: { authorization } }
  expect((await standby.app.inject(tag)).statusCode).toBe(200)
  expect(leading.said.get('shop')).toEqual({ tags: { 'shop-1': { role: '' } } })
  expect((await standby.app.inject({ url: tag.url })).statusCode).toBe(401)
})
