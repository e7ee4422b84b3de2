import { afterEach, expect, test } from 'vitest'
import { shopRecovery } from '#manager/api/testing.ts'
import { freePort } from '#test/support/free-port.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { knownShop, orchestratorOver, watchedShop } from './testing.ts'
import type { Hands } from './trees/hands.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Two managers behind one address: `shop` is watched by the one that is asked, `till` is managed by the other. */
async function both() {
  const till = { ...knownShop(), name: 'till' }
  const snapshot = {
    instances: till.snapshot.instances.map((one) => ({ ...one, port: 3_307 })),
  }
  const other = await orchestratorOver([{ ...till, snapshot }], { leads: true, recoveries: [shopRecovery] })
  const address = await other.app.listen({ host: '127.0.0.1', port: 0 })
  closing.push(() => other.app.close())
  const own = await orchestratorOver([watchedShop()], { also: [`${address}/`] })
  return { own, other }
}

test('Lists have the clusters of both, and each cluster is answered for by the manager that knows it', async () => {
  const { own, other } = await both()
  expect((await own.get('clusters')).body).toEqual(['shop-0:3306', 'shop-0:3307'])
  expect((await own.get('all-instances')).body).toHaveLength(6)
  expect((await own.get('cluster-info/till')).body).toMatchObject({ ClusterAlias: 'till' })
  expect((await own.get('instance/shop-1/3307')).body).toMatchObject({ Key: { Port: 3_307 } })
  expect(await own.get('instance/nobody/3306')).toMatchObject({ status: 500, body: { Code: 'ERROR', Details: null } })
  await own.get('begin-downtime/shop-1/3307/ann/disk/10m')
  await own.get('disable-global-recoveries')
  expect(other.asked.map(({ operation }) => operation)).toEqual(['downtime', 'pause'])
  expect(own.asked.map(({ operation }) => operation)).toEqual(['pause'])
})

test('A part of a name is nobody’s where several managers answer, and who was asked by one asks no other', async () => {
  const { own, other } = await both()
  expect((await own.get('instance/hop-1/3306')).body).toMatchObject({ Code: 'ERROR' })
  const alone = await orchestratorOver([watchedShop()])
  expect((await alone.get('instance/hop-1/3306')).body).toMatchObject({ Key: { Hostname: 'shop-1' } })
  const answer = await own.app.inject({ url: '/api/clusters', headers: { 'x-regent-asked': '1' } })
  expect(JSON.parse(answer.body)).toEqual(['shop-0:3306'])
  await other.app.close()
  expect((await own.get('clusters')).body).toEqual(['shop-0:3306'])
  expect(await own.get('enable-global-recoveries')).toMatchObject({ status: 500 })
  expect(own.logged.join('\n')).toMatch(/the manager at .* does not answer/)
})

test('A recovery of the other manager is acknowledged there', async () => {
  const { own, other } = await both()
  expect((await own.get('ack-recovery/uid/r1?comment=seen')).body).toMatchObject({ Code: 'OK' })
  expect(other.said.get('till')?.acknowledged).toMatchObject({ r1: { comment: 'seen' } })
  expect((await own.get('ack-recovery/uid/r2?comment=seen')).body).toMatchObject({ Code: 'ERROR' })
})

/** Of three managers the second does not answer, and a fourth stands by; the third manages `till`. */
async function amongSilent() {
  const { other } = await both()
  const standby = await orchestratorOver([], { leads: false })
  const silent = 'http://127.0.0.1:1'
  const beside = await standby.app.listen({ host: '127.0.0.1', port: 0 })
  closing.push(() => standby.app.close())
  const last = other.app.server.address()
  if (typeof last !== 'object' || last === null) throw new Error('it listens nowhere')
  const own = await orchestratorOver([watchedShop()], { also: [silent, beside, `http://127.0.0.1:${last.port}`] })
  return { own, other }
}

test('A manager that does not answer, or stands by, hides no cluster of another one', async () => {
  const { own, other } = await amongSilent()
  expect((await own.get('cluster-info/till')).body).toMatchObject({ ClusterAlias: 'till' })
  expect((await own.get('begin-downtime/shop-1/3307/ann/disk/10m')).body).toMatchObject({ Code: 'OK' })
  expect(other.asked.map(({ operation }) => operation)).toEqual(['downtime'])
  expect((await own.get('cluster-info/nobody')).body).toMatchObject({
    Code: 'ERROR',
    Message: expect.stringMatching(/^the manager at http:\/\/127.0.0.1:1 does not answer/) as string,
  })
})

