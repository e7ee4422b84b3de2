import { describe, expect, it } from 'vitest'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import { longestClusterName, namesOf } from '../names/names.ts'
import { aCluster } from '../testing.ts'
import { admissionRoutes } from './admission.ts'

const named = (name: string, spec: object = {}): MySQLCluster => aCluster({ image: 'mysql:8.4.3', ...spec }, { name })

/** What the webhook says of a cluster beside another one. */
function refusal(next: MySQLCluster, other: MySQLCluster, before?: MySQLCluster): string | undefined {
  const routes = admissionRoutes({
    defaults: {},
    lifecycleAgent: { image: 'regent:1', pullPolicy: 'Always', address: '0.0.0.0' },
    clusterOf: ({ namespace, name }) => (namespace === 'shops' && name === other.metadata.name ? other : undefined),
  })
  return routes['/validate/mysqlclusters'].review({
    ...{ uid: 'u', operation: before === undefined ? 'CREATE' : 'UPDATE', namespace: 'shops', object: next },
    ...(before !== undefined && { oldObject: before }),
  }).status?.message
}

const routed = { router: {} }

describe('A cluster whose objects would have the names of another one’s is refused', () => {
  it.each<[string, MySQLCluster, MySQLCluster, string]>([
    [
      'named as the router of another',
      named('shop-router'),
      named('shop', routed),
      'metadata.name is "shop-router": objects of cluster shop have that name already; give another one',
    ],
    [
      'with a router, whose name another cluster has',
      named('shop', routed),
      named('shop-router'),
      'spec.router would make objects with the name of cluster shop-router, which is there already',
    ],
    [
      'with a router, whose Service is the other’s for the primary',
      named('shop-primary', routed),
      named('shop'),
      'metadata.name is "shop-primary": objects of cluster shop have that name already; give another one',
    ],
    [
      'whose Service for replicas is that of the other’s router',
      named('shop'),
      named('shop-replicas', routed),
      'metadata.name is "shop": cluster shop-replicas has a name that an object of this cluster would get',
    ],
  ])('%s', (_, next, other, words) => {
    expect(refusal(next, other)).toContain(words)
  })

  it('also where a router is added to a cluster that is there', () => {
    expect(refusal(named('shop', routed), named('shop-router'), named('shop'))).toContain('of cluster shop-router')
    expect(refusal(named('shop-instances', routed), named('shop'), named('shop-instances'))).toContain(
      'of cluster shop',
    )
  })

  it('in one short sentence', () => {
    const base = 'a'.repeat(longestClusterName - '-replicas'.length)
    for (const [next, other] of [
      [named(`${base}-replicas`, routed), named(base)],
      [named(base), named(`${base}-replicas`, routed)],
      [named(`${base}-router`), named(base, routed)],
      [named(base, routed), named(`${base}-router`)],
    ] as const)
      expect((refusal(next, other) ?? '').replace(/ \(REGENT.*/s, '').length).toBeLessThanOrEqual(160)
  })
})

describe('A cluster is let in beside another', () => {
  it.each<[string, MySQLCluster, MySQLCluster, MySQLCluster?]>([
    ['that has no router', named('shop-router'), named('shop')],
    ['as a primary’s name without a router', named('shop-primary'), named('shop')],
    ['of another name', named('shop-routers'), named('shop', routed)],
    ['of another namespace', named('shop-router'), aCluster({ image: 'mysql:8.4.3', ...routed }, { namespace: 'x' })],
    [
      'with which the clash is there already',
      named('shop', { ...routed, instances: 5 }),
      named('shop-router'),
      named('shop', routed),
    ],
    ['when the router goes', named('shop'), named('shop-router'), named('shop', routed)],
  ])('%s', (_, next, other, before) => {
    const elsewhere = other.metadata.namespace === 'x' ? named('nobody') : other
    expect(refusal(next, elsewhere, before)).toBeUndefined()
  })

  it('by names that exist', () => {
    expect(namesOf('shop')).toMatchObject({
      ...{ router: 'shop-router', primary: 'shop-primary', replicas: 'shop-replicas', instances: 'shop-instances' },
      ...{ routerService: 'shop', disruptionBudget: 'shop' },
    })
  })
})
