import { expect, it } from 'vitest'
import { aCluster, aPod } from '#kube/testing.ts'
import { statusOf } from './status.ts'
import { aRow, aView } from '../testing.ts'

it('A status says that nobody knows whether writes are taken, and not that none are', () => {
  const sentence = 'whether shop-0 takes writes is not known: …'
  const instances = [aRow(0, { reachable: false }), aRow(1), aRow(2)]
  const status = statusOf({
    cluster: aCluster({ instances: 3 }, { generation: 7 }),
    view: aView({ writable: null, writableUnknown: { likely: true, sentence }, instances }),
    pods: [aPod(0), aPod(1), aPod(2)],
    update: '',
    progress: { generation: 7, trouble: '' },
    wallMs: 0,
  })
  const condition = (wanted: string) => status.conditions?.find(({ type }) => type === wanted)
  expect(condition('Available')).toMatchObject({ status: 'Unknown', reason: 'WritesNotKnown', message: sentence })
  expect(condition('Ready')).toMatchObject({ status: 'False', reason: 'WritesNotKnown' })
})
