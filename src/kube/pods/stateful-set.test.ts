import { describe, expect, it } from 'vitest'
import { scaleOf, statefulSetOf } from './stateful-set.ts'
import { aCluster, aStatefulSet, testImages } from '../testing.ts'

describe('the StatefulSet of a cluster', () => {
  it('starts its pods all at once, restarts none by itself, and is found by its headless Service', () => {
    expect(statefulSetOf(aCluster(), testImages, undefined).spec).toMatchObject({
      podManagementPolicy: 'Parallel',
      updateStrategy: { type: 'OnDelete' },
      serviceName: 'shop-instances',
    })
  })

  it('never says how many pods there are: scaling owns that', () => {
    expect(statefulSetOf(aCluster({ instances: 5 }), testImages, aStatefulSet(3)).spec).not.toHaveProperty('replicas')
    expect(scaleOf({ namespace: 'shops', name: 'shop' }, 5)).toEqual({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'shop', namespace: 'shops' },
      spec: { replicas: 5 },
    })
  })

  it('selects the pods that its template makes, and goes with its cluster', () => {
    const { metadata, spec } = statefulSetOf(aCluster(), testImages, undefined)
    expect(spec.template.metadata?.labels).toMatchObject(spec.selector.matchLabels ?? expect.fail('no selector'))
    expect(metadata.ownerReferences).toMatchObject([
      { kind: 'MySQLCluster', name: 'shop', uid: 'u1', controller: true },
    ])
  })

  it('keeps volumes unless it is told otherwise', () => {
    const retention = (spec: object) =>
      statefulSetOf(aCluster(spec), testImages, undefined).spec.persistentVolumeClaimRetentionPolicy
    expect(retention({})).toEqual({ whenDeleted: 'Retain', whenScaled: 'Retain' })
    expect(retention({ volumes: { whenDeleted: 'Delete', whenScaled: 'Delete' } })).toEqual({
      whenDeleted: 'Delete',
      whenScaled: 'Delete',
    })
  })

  it('claims what the spec says for a new cluster, and for one that exists what it claimed first: templates of claims cannot change', () => {
    const grown = aCluster({ storage: { size: '8Gi', storageClassName: 'fast' } })
    const [made, kept] = [undefined, aStatefulSet(3)].map(
      (existing) => statefulSetOf(grown, testImages, existing).spec.volumeClaimTemplates?.[0]?.spec,
    )
    expect(made).toMatchObject({ storageClassName: 'fast', resources: { requests: { storage: '8Gi' } } })
    expect(kept?.resources?.requests).toEqual({ storage: '1Gi' })
  })
})
