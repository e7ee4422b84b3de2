import { expect, it } from 'vitest'
import { realRandom } from '#common/ports/real-world.ts'
import { apiVersionOf, type KubeObject, type Resource } from '#controller-runtime/objects/objects.ts'
import { applyObject } from '#controller-runtime/changes/server-side-apply.ts'
import { disruptionBudgetOf, podDisruptionBudgets } from '#kube/objects/disruption-budget.ts'
import { mysqlClusters, type MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { fieldManager } from '#kube/names/names.ts'
import { networkPolicies, networkPolicyOf } from '#kube/objects/network-policy.ts'
import { secrets, secretsOf } from '#kube/secrets/secrets.ts'
import { serviceAccountOf, serviceAccounts } from '#kube/objects/service-account.ts'
import { services, servicesOf } from '#kube/objects/services.ts'
import { ask } from './clients.ts'
import { onApiServer } from './on-api-server.ts'

onApiServer('What a cluster becomes', (api) => {
  const cluster = (spec: object) =>
    api.client.create(mysqlClusters, {
      apiVersion: 'regent.dev/v1alpha1',
      kind: 'MySQLCluster',
      metadata: { name: 'shop', namespace: api.namespace },
      spec: { storage: { size: '1Gi' }, ...spec } as MySQLCluster['spec'],
    })
  const objectsOf = (of: MySQLCluster): readonly (readonly [Resource, KubeObject])[] => [
    ...servicesOf(of).map((object) => [services, object] as const),
    ...secretsOf(of, new Map(), realRandom).map((object) => [secrets, object] as const),
    [serviceAccounts, serviceAccountOf(of)],
    [podDisruptionBudgets, disruptionBudgetOf(of)],
    [networkPolicies, networkPolicyOf(of, 'regent')],
  ]

  it.each<[spec: object]>([
    [{}],
    [
      {
        services: {
          routing: 'labels',
          primary: { type: 'NodePort', port: 3307 },
          replicas: {
            type: 'LoadBalancer',
            loadBalancerClass: 'example.org/l4',
            loadBalancerSourceRanges: ['10.0.0.0/8'],
            annotations: { 'example.org/lb': 'internal' },
          },
        },
      },
    ],
  ])('for the spec %j is taken by the strictest check, without an unknown field', async (spec) => {
    for (const [resource, object] of objectsOf(await cluster(spec))) {
      const path = `/${resource.group === '' ? 'api' : 'apis'}/${apiVersionOf(resource)}/namespaces/${api.namespace}/${resource.plural}?fieldValidation=Strict&dryRun=All`
      const { status, body } = await ask(api.access, { method: 'POST', path, body: object })
      expect([status, object.kind, object.metadata.name, status === 201 || body]).toEqual([
        201,
        object.kind,
        object.metadata.name,
        true,
      ])
    }
  })

  it('is written once: applied again nothing changes, so that nobody is woken by it', async () => {
    // Secrets stay where the volumes do, without an owner.
    for (const [resource, object] of objectsOf(await cluster({ volumes: { whenDeleted: 'Delete' } }))) {
      const made = await applyObject(api.client, resource, object, { fieldManager })
      const again = await applyObject(api.client, resource, object, { fieldManager })
      expect([object.kind, object.metadata.name, again.metadata.resourceVersion]).toEqual([
        object.kind,
        object.metadata.name,
        made.metadata.resourceVersion,
      ])
      expect(made.metadata.ownerReferences).toMatchObject([{ kind: 'MySQLCluster', name: 'shop', controller: true }])
    }
  })

  it('follows the spec: a Service goes from one type to another and back', async () => {
    const of = await cluster({})
    const [primary] = servicesOf(of)
    const applied = (type: 'ClusterIP' | 'LoadBalancer') => {
      const asked = servicesOf({
        ...of,
        spec: {
          ...of.spec,
          services: {
            ...of.spec.services,
            primary: { ...of.spec.services.primary, type, loadBalancerClass: 'example.org/l4' },
          },
        },
      })[0]
      return applyObject(api.client, services, asked ?? expect.fail('no Service'), { fieldManager })
    }
    expect(primary?.metadata.name).toBe('shop-primary')
    expect((await applied('ClusterIP')).spec.type).toBe('ClusterIP')
    expect((await applied('LoadBalancer')).spec).toMatchObject({
      type: 'LoadBalancer',
      loadBalancerClass: 'example.org/l4',
    })
    const { spec } = await applied('ClusterIP')
    expect(spec.type).toBe('ClusterIP')
    expect(spec.loadBalancerClass).toBeUndefined()
    expect(spec.ports?.[0]).not.toHaveProperty('nodePort')
  })
})
