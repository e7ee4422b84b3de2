import { expect, it } from 'vitest'
import { routerAppOf } from '#kube/router/router-objects.ts'
import { aCluster } from '#kube/testing.ts'
import { routerViewOf } from './router-view.ts'

const cluster = aCluster({ router: { ports: { read: 3407 } } })
const app = routerAppOf(cluster, cluster.spec.router ?? expect.fail('no router'), 'regent:1')

it('The router of a cluster on Kubernetes is shown as its App says', () => {
  const status = { address: 'shop.shops.svc', sentence: '2 pods ready, all of the newest spec' }
  expect(routerViewOf('shop', { ...app, status })).toEqual({
    ...{ host: 'shop.shops.svc', writePort: 3306, readPort: 3407 },
    sentence: '2 pods ready, all of the newest spec',
  })
  expect(routerViewOf('shop', app)?.sentence).toBe('the routers are not made yet')
})

it('An App of somebody else with that name is no router', () => {
  const { ownerReferences: _, labels: __, ...metadata } = app.metadata
  expect(routerViewOf('shop', { ...app, metadata })).toBeUndefined()
  expect(routerViewOf('shop', undefined)).toBeUndefined()
})
