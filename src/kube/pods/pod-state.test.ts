import { describe, expect, it } from 'vitest'
import { aPod } from '../testing.ts'
import { stateOfPod } from './pod-state.ts'
import type { Pod } from './stateful-set.ts'

const aPodWith = (status: Pod['status'], metadata = {}): Pod => ({
  ...aPod(0, { ready: false, metadata }),
  status: { phase: 'Pending', ...status },
})
const waits = (name: string, reason: string, message?: string) => ({
  name,
  state: { waiting: { reason, ...(message !== undefined && { message }) } },
})

describe('What Kubernetes says of a pod', () => {
  it.each<[string, Pod['status'], string]>([
    [
      'its image is missing',
      { containerStatuses: [waits('mysql', 'ImagePullBackOff', 'Back-off pulling image "mysql:9.9"')] },
      'container mysql of its pod waits: ImagePullBackOff (Back-off pulling image "mysql:9.9")',
    ],
    [
      'its image is no image',
      { initContainerStatuses: [waits('agent', 'InvalidImageName')] },
      'container agent of its pod waits: InvalidImageName',
    ],
    [
      'it was ended for its memory, and waits before the next start',
      {
        containerStatuses: [
          {
            ...waits('mysql', 'CrashLoopBackOff', 'back-off 10s restarting'),
            lastState: { terminated: { reason: 'OOMKilled', exitCode: 137 } },
          },
        ],
      },
      'container mysql of its pod waits: CrashLoopBackOff (back-off 10s restarting); container mysql of its pod ended last with exit code 137: OOMKilled',
    ],
    [
      'no node takes it',
      {
        conditions: [
          { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes\nare available' },
        ],
      },
      'no node takes its pod: Unschedulable (0/3 nodes are available)',
    ],
    [
      'it ended well and starts',
      { containerStatuses: [{ name: 'a', lastState: { terminated: { exitCode: 0 } } }] },
      '',
    ],
  ])('where %s', (_what, status, trouble) => {
    expect(stateOfPod(aPodWith(status))).toEqual({ trouble, isStarting: trouble === '' })
  })

  it.each<[boolean, Pod]>([
    [true, aPodWith({ initContainerStatuses: [waits('launcher', 'PodInitializing')] })],
    [true, aPodWith({ phase: 'Running', containerStatuses: [waits('mysql', 'ContainerCreating')] })],
    [false, aPodWith({ phase: 'Running', containerStatuses: [{ name: 'mysql', state: {} }] })],
    [false, aPodWith({}, { deletionTimestamp: 'x' })],
    [false, aPod(0)],
  ])('is that it is on its way: %s', (isStarting, pod) => {
    expect(stateOfPod(pod)).toEqual({ trouble: '', isStarting })
  })
})
