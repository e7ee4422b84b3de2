import { expect, it } from 'vitest'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import type { ConfigMap } from '#controller-runtime/objects/config-map.ts'
import { labels } from '#kube/names/names.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { keepRouterAuthority } from './router-authority.ts'

const cluster = {
  metadata: { name: 'shop', namespace: 'shops', uid: 'u1' },
  spec: { router: { replicas: 2 }, paused: true },
} as unknown as MySQLCluster

function configMap(ca: string, owner = 'shop'): ConfigMap {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      ...{ name: 'shop-router', namespace: 'shops', labels: { [labels.cluster]: owner } },
      ownerReferences: [{ apiVersion: 'regent.dev/v1alpha1', kind: 'MySQLCluster', name: owner, uid: 'u1' }],
    },
    data: { 'router.json': '{}', 'ca.crt': ca },
  }
}

async function kept(found: ConfigMap | undefined, of = cluster): Promise<readonly unknown[]> {
  const patches: unknown[] = []
  const client = {
    get: async () => found,
    patch: async (_: unknown, { name }: { readonly name: string }, patch: unknown) => void patches.push([name, patch]),
  } as unknown as Pick<KubeClient, 'get' | 'patch'>
  await keepRouterAuthority({ client, managerAuthority: () => 'new' }, of, new AbortController().signal)
  return patches
}

it('Routers of a cluster that is paused are told of a new authority, and of nothing else', async () => {
  expect(await kept(configMap('old'))).toEqual([['shop-router', { data: { 'ca.crt': 'new' } }]])
  expect(await kept(configMap('new'))).toEqual([])
})

it('Nothing is written where there is no router, or somebody else’s', async () => {
  expect(await kept(undefined)).toEqual([])
  expect(await kept(configMap('old', 'other'))).toEqual([])
  const without = { ...cluster, spec: { paused: true } } as unknown as MySQLCluster
  expect(await kept(configMap('old'), without)).toEqual([])
})
