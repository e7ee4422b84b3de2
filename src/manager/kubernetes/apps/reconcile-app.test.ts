import { expect, it } from 'vitest'
import { say } from '#common/sentence/sentence.ts'
import { KubeApiError } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import type { InformerPort } from '#controller-runtime/informers/informer-port.ts'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import type { App } from '#kube/app/app.ts'
import { reconcileApp } from './reconcile-app.ts'

const app = {
  apiVersion: 'apps.regent.dev/v1',
  kind: 'App',
  metadata: { name: 'worker', namespace: 'shops', uid: 'u1', generation: 1 },
  spec: {
    replicas: 1,
    image: 'worker:1',
    ports: [],
    podLabels: {},
    podAnnotations: {},
    service: { type: 'ClusterIP' },
  },
} as unknown as App

it('A Service of somebody else with the name of an App without ports stands in nobody’s way, and stays', async () => {
  const done: string[] = []
  const stranger: KubeObject = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'worker', namespace: 'shops' } }
  const client = {
    get: async ({ kind }: Resource) => (kind === 'Service' ? stranger : undefined),
    apply: async ({ kind }: Resource, object: object) => (done.push(`apply ${kind}`), object),
    delete: async ({ kind }: Resource) => void done.push(`delete ${kind}`),
    patch: async (_: unknown, { name }: { readonly name: string }) => ({ metadata: { name }, spec: {} }),
    list: async () => ({ items: [] }),
  } as unknown as KubeClient
  const apps = { get: () => app } as unknown as InformerPort<App>
  const clock = { wallMs: () => 0, monotonicMs: () => 0 }
  await reconcileApp({ client, clock, apps, leads: () => true, recorder: { record: () => undefined } })(
    { namespace: 'shops', name: 'worker' },
    new AbortController().signal,
  )
  expect(done).toEqual(['apply Deployment', 'apply App'])
})

/** An API server that fails each write but that of a status, and what was told there. */
function failing(status: number) {
  const failure = new KubeApiError(say`failed calling webhook "policy.example": connection refused`, { status })
  const said: unknown[] = []
  const client = {
    get: async () => undefined,
    apply: async ({ kind }: Resource, object: object, { subresource }: { readonly subresource?: string }) => {
      if (kind !== 'App' || subresource !== 'status') throw failure
      said.push((object as App).status)
      return object
    },
  } as unknown as KubeClient
  const apps = { get: () => app } as unknown as InformerPort<App>
  let nowMs = 0
  const clock = { wallMs: () => 0, monotonicMs: () => nowMs }
  const reconcile = reconcileApp({ client, clock, apps, leads: () => true, recorder: { record: () => undefined } })
  const tried = async (atMs: number) => {
    nowMs = atMs
    await expect(reconcile({ namespace: 'shops', name: 'worker' }, new AbortController().signal)).rejects.toBe(failure)
  }
  return { said, tried }
}

it('What fails at the API server is said in the status, and tried again', async () => {
  const { said, tried } = failing(500)
  await tried(0)
  const sentence = expect.stringContaining('failed calling webhook') as string
  const condition = (type: string) => expect.objectContaining({ type, status: 'False', message: sentence }) as object
  expect(said).toEqual([expect.objectContaining({ sentence, conditions: [condition('Ready'), condition('InStep')] })])
})

it.each([404, 409, 429, 503, 504])(
  'What passes most often is said once it has lasted for a minute: %i',
  async (status) => {
    const { said, tried } = failing(status)
    for (const atMs of [0, 30_000, 59_999]) await tried(atMs)
    expect(said).toEqual([])
    await tried(60_000)
    expect(said).toEqual([
      expect.objectContaining({ sentence: expect.stringContaining('failed calling webhook') as string }),
    ])
  },
)
