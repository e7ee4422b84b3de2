import { describe, expect, it } from 'vitest'
import type { MySQLClusterStatus } from '#kube/spec/status-schema.ts'
import { aCluster } from '#kube/testing.ts'
import { SpecProgress } from './spec-progress.ts'

const cluster = (generation: number, status?: MySQLClusterStatus, uid = 'u1') => ({
  ...aCluster({}, { generation, uid }),
  ...(status && { status }),
})

describe('how far a spec is followed', () => {
  it('is what the status says, where this manager did nothing', () => {
    expect(new SpecProgress().of(cluster(3))).toEqual({ generation: undefined, trouble: '' })
    expect(new SpecProgress().of(cluster(3, { observedGeneration: 2 }))).toEqual({ generation: 2, trouble: '' })
  })

  it('is the generation that was applied, not the one that is there now', () => {
    const progress = new SpecProgress()
    progress.applied(cluster(3))
    expect(progress.of(cluster(4)).generation).toBe(3)
    expect(progress.of(cluster(6, { observedGeneration: 5 })).generation).toBe(5)
  })

  it('has a trouble until nothing stands in its way: what was applied may be stuck all the same', () => {
    const progress = new SpecProgress()
    progress.applied(cluster(3))
    progress.stuck(cluster(4), 'acks is 9')
    expect(progress.of(cluster(4))).toMatchObject({ generation: 3, trouble: 'acks is 9' })
    progress.applied(cluster(5))
    expect(progress.of(cluster(5))).toMatchObject({ generation: 5, trouble: 'acks is 9' })
    progress.stuck(cluster(5), '')
    expect(progress.of(cluster(5))).toMatchObject({ generation: 5, trouble: '' })
  })

  it('begins anew with a cluster of the same name, and where it is forgotten', () => {
    const progress = new SpecProgress()
    progress.applied(cluster(3))
    expect(progress.of(cluster(1, undefined, 'u2')).generation).toBeUndefined()
    progress.forget({ namespace: 'shops', name: 'shop' })
    expect(progress.of(cluster(3)).generation).toBeUndefined()
  })
})
