import { expect, it } from 'vitest'
import { secrets } from '#kube/secrets/secrets.ts'
import type { StatefulSet } from '#kube/pods/stateful-set.ts'
import { ScriptedClient } from '#controller-runtime/testing-kube-client.ts'
import { refuseMissingSecrets, secretsOfPods } from './missing-secrets.ts'

const from = (name: string, optional?: boolean) => ({ name, ...(optional !== undefined && { optional }) })
const spec = {
  volumes: [
    { name: 'a', secret: { secretName: 'mounted' } },
    { name: 'b', secret: { secretName: 'perhaps', optional: true } },
    { name: 'c', projected: { sources: [{ secret: from('projected') }, { configMap: { name: 'map' } }] } },
    { name: 'd', emptyDir: {} },
  ],
  initContainers: [{ name: 'i', envFrom: [{ secretRef: from('all') }, { configMapRef: { name: 'map' } }] }],
  containers: [
    { name: 'c', env: [{ name: 'X', valueFrom: { secretKeyRef: { key: 'x', ...from('one') } } }] },
    { name: 'd', env: [{ name: 'Y', valueFrom: { secretKeyRef: { key: 'y', ...from('perhaps', true) } } }] },
  ],
}
const setOf = (template: object) =>
  ({
    ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { namespace: 'shops', name: 'shop' } },
    spec: { template: { spec: template } },
  }) as unknown as StatefulSet

it('Secrets without which a pod does not start are those that it mounts or takes variables from, and that are not optional', () => {
  expect([...secretsOfPods(spec)].sort()).toEqual(['all', 'mounted', 'one', 'projected'])
})

it('A container whose variables are a field with nothing behind needs none', () => {
  const container = { name: 'c', env: null, envFrom: null } as unknown as (typeof spec.containers)[0]
  expect([...secretsOfPods({ containers: [container] })]).toEqual([])
})

it('A Secret that is not there is named before any pod waits for it, unless pods need it already', async () => {
  const client = new ScriptedClient()
  const signal = new AbortController().signal
  const metadata = { namespace: 'shops', name: 'mounted' }
  await client.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata })
  const next = setOf(spec)
  await expect(refuseMissingSecrets(client, { next, before: undefined }, signal)).rejects.toThrow(
    /^Secret shops\/projected, shops\/one, shops\/all are not there, and the pods that the spec asks for cannot start without them: make them, or/,
  )
  const before = setOf({ ...spec, volumes: spec.volumes.slice(0, 2) })
  await expect(refuseMissingSecrets(client, { next, before }, signal)).rejects.toThrow(
    /^Secret shops\/projected is not there/,
  )
  await refuseMissingSecrets(client, { next, before: next }, signal)
})
