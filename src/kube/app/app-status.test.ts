import { expect, it } from 'vitest'
import { Value } from 'typebox/value'
import type { Pod } from '../pods/stateful-set.ts'
import type { App } from './app.ts'
import { deploymentOf } from './app-objects.ts'
import { appSpecSchema, type AppSpec, type AppStatus } from './app-schema.ts'
import { appStatusOf } from './app-status.ts'

const wallMs = Date.parse('2026-11-27T12:00:00Z')

function anApp(status?: AppStatus): App {
  return {
    apiVersion: 'apps.regent.dev/v1',
    kind: 'App',
    metadata: { name: 'web', namespace: 'shops', uid: 'u1', generation: 4 },
    spec: Value.Default(appSpecSchema, { image: 'web:1', replicas: 2 }) as AppSpec,
    ...(status && { status }),
  }
}

function statusOf(counts: object, { app = anApp(), pods = [] as readonly Pod[], trouble = '' } = {}) {
  const made = deploymentOf(app)
  const deployment = { ...made, metadata: { ...made.metadata, generation: 3 }, status: counts }
  return appStatusOf({ app, deployment, service: undefined, pods, trouble, wallMs })
}
const isReady = (status: AppStatus) => status.conditions?.find(({ type }) => type === 'Ready')?.status
const all = { observedGeneration: 3, replicas: 2, availableReplicas: 2, updatedReplicas: 2, readyReplicas: 2 }

it.each([
  ['all there', all, 'True'],
  ['the Deployment’s controller has not looked at the newest spec', { ...all, observedGeneration: 2 }, 'False'],
  ['one pod is of the spec before', { ...all, updatedReplicas: 1 }, 'False'],
  ['a pod of the spec before is still there', { ...all, replicas: 3 }, 'False'],
  ['one pod is not ready', { ...all, availableReplicas: 1 }, 'False'],
])('an App is ready only when nothing is missing: %s', (_, counts, expected) => {
  expect(isReady(statusOf(counts))).toBe(expected)
})

it('tells what Kubernetes says of a pod', () => {
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-1' },
    status: { containerStatuses: [{ name: 'app', state: { waiting: { reason: 'ImagePullBackOff' } } }] },
  }
  const { sentence, conditions } = statusOf({ ...all, availableReplicas: 1 }, { pods: [pod] })
  expect(sentence).toBe(
    '1 of 2 pods ready, 2 of the newest spec: web-1: container app of its pod waits: ImagePullBackOff',
  )
  expect(conditions?.[0]?.reason).toBe('PodsNotReady')
})

it('says first why the spec is not followed', () => {
  const { sentence, conditions } = statusOf(all, { trouble: 'two ports have the same number' })
  expect(sentence).toBe('two ports have the same number')
  expect(conditions?.map(({ type, status }) => [type, status])).toEqual([
    ['Ready', 'True'],
    ['InStep', 'False'],
  ])
})

it('keeps the time of a condition that stays as it was', () => {
  const before = statusOf(all)
  const later = { ...before, conditions: before.conditions?.map((one) => ({ ...one, lastTransitionTime: 'then' })) }
  const now = statusOf({ ...all, availableReplicas: 1 }, { app: anApp(later as AppStatus) })
  expect(now.conditions?.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual(['2026-11-27T12:00:00Z', 'then'])
})