test('An empty list of an own cluster stays one while another manager does not answer', async () => {
  const { own } = await amongSilent()
  for (const path of [
    'instance-replicas/shop-2/3306',
    'tags/shop-1/3306',
    'downtimed/shop',
    'audit-recovery/cluster/shop',
  ])
    expect([path, await own.get(path)]).toEqual([path, { status: 200, body: [] }])
})

test('A tag that is to go everywhere, and did not where nobody answers, is told of', async () => {
  const { own } = await amongSilent()
  expect(await own.get('untag-all?tag=role')).toMatchObject({
    status: 500,
    body: { Code: 'ERROR', Message: expect.stringMatching(/does not answer/) as string },
  })
})

test('What would change a cluster of a name that another manager has, too, is refused: nobody could tell which', async () => {
  const twin = await orchestratorOver([knownShop()], { recoveries: [shopRecovery] })
  const address = await twin.app.listen({ host: '127.0.0.1', port: 0 })
  closing.push(() => twin.app.close())
  const own = await orchestratorOver([knownShop()], { also: [address], recoveries: [shopRecovery] })
  const here = await own.app.listen({ host: '127.0.0.1', port: 0 })
  closing.push(() => own.app.close())
  const strange = await orchestratorOver([], { also: [address, here] })
  for (const one of [own, strange])
    for (const path of [
      'graceful-master-takeover-auto/shop',
      'begin-downtime/shop-1/3306/ann/disk',
      'forget-cluster/shop',
    ])
      expect([path, await one.get(path)]).toMatchObject([
        path,
        {
          status: 500,
          body: { Code: 'ERROR', Message: expect.stringMatching(/^shop.* is a name at several managers/) as string },
        },
      ])
  expect([own.asked, twin.asked]).toEqual([[], []])
  // Of several managers of one cluster one leads.
  const standby = await orchestratorOver([knownShop()], { leads: false })
  const beside = await standby.app.listen({ host: '127.0.0.1', port: 0 })
  closing.push(() => standby.app.close())
  const third = await orchestratorOver([], { also: [beside, address] })
  expect((await third.get('begin-downtime/shop-1/3306/ann/disk')).body).toMatchObject({ Code: 'OK' })
  expect(twin.asked.splice(0)).toMatchObject([{ operation: 'downtime' }])
  // Its address is that of one server alone, and what is only shown changes nothing.
  const byAddress = await orchestratorOver([knownShop()], { also: [address], hostNames: 'address' })
  await byAddress.get('begin-downtime/127.24.1.2/3306/ann/disk')
  expect(byAddress.asked).toMatchObject([{ operation: 'downtime', request: { instance: 'shop-1' } }])
  expect((await own.get('cluster-info/shop')).body).toMatchObject({ ClusterAlias: 'shop' })
})

test('A server that another manager knows is discovered there, and not searched for once more', async () => {
  const { other } = await both()
  const last = other.app.server.address()
  if (typeof last !== 'object' || last === null) throw new Error('it listens nowhere')
  const searched: string[] = []
  const hands: Hands = {
    lookNow: async () => undefined,
    begin: () => expect.fail('no recovery'),
    carryOut: async () => undefined,
    async discover(host) {
      searched.push(host)
      throw new RegentError('REGENT_REFUSED', say`${host} refuses the account`)
    },
  }
  const own = await orchestratorOver([watchedShop()], { hands, also: [`http://127.0.0.1:${last.port}`] })
  expect((await own.get('discover/shop-1/3307')).body).toMatchObject({
    Code: 'OK',
    Details: { Key: { Hostname: 'shop-1', Port: 3_307 } },
  })
  expect(searched).toEqual([])
  expect((await own.get('discover/nobody/3306')).body).toMatchObject({ Code: 'ERROR' })
  expect(searched).toEqual(['nobody'])
})

test('A manager that stands among the others that it asks is not asked: each cluster is listed once', async () => {
  const port = await freePort()
  const own = await orchestratorOver([knownShop()], {
    also: [`http://127.0.0.1:${port}`],
    recoveries: [shopRecovery],
  })
  await own.app.listen({ host: '127.0.0.1', port })
  closing.push(() => own.app.close())
  expect((await own.get('clusters')).body).toEqual(['shop-0:3306'])
  expect((await own.get('begin-downtime/shop-1/3306/ann/disk')).body).toMatchObject({ Code: 'OK' })
  expect((await own.get('disable-global-recoveries')).body).toMatchObject({ Code: 'OK' })
  expect(own.asked.map(({ operation }) => operation)).toEqual(['downtime', 'pause'])
  expect((await own.get('instance/nobody/3306')).body.Message).toBe('Cannot read instance: nobody:3306')
})
