import { expect, it, onTestFinished } from 'vitest'
import type { KubeObject, Resource } from '../../src/controller-runtime/objects.ts'
import { configMaps } from '../../src/controller-runtime/testing-kinds.ts'
import { clientWith, userOf } from './clients.ts'
import { onApiServer } from './on-api-server.ts'

interface FlowObject extends KubeObject {
  readonly spec: object
}

const flowControl = { group: 'flowcontrol.apiserver.k8s.io', version: 'v1', namespaced: false }
const priorityLevels: Resource<FlowObject> = { ...flowControl, kind: 'PriorityLevelConfiguration', plural: 'prioritylevelconfigurations' }
const flowSchemas: Resource<FlowObject> = { ...flowControl, kind: 'FlowSchema', plural: 'flowschemas' }

onApiServer('A client that the API server’s own fairness turns away', (api) => {
  it('waits as long as it is asked to and is served then; where that is past its deadline, it is told', async () => {
    const name = api.namespace
    const apiVersion = 'flowcontrol.apiserver.k8s.io/v1'
    const limited = (shares: number) => ({ type: 'Limited', limited: { nominalConcurrencyShares: shares, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: { type: 'Reject' } } })
    await api.client.create(priorityLevels, { apiVersion, kind: 'PriorityLevelConfiguration', metadata: { name }, spec: limited(0) })
    const rules = [{ subjects: [{ kind: 'User', user: { name } }], resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true }] }]
    await api.client.create(flowSchemas, { apiVersion, kind: 'FlowSchema', metadata: { name }, spec: { priorityLevelConfiguration: { name }, matchingPrecedence: 100, rules } })
    const seen: string[] = []
    const client = clientWith(userOf(api.access, name), { onRequest: ({ code }) => void seen.push(code) })
    onTestFinished(() => client.close())
    const key = { namespace: api.namespace, name: 'a' }

    // Fairness takes note of new rules within moments.
    await expect.poll(() => client.get(configMaps, key, { deadlineMs: 900 }).catch((error: unknown) => error), { timeout: 20_000 }).toMatchObject({ status: 429, reason: 'TooManyRequests', retryAfterMs: 1_000 })
    seen.length = 0
    const asked = client.get(configMaps, key, { deadlineMs: 60_000 }).catch((error: unknown) => error)
    await expect.poll(() => seen, { timeout: 20_000 }).toEqual(['429', '429'])
    await api.client.patch(priorityLevels, { namespace: '', name }, { spec: limited(50) })
    // Served, which for this user is a refusal.
    expect(await asked).toMatchObject({ status: 403, reason: 'Forbidden' })
    expect(seen.slice(0, -1).every((code) => code === '429')).toBe(true)
  })
})
