import { describe, expect, it } from 'vitest'
import type { Pod } from '#kube/pods/stateful-set.ts'
import { aCluster, aPod, type PodShape } from '#kube/testing.ts'
import type { ClusterView } from '#api-contract/views.ts'
import { nextRestart } from './rolling-update.ts'
import { aRow, aView } from '../testing.ts'

const outdated = (ordinal: number, shape: PodShape = {}) => aPod(ordinal, { revision: 'old', ...shape })
const updated = (ordinal: number, shape: PodShape = {}) => aPod(ordinal, { revision: 'new', ...shape })
const step = (pods: readonly Pod[], view: Partial<ClusterView> = {}, spec: object = {}) => {
  const { restart, sentence } = nextRestart(aCluster({ instances: 3, ...spec }), aView(view), pods, 'new')
  return [restart?.metadata.name, String(sentence)]
}
const all = [outdated(0), outdated(1), outdated(2)]

describe('a rolling update', () => {
  it('has nothing to do where every pod is as it should be, or nobody knows yet how that is', () => {
    expect(step([updated(0), updated(1), updated(2)])).toEqual([undefined, ''])
    expect(nextRestart(aCluster(), aView(), all, undefined)).toEqual({ restart: undefined, sentence: '' })
  })

  it('takes replicas first, the highest ordinal before others, and the primary last', () => {
    expect(step(all)).toEqual(['shop-2', 'rolling update: shop-2 restarts; 3 of 3 pods are not as the spec says'])
    expect(step([outdated(0), outdated(1), updated(2)])[0]).toBe('shop-1')
    expect(step([outdated(0), updated(1), updated(2)])[0]).toBe('shop-0')
  })

  it('takes the primary last whatever its ordinal', () => {
    const view = {
      primary: 'shop-2',
      instances: [
        aRow(0, { role: 'replica', inSyncSet: true, acknowledging: true }),
        aRow(1),
        aRow(2, { role: 'primary', inSyncSet: false }),
      ],
    }
    expect(step(all, view)[0]).toBe('shop-1')
    expect(step([updated(0), updated(1), outdated(2)], view)[0]).toBe('shop-2')
  })

  it('counts ordinals as numbers', () => {
    const instances = Array.from({ length: 11 }, (_, ordinal) => aRow(ordinal))
    const pods = instances.map((_, ordinal) => outdated(ordinal))
    expect(step(pods, { instances }, { instances: 11 })[0]).toBe('shop-10')
  })

  it.each<[string, Parameters<typeof aRow>[1]]>([
    ['its mysqld', { process: 'starting' }],
    ['its agent', { reachable: false }],
    ['its place in the sync set', { inSyncSet: false }],
  ])('waits for one that was restarted until it has back %s', (_what, row) => {
    expect(step([outdated(0), outdated(1), updated(2)], { instances: [aRow(0), aRow(1), aRow(2, row)] })).toEqual([
      undefined,
      'rolling update waits: shop-2 is not back in the sync set; 2 of 3 pods are not as the spec says',
    ])
  })

  it('waits for one that was restarted until it acknowledges: to be in the sync set is not enough for writes to go on with the next one away', () => {
    expect(
      step([outdated(0), outdated(1), updated(2)], {
        instances: [aRow(0), aRow(1), aRow(2, { acknowledging: false })],
      }),
    ).toEqual([
      undefined,
      'rolling update waits: shop-2 does not acknowledge yet; 2 of 3 pods are not as the spec says',
    ])
  })

  it('waits for a member of a group until it is ONLINE there, and not for an acknowledgement', () => {
    const member = (state: 'ONLINE' | 'RECOVERING') => ({
      inSyncSet: true,
      acknowledging: state === 'ONLINE',
      group: { state, role: null, certifying: 0, applying: 0, lacks: null },
    })
    const pods = [outdated(0), outdated(1), updated(2)]
    const online = member('ONLINE')
    expect(step(pods, { instances: [aRow(0, online), aRow(1, online), aRow(2, member('RECOVERING'))] })).toEqual([
      undefined,
      'rolling update waits: shop-2 is not back in the group; 2 of 3 pods are not as the spec says',
    ])
    expect(step(pods, { instances: [aRow(0, online), aRow(1, online), aRow(2, online)] })[0]).toBe('shop-1')
  })

  it('waits for the pod of one that was restarted: until it is ready, agents may still speak of the one before', () => {
    expect(step([outdated(0), outdated(1), updated(2, { ready: false })])).toEqual([
      undefined,
      'rolling update waits: the pod of shop-2 is not ready; 2 of 3 pods are not as the spec says',
    ])
    expect(step([outdated(0), outdated(1)])).toEqual([
      undefined,
      'rolling update waits: the pod of shop-2 is not ready; 2 of 2 pods are not as the spec says',
    ])
  })

  it('goes no further than one whose mysqld refuses the changed settings, and takes that one first once they are put right', () => {
    const instances = [
      aRow(0),
      aRow(1),
      aRow(2, { process: 'absent', inSyncSet: false, settingsRefused: "unknown variable 'bogus=1'" }),
    ]
    const says =
      "rolling update waits: mysqld of shop-2 refuses its settings: unknown variable 'bogus=1'; 2 of 3 pods are not as the spec says"
    expect(step([outdated(0), outdated(1), updated(2)], { instances })).toEqual([undefined, says])
    expect(step(all, { instances })[0]).toBe('shop-2')
  })

  it('never restarts the last instance that serves: after scale 5 and scale 1 in the middle of a roll that waits, too', () => {
    const says =
      'rolling update waits: shop-0 is the only instance that serves, and nobody takes its place while it restarts: scale up, or delete pod shop-0 when clients can do without it; 1 of 1 pods are not as the spec says'
    const alone = { instances: [aRow(0)] }
    expect(step([outdated(0)], alone, { instances: 1 })).toEqual([undefined, says])
    expect(step([outdated(0), updated(1)], { instances: [aRow(0), aRow(1)] }, { instances: 2 })[0]).toBe('shop-0')
    // One that never ran serves nobody.
    expect(step([outdated(0, { phase: 'Pending' })], alone, { instances: 1 })[0]).toBe('shop-0')
  })

  it('waits while a pod ends', () => {
    expect(
      step([
        outdated(0),
        outdated(1),
        outdated(2, { metadata: { name: 'shop-2', deletionTimestamp: '2026-11-21T00:00:00Z', annotations: {} } }),
      ]),
    ).toEqual([undefined, 'rolling update waits: shop-2 is ending; 3 of 3 pods are not as the spec says'])
  })

  it('waits while nothing can be written, and while instances are still to come or to go', () => {
    expect(step(all, { writable: false })[1]).toMatch(/^rolling update waits: the cluster takes no writes; /)
    expect(step(all, {}, { instances: 5 })[1]).toMatch(/^rolling update waits: there are 3 of 5 instances; /)
  })

  it('leaves it to people where they want that, and waits for the end of a pause', () => {
    expect(step(all, {}, { update: { strategy: 'manual' } })).toEqual([
      undefined,
      '3 of 3 pods are not as the spec says; the update strategy is manual: each takes the change when it is deleted',
    ])
    expect(step(all, { paused: true })).toEqual([
      undefined,
      '3 of 3 pods are not as the spec says; the cluster is paused',
    ])
  })

  it('takes one that is broken before those that are well: the change may mend it, and two would be away', () => {
    const instances = [aRow(0), aRow(1, { reachable: false }), aRow(2)]
    expect(step(all, { instances })[0]).toBe('shop-1')
    expect(step([outdated(0), updated(1), outdated(2)], { instances })[0]).toBeUndefined()
  })

  it('replaces at once a pod that never ran, though nothing can be written: a cluster made with a wrong image gets the right one', () => {
    const pending = [
      outdated(0, { phase: 'Pending' }),
      outdated(1, { phase: 'Pending' }),
      outdated(2, { phase: 'Pending' }),
    ]
    const view = { epoch: 0, primary: null, writable: false, instances: [] }
    expect(step(pending, view)[0]).toBe('shop-0')
    expect(step(pending, { ...view, paused: true })[0]).toBeUndefined()
  })
})
