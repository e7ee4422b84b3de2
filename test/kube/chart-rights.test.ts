import { beforeAll, expect, it } from 'vitest'
import { events } from '#controller-runtime/events/event-recorder.ts'
import { leases } from '#controller-runtime/objects/lease.ts'
import { networkPolicies } from '#kube/objects/network-policy.ts'
import { podDisruptionBudgets } from '#kube/objects/disruption-budget.ts'
import { endpointSlices } from '#kube/primary/primary-endpoints.ts'
import { secrets } from '#kube/secrets/secrets.ts'
import { serviceAccounts } from '#kube/objects/service-account.ts'
import { services } from '#kube/objects/services.ts'
import { statefulSets } from '#kube/pods/stateful-set.ts'
import { describeCharts, ofKind, only, render, type Rendered, renderText, type Values } from './helm.ts'

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

const rulesOf = (role: Rendered) => role['rules'] as readonly Rule[]

/** `apps/statefulsets: get list`, and the names where the rule is about those alone. */
function rightsIn(role: Rendered): readonly string[] {
  return rulesOf(role).flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.map(
        (resource) =>
          `${group === '' ? '' : `${group}/`}${resource}${resourceNames ? ` ${resourceNames.join(' ')}` : ''}: ${verbs.join(' ')}`,
      ),
    ),
  )
}

const ofInstallation = [
  'apiextensions.k8s.io/customresourcedefinitions mysqlclusters.regent.dev mysqlbackups.regent.dev apps.apps.regent.dev: get',
  'admissionregistration.k8s.io/mutatingwebhookconfigurations regent: get patch',
  'admissionregistration.k8s.io/validatingwebhookconfigurations regent: get patch',
]
const ofClusters = [
  'regent.dev/mysqlclusters: get list watch patch',
  'regent.dev/mysqlclusters/status: get patch',
  'regent.dev/mysqlclusters/finalizers: update',
  'regent.dev/mysqlbackups: get list watch create delete',
  'regent.dev/mysqlbackups/status: patch',
  'apps.regent.dev/apps: get list watch create patch delete',
  'apps.regent.dev/apps/status: patch',
  'apps.regent.dev/apps/finalizers: update',
  'apps/deployments: get list watch create patch',
  'pods: get list watch patch delete',
  'apps/statefulsets: get list watch create patch',
  'persistentvolumeclaims: get list watch patch delete',
  'services: get list watch create patch delete',
  'serviceaccounts: get list watch create patch',
  'secrets: get list watch create patch',
  'configmaps: get list watch create patch delete',
  'discovery.k8s.io/endpointslices: get list watch create update delete',
  'endpoints: get delete',
  'policy/poddisruptionbudgets: get list watch create patch delete',
  'networking.k8s.io/networkpolicies: get list watch create patch delete',
  'events.k8s.io/events: create patch',
  'events: list watch patch',
  'workloads.kubeblocks.io/instancesets: get patch',
  'workloads.kubeblocks.io/instances: get patch',
]
const ofManagers = [
  'coordination.k8s.io/leases: create',
  'coordination.k8s.io/leases regent-manager: get update',
  'secrets: create',
  'configmaps: create',
  'secrets regent-certificates: get update',
  'configmaps regent-ca: get update',
]
const podMonitors = 'monitoring.coreos.com/podmonitors: get list watch create patch delete'

let objects: readonly Rendered[]
beforeAll(async () => {
  objects = await render('regent')
})

