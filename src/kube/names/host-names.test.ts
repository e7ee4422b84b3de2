import { expect, test } from 'vitest'
import { namedByHost } from './host-names.ts'

const shop = { namespace: 'prod', name: 'shop' }

test.each([
  ['shop-1.shop-instances', { instance: 'shop-1' }],
  ['shop-1.shop-instances.prod', { instance: 'shop-1' }],
  ['shop-1.shop-instances.prod.svc', { instance: 'shop-1' }],
  ['shop-1.shop-instances.prod.svc.cluster.local', { instance: 'shop-1' }],
  ['SHOP-1.shop-instances.prod.svc.example.', { instance: 'shop-1' }],
  ['shop-primary', 'primary'],
  ['shop-primary.prod', 'primary'],
  ['shop-primary.prod.svc.cluster.local', 'primary'],
  ['shop.prod.svc', 'primary'],
])('%s is a name in that cluster', (host, means) => {
  expect(namedByHost(shop, host)).toEqual(means)
})

test.each([
  '',
  '.',
  'shop',
  'shop.prod',
  'shop-1',
  'shop-replicas.prod.svc',
  'shop-1.shop-instances.dev.svc',
  'shop-1.shop-instances.prod.pod',
  'shop-1.till-instances.prod.svc',
  'shop-primary.dev',
  'shop-primary.prod.com',
  'shop.dev.svc',
])('"%s" is none', (host) => {
  expect(namedByHost(shop, host)).toBeUndefined()
})
