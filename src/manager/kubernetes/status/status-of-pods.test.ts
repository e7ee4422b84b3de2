import { expect, it } from 'vitest'
import { aCluster, aPod } from '#kube/testing.ts'
import { statusOf } from './status.ts'
import { aRow, aView } from '../testing.ts'

it('A status says first what Kubernetes says of a pod that does not take part', () => {
  const trouble = 'container mysql of its pod waits: ImagePullBackOff (no such image)'
  const view = aView({
    instances: [aRow(0), aRow(1, { reachable: false, process: 'unknown', trouble }), aRow(2, { trouble: 'was ended' })],
    sentence: 'no action',
  })
  const status = statusOf({
    ...{ cluster: aCluster({ instances: 3 }), view, pods: [aPod(0), aPod(1), aPod(2)], update: '' },
    ...{ progress: { generation: 7, trouble: '' }, wallMs: 0 },
  })
  expect(status.sentence).toBe(`shop-1: ${trouble}. no action`)
  expect(status.conditions?.find(({ type }) => type === 'Degraded')?.message).toBe(
    `shop-1 does not take part; shop-1: ${trouble}. no action`,
  )
})
