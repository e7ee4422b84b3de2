import { expect, it, onTestFinished } from 'vitest'
import type { KubeObject } from '#controller-runtime/objects/objects.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { mysqlClusters } from '#kube/spec/mysql-cluster.ts'
import { endpointSlices } from '#kube/primary/primary-endpoints.ts'
import { secrets } from '#kube/secrets/secrets.ts'
import { serviceAccountOf, serviceAccounts } from '#kube/objects/service-account.ts'
import { aCluster } from '#kube/testing.ts'
import { ask, clientWith, namespaces, tokenBearerOf, tokenOf } from './clients.ts'
import { onApiServer } from './on-api-server.ts'

interface Review extends KubeObject {
  readonly spec?: object
  readonly status?: {
    readonly allowed?: boolean
    readonly resourceRules?: readonly { readonly verbs: readonly string[]; readonly resources?: readonly string[] }[]
  }
}

onApiServer('The ServiceAccount of a cluster’s pods', (api) => {
  /** A token of the account, which no pod is ever given. */
  async function agentToken(): Promise<string> {
    const account = serviceAccountOf(aCluster({}, { namespace: api.namespace }))
    const made = await api.client.create(serviceAccounts, account)
    expect(made.automountServiceAccountToken).toBe(false)
    return tokenOf(api.access, { namespace: api.namespace, name: account.metadata.name })
  }

  /** What the API server answers to a review, which asks about whoever asks. */
  async function review(token: string, kind: string, spec: object): Promise<Review['status']> {
    const path = `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`
    const { body } = await ask(
      { ...api.access, token },
      { method: 'POST', path, body: { apiVersion: 'authorization.k8s.io/v1', kind, spec } },
    )
    return (body as Review).status
  }

  it('may do nothing with any kind of object, in its namespace and elsewhere', async () => {
    const token = await agentToken()
    const questions = ['get', 'list', 'create', 'patch', 'delete'].flatMap((verb) =>
      [
        ['', 'pods'],
        ['', 'pods/exec'],
        ['', 'secrets'],
        ['', 'configmaps'],
        ['', 'serviceaccounts/token'],
        ['', 'nodes/proxy'],
        ['apps', 'statefulsets'],
        ['coordination.k8s.io', 'leases'],
        ['discovery.k8s.io', 'endpointslices'],
        ['regent.dev', 'mysqlclusters'],
        ['regent.dev', 'mysqlclusters/status'],
        ['rbac.authorization.k8s.io', 'rolebindings'],
      ].map(([group, resource]) => ({ verb, group, resource })),
    )
    const allowed: object[] = []
    for (const namespace of [api.namespace, 'kube-system']) {
      for (const question of questions) {
        const status = await review(token, 'SelfSubjectAccessReview', {
          resourceAttributes: { ...question, namespace },
        })
        if (status?.allowed !== false) allowed.push({ ...question, namespace })
      }
    }
    expect(allowed).toEqual([])
  })

  it('has no more rules than anybody who can log in', async () => {
    const status = await review(await agentToken(), 'SelfSubjectRulesReview', { namespace: api.namespace })
    const rules = (status?.resourceRules ?? []).map(
      ({ verbs, resources = [] }) => `${verbs.join(',')} ${resources.join(',')}`,
    )
    expect(rules.sort()).toEqual([
      'create selfsubjectaccessreviews,selfsubjectrulesreviews',
      'create selfsubjectreviews',
    ])
  })

  it('is refused when it tries', async () => {
    const client = clientWith(tokenBearerOf(api.access, await agentToken()))
    onTestFinished(() => client.close())
    const forbidden = { status: 403, reason: 'Forbidden' }
    const key = { namespace: api.namespace, name: 'shop' }
    await expect(client.list(secrets, { namespace: api.namespace })).rejects.toMatchObject(forbidden)
    await expect(client.get(mysqlClusters, key)).rejects.toMatchObject(forbidden)
    await expect(
      client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...key } }),
    ).rejects.toMatchObject(forbidden)
    await expect(client.patch(endpointSlices, key, { endpoints: [] })).rejects.toMatchObject(forbidden)
    await expect(client.delete(namespaces, { namespace: '', name: api.namespace })).rejects.toMatchObject(forbidden)
  })
})
