import { expect, it, onTestFinished } from 'vitest'
import { virtualWorld } from '#common/ports/testing-world.ts'
import type { ListOptions } from '#controller-runtime/client/kube-client.ts'
import type { KubeObject } from '#controller-runtime/objects/objects.ts'
import { podWarnings } from './pod-warnings.ts'

const cluster = { namespace: 'shops', name: 'shop' }

interface Said {
  readonly about: string
  readonly reason: string
  readonly message: string
  readonly agoMs?: number
}

/** An API server that has these Warnings, by kind and name. */
function aServer(...events: readonly Said[]) {
  const world = virtualWorld()
  const asked: string[] = []
  const client = {
    list: async (_resource: unknown, { namespace, fieldSelector = '' }: ListOptions = {}) => {
      asked.push(`${namespace ?? ''} ${fieldSelector}`)
      const items = events
        .filter(({ about }) => {
          const [kind = '', name = ''] = about.split('/')
          return fieldSelector === `type=Warning,involvedObject.kind=${kind},involvedObject.name=${name}`
        })
        .map(({ reason, message, agoMs = 0 }, at) => ({
          ...{ apiVersion: 'v1', kind: 'Event', metadata: { name: `${reason}-${at}`, namespace: 'shops' } },
          ...{ reason, message, lastTimestamp: new Date(world.clock.wallMs() - agoMs).toISOString() },
        }))
      return { items: items as readonly KubeObject[], resourceVersion: '1' }
    },
  }
  const warnings = podWarnings({ client: client as never, world, cluster })
  onTestFinished(() => warnings.close())
  let changes = 0
  let amiss: readonly string[] = []
  warnings.follow(
    () => amiss,
    () => (changes += 1),
  )
  return { world, asked, warnings, changes: () => changes, are: (...instances: string[]) => (amiss = instances) }
}

it('The newest Warning of pod, claim and set is said of a pod that is amiss, and nobody is asked of others', async () => {
  const { world, warnings, asked, changes, are } = aServer(
    { about: 'Pod/shop-1', reason: 'Failed', message: 'Error: no such image', agoMs: 60_000 },
    { about: 'Pod/shop-1', reason: 'Unhealthy', message: 'Readiness probe failed: HTTP 503' },
    {
      about: 'PersistentVolumeClaim/data-shop-2',
      reason: 'ProvisioningFailed',
      message: 'no class "fast"',
      agoMs: 9_000,
    },
    {
      about: 'StatefulSet/shop',
      reason: 'FailedCreate',
      message: 'create Pod shop-2 failed: no PriorityClass',
      agoMs: 5_000,
    },
    { about: 'StatefulSet/shop', reason: 'FailedCreate', message: 'create Pod shop-20 failed: quota' },
  )
  await world.advance(60_000)
  expect(asked).toEqual([])
  are('shop-1', 'shop-2')
  await world.advance(10_000)
  expect(asked[0]).toBe('shops type=Warning,involvedObject.kind=Pod,involvedObject.name=shop-1')
  expect([warnings.of('shop-0'), warnings.of('shop-1'), warnings.of('shop-2'), changes()]).toEqual([
    '',
    'Kubernetes warns: Failed (Error: no such image)',
    'Kubernetes warns: FailedCreate (create Pod shop-2 failed: no PriorityClass)',
    1,
  ])
  are()
  const requests = asked.length
  await world.advance(120_000)
  expect([asked.length, warnings.of('shop-1')]).toEqual([requests, ''])
})

it('What Kubernetes warned of long ago, and does not repeat, is not said', async () => {
  const { world, warnings, changes, are } = aServer({
    ...{ about: 'Pod/shop-1', reason: 'FailedMount', message: 'not yet', agoMs: 400_000 },
  })
  are('shop-1')
  await world.advance(10_000)
  expect([warnings.of('shop-1'), changes()]).toEqual(['', 0])
})