describeCharts('what the manager may do', () => {
  it('is this and nothing else, in every namespace', () => {
    expect(rightsIn(only(objects, 'ClusterRole'))).toEqual([...ofInstallation, ...ofClusters])
    expect(ofKind(objects, 'Role').map(rightsIn)).toEqual([ofManagers])
  })

  it('is in the watched namespaces the same, and elsewhere nothing', async () => {
    const watching = await render('regent', { watchNamespaces: ['shops', 'carts'] })
    const [definitions = '', ...webhooks] = ofInstallation
    expect(rightsIn(only(watching, 'ClusterRole'))).toEqual([definitions, 'namespaces shops carts: get', ...webhooks])
    expect(ofKind(watching, 'Role').map((role) => [role.metadata.namespace, rightsIn(role)])).toEqual([
      ['regent', ofManagers],
      ['shops', ofClusters],
      ['carts', ofClusters],
    ])
  })

  it('is given to its own account alone, each role once', async () => {
    for (const rendered of [objects, await render('regent', { watchNamespaces: ['shops'] })]) {
      const bindings = [...ofKind(rendered, 'ClusterRoleBinding'), ...ofKind(rendered, 'RoleBinding')]
      const roles = [...ofKind(rendered, 'ClusterRole'), ...ofKind(rendered, 'Role')]
      expect(
        bindings.map(
          ({ roleRef, metadata }) =>
            `${(roleRef as Values)['kind'] as string} ${metadata.namespace} ${(roleRef as Values)['name'] as string}`,
        ),
      ).toEqual(roles.map(({ kind, metadata }) => `${kind} ${metadata.namespace} ${metadata.name}`))
      for (const { subjects } of bindings)
        expect(subjects).toEqual([
          { kind: 'ServiceAccount', name: only(rendered, 'ServiceAccount').metadata.name, namespace: 'regent' },
        ])
    }
  })

  it.each([
    [{ monitoring: { podMonitors: true } }, [...ofInstallation, ...ofClusters, podMonitors]],
    [{ webhook: { lifecycleAgents: { enabled: false } } }, [...ofInstallation, ...ofClusters]],
    [{ webhook: { enabled: false } }, [...ofInstallation.slice(0, 1), ...ofClusters]],
    [{ webhook: { certManager: { enabled: true } } }, [...ofInstallation.slice(0, 1), ...ofClusters]],
    [
      {
        manager: {
          reconcile: { disabledCapabilities: ['networkPolicies', 'disruptionBudgets', 'events', 'podEvents'] },
        },
      },
      [...ofInstallation, ...ofClusters.slice(0, -6)],
    ],
    [
      { manager: { reconcile: { disabledCapabilities: ['podEvents'] } } },
      [...ofInstallation, ...ofClusters.slice(0, -3)],
    ],
  ])('follows what it is asked to do: %j', async (values, rights) => {
    expect(rightsIn(only(await render('regent', values), 'ClusterRole'))).toEqual(rights)
  })

  it('covers every kind that the code makes', () => {
    const all = [...ofKind(objects, 'ClusterRole'), ...ofKind(objects, 'Role')].flatMap(rulesOf)
    const may = (verb: string, group: string, plural: string) =>
      all.some(
        ({ apiGroups, resources, verbs }) =>
          apiGroups.includes(group) && resources.includes(plural) && verbs.includes(verb),
      )
    const made = [
      events,
      leases,
      networkPolicies,
      podDisruptionBudgets,
      endpointSlices,
      secrets,
      serviceAccounts,
      services,
      statefulSets,
    ]
    expect(made.filter(({ group, plural }) => !may('create', group, plural)).map(({ kind }) => kind)).toEqual([])
  })

  it('has a reason beside every rule, with each verb that changes something', async () => {
    const text = await renderText('regent', { monitoring: { podMonitors: true }, watchNamespaces: ['shops'] })
    const rules = [
      ...text.matchAll(
        /^(?<before>.*)\n *- apiGroups: .*\n(?: +(?:resources|resourceNames): .*\n)+ +verbs: \[(?<verbs>.*)\]/gm,
      ),
    ]
    expect(rules).toHaveLength(
      text.match(/- apiGroups: .*\n +resources: .*\n(?: +resourceNames.*\n)? +verbs:/g)?.length ?? 0,
    )
    for (const { groups: { before = '', verbs = '' } = {} } of rules) {
      expect(before).toMatch(/^ *# /)
      const changing = verbs.split(', ').filter((verb) => !['get', 'list', 'watch'].includes(verb))
      for (const verb of changing.length > 0 ? changing : verbs.split(', '))
        expect(before).toMatch(new RegExp(`\\b${verb}[:,]`))
    }
  })
})

describeCharts('accounts', () => {
  it('get a token only in the pods of managers', () => {
    expect(only(objects, 'ServiceAccount')['automountServiceAccountToken']).toBe(false)
    expect(only(objects, 'Deployment')['spec']).toMatchObject({
      template: { spec: { serviceAccountName: 'regent', automountServiceAccountToken: true } },
    })
    expect(only(objects, 'Pod')['spec']).toMatchObject({ automountServiceAccountToken: false })
  })

  it('take the annotations that bind them to somebody else’s', async () => {
    const annotations = { 'example.org/role': 'regent' }
    expect(
      only(await render('regent', { serviceAccount: { annotations } }), 'ServiceAccount').metadata.annotations,
    ).toEqual(annotations)
  })
})

describeCharts('the NetworkPolicy', () => {
  it('is made on demand, lets nobody to other ports, and to the metrics only who may read them', async () => {
    expect(ofKind(objects, 'NetworkPolicy')).toEqual([])
    const metricsFrom = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }]
    const policy = only(await render('regent', { networkPolicy: { enabled: true, metricsFrom } }), 'NetworkPolicy')[
      'spec'
    ]
    expect(policy).toMatchObject({
      policyTypes: ['Ingress'],
      ingress: [
        { ports: [{ port: 'api' }, { port: 'health' }, { port: 'webhook' }] },
        { ports: [{ port: 'metrics' }], from: metricsFrom },
      ],
    })
  })
})
