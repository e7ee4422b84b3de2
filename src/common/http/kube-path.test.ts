import { describe, expect, it } from 'vitest'
import { kubePath, type KubeTarget } from './kube-path.ts'

const sets: KubeTarget = { group: 'apps', version: 'v1', plural: 'statefulsets', namespace: 'shops', name: 'db' }

describe('A path of the Kubernetes API', () => {
  it.each<[string, KubeTarget]>([
    ['/apis/apps/v1/namespaces/shops/statefulsets/db', sets],
    ['/apis/apps/v1/namespaces/shops/statefulsets/db/status', { ...sets, subresource: 'status' }],
    ['/api/v1/pods', { group: '', version: 'v1', plural: 'pods' }],
    ['/api/v1/namespaces/shops', { group: '', version: 'v1', plural: 'namespaces', name: 'shops' }],
    [
      '/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode',
      { group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'clusterroles', name: 'system:node' },
    ],
    [
      '/apis/workloads.kubeblocks.io/v1alpha1/namespaces/shops/instancesets',
      { group: 'workloads.kubeblocks.io', version: 'v1alpha1', plural: 'instancesets', namespace: 'shops' },
    ],
  ])('is %s', (path, target) => {
    expect(kubePath(target)).toBe(path)
  })

  it('has its query behind it, without what is not given', () => {
    expect(kubePath(sets, { fieldManager: 'regent', force: true, limit: undefined, labelSelector: 'a=b&c' })).toBe(
      '/apis/apps/v1/namespaces/shops/statefulsets/db?fieldManager=regent&force=true&labelSelector=a%3Db%26c',
    )
  })

  it.each<[keyof KubeTarget, string]>([
    ['version', 'v1%2Fnamespaces%2Fvictim%2Fstatefulsets%2Fdb?x='],
    ['version', 'v1/namespaces/victim/statefulsets/db?x='],
    ['version', 'v1?x='],
    ['version', ''],
    ['version', '..'],
    ['group', '../api'],
    ['group', 'apps/v1'],
    ['group', 'apps%2Fv1'],
    ['plural', 'statefulsets/db'],
    ['plural', 'statefulsets#'],
    ['plural', ''],
    ['namespace', 'shops/../victim'],
    ['namespace', '..'],
    ['name', ''],
    ['name', '.'],
    ['name', '..'],
    ['name', '../../victim/statefulsets/db'],
    ['name', 'db%2F..'],
    ['name', 'db?x='],
    ['name', 'x'.repeat(254)],
    ['subresource', '../../db'],
  ])('is refused where its %s is "%s"', (part, text) => {
    expect(() => kubePath({ ...sets, [part]: text })).toThrow(/is no .+ of the Kubernetes API/)
  })
})
