import { expect, test } from 'vitest'
import { knownShop, orchestratorOver } from './testing.ts'

test('The name of a cluster that was forgotten, or is gone, is no part of the name of another one', async () => {
  const [one] = knownShop({ shape: { instances: 1 } }).snapshot.instances
  if (one === undefined) throw new Error('the shop has an instance')
  const instances = [{ ...one, name: 'webshop-0', host: '127.24.9.1' }]
  const webshop = { ...knownShop(), name: 'webshop', record: undefined, snapshot: { instances } }
  const { get, said } = await orchestratorOver([knownShop(), webshop])
  expect((await get('forget-cluster/shop')).body.Code).toBe('OK')
  for (const path of ['cluster-info/shop', 'master/shop', 'forget-cluster/shop'])
    expect([path, (await get(path)).body]).toMatchObject([path, { Code: 'ERROR', Details: null }])
  expect(said.get('webshop')?.hidden).toBeUndefined()
  // Orchestrator takes a part for a name where that changes nothing.
  const later = await orchestratorOver([webshop])
  expect((await later.get('cluster-info/shop')).body).toMatchObject({ ClusterAlias: 'webshop' })
  expect((await later.get('forget-cluster/shop')).body.Code).toBe('ERROR')
  expect(later.said.get('webshop')?.hidden).toBeUndefined()
  expect((await later.get('forget-cluster/webshop')).body.Code).toBe('OK')
})

test('The whole name of an instance that is not known is no part of another one’s, where something is changed', async () => {
  const known = knownShop()
  const instances = known.snapshot.instances.map((view) => ({ ...view, name: `web${view.name}` }))
  const webshop = { ...known, name: 'webshop', record: undefined, snapshot: { instances } }
  const { get, said, asked } = await orchestratorOver([webshop])
  for (const path of [
    ...['set-cluster-alias/shop-0:3306?alias=shop', 'set-cluster-alias/shop-0?alias=shop', 'tag/shop-0/3306?tag=a'],
    ...['begin-downtime/shop-0/3306/me/disk', 'force-master-failover/shop-0', 'force-master-failover/shop-0/3306'],
    ...['graceful-master-takeover-auto/shop-1/webshop-2/3306', 'register-candidate/shop-1/3306/prefer'],
  ])
    expect([path, (await get(path)).body]).toMatchObject([path, { Code: 'ERROR', Details: null }])
  expect([asked, said.get('webshop')]).toEqual([[], {}])
  // What only reads, and what is no whole name, is as at orchestrator.
  expect((await get('instance/shop-0/3306')).body).toMatchObject({ Key: { Hostname: 'webshop-0' } })
  expect((await get('begin-downtime/WEBSHOP-1/3306/me/disk')).body.Code).toBe('OK')
  expect((await get('tag/webshop-2/3306?tag=a')).body.Code).toBe('OK')
})

test('The first label of an address names a server, also where something is changed', async () => {
  const known = knownShop()
  const instances = known.snapshot.instances.map((view, at) => ({ ...view, host: `db-${at + 9}.prod.local` }))
  const { get, asked } = await orchestratorOver([{ ...known, snapshot: { instances } }], { hostNames: 'address' })
  for (const hint of ['db-9', 'db-10', 'db-11.prod', 'db-11.prod.local'])
    expect([hint, (await get(`begin-downtime/${hint}/3306/me/disk`)).body.Code]).toEqual([hint, 'OK'])
  expect(asked.map(({ request }) => request)).toMatchObject(
    ['shop-0', 'shop-1', 'shop-2', 'shop-2'].map((instance) => ({ instance })),
  )
  expect((await get('begin-downtime/db-1/3306/me/disk')).body.Code).toBe('ERROR')
})
