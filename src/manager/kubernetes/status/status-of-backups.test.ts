import { expect, it } from 'vitest'
import { aCluster } from '#kube/testing.ts'
import { statusOf } from './status.ts'
import { aRow, aView } from '../testing.ts'

it('A status tells of a backup under way as long as its agent is heard, and then what is amiss with the store again', () => {
  const backup = { name: '20261126T031209Z', stage: 'sends' as const, rawBytes: 0, storedBytes: 0, sentence: '' }
  const message = (reachable: boolean) =>
    statusOf({
      cluster: aCluster({ backup: { store: { claim: 'backups' } } }),
      view: aView({ instances: [aRow(0), aRow(1), aRow(2, { reachable, backup })] }),
      pods: [],
      update: '',
      progress: { generation: 7, trouble: '' },
      backups: {
        ...{ whole: 1, leftovers: 0, begun: null, newest: null, verified: null, answers: false, lookedAgoMs: 5 },
        sentence: 'the store is away',
      },
      wallMs: 0,
    }).backup?.message
  expect([message(true), message(false)]).toEqual([
    'backup 20261126T031209Z: 0.0 MiB of data are in the store',
    'the store is away',
  ])
})
