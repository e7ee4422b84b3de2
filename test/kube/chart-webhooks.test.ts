import { beforeAll, expect, it } from 'vitest'
import { asks } from '#kube/injection/marks.ts'
import { configurationOf, describeCharts, ofKind, only, render, type Rendered } from './helm.ts'
import { podOf } from './rendered-pods.ts'

type Mapping = Readonly<Record<string, unknown>>

let objects: readonly Rendered[]
beforeAll(async () => {
  objects = await render('regent')
})

describeCharts('webhooks', () => {
  const kinds = ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration']
  const webhooksOf = (rendered: readonly Rendered[]) =>
    kinds.map((kind) => (only(rendered, kind, 'regent')['webhooks'] as readonly Mapping[])[0])

  it('never block anybody while no manager answers, and trust nobody before the manager says whom', () => {
    const clientConfig = (path: string) => ({
      service: { name: 'regent-webhook', namespace: 'regent', port: 443, path },
    })
    expect(webhooksOf(objects)).toMatchObject([
      { failurePolicy: 'Ignore', timeoutSeconds: 5, sideEffects: 'None' },
      { failurePolicy: 'Ignore', timeoutSeconds: 5, sideEffects: 'NoneOnDryRun' },
    ])
    expect(webhooksOf(objects).map((webhook) => webhook?.['clientConfig'])).toEqual([
      clientConfig('/mutate/mysqlclusters'),
      clientConfig('/validate/mysqlclusters'),
    ])
  })

  it('are asked about clusters of watched namespaces only', async () => {
    const selector = {
      matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: ['shops', 'carts'] }],
    }
    expect(webhooksOf(await render('regent', { watchNamespaces: ['shops', 'carts'] }))).toMatchObject([
      { namespaceSelector: selector },
      { namespaceSelector: selector },
    ])
    expect(webhooksOf(objects)[0]).not.toHaveProperty('namespaceSelector')
  })

  it('are asked about Apps', () => {
    for (const kind of kinds) {
      const hooks = only(objects, kind, 'regent')['webhooks'] as readonly Mapping[]
      expect(hooks.find(({ name }) => String(name).endsWith('.apps.apps.regent.dev'))).toMatchObject({
        clientConfig: { service: { path: kind.startsWith('Mutating') ? '/mutate/apps' : '/validate/apps' } },
        rules: [{ apiGroups: ['apps.regent.dev'], resources: ['apps'], operations: ['CREATE', 'UPDATE'] }],
      })
    }
  })

  it('are asked about pods that want the lifecycle agent, and never block a pod', async () => {
    const podWebhook = (rendered: readonly Rendered[]) =>
      (only(rendered, 'MutatingWebhookConfiguration', 'regent')['webhooks'] as readonly Mapping[])[2]
    const strict = await render('regent', { webhook: { failurePolicy: 'Fail' }, watchNamespaces: ['shops'] })
    expect(podWebhook(strict)).toMatchObject({
      clientConfig: { service: { name: 'regent-webhook', path: '/mutate/pods' } },
      rules: [{ apiGroups: [''], resources: ['pods'], operations: ['CREATE'] }],
      matchConditions: [{ expression: expect.stringContaining(asks.inject) as string }],
      namespaceSelector: { matchExpressions: [{ values: ['shops'] }] },
      failurePolicy: 'Ignore',
      sideEffects: 'None',
      reinvocationPolicy: 'IfNeeded',
    })
    expect(podWebhook(objects)).not.toHaveProperty('namespaceSelector')
    expect(podWebhook(await render('regent', { webhook: { lifecycleAgents: { enabled: false } } }))).toBeUndefined()
  })

  it('leave nothing behind where they are switched off', async () => {
    const without = await render('regent', { webhook: { enabled: false, certManager: { enabled: true } } })
    expect(without.filter(({ kind, metadata }) => kinds.includes(kind) || metadata.name.includes('webhook'))).toEqual(
      [],
    )
    expect(podOf(only(without, 'Deployment')).spec.containers[0]?.ports?.map(({ name }) => name)).toEqual([
      'api',
      'metrics',
      'health',
    ])
    expect(configurationOf(without)['webhook']).toMatchObject({ enabled: false, certificateFolder: '' })
  })

  it('get their certificate from cert-manager where it is asked to make it', async () => {
    const certified = await render('regent', { webhook: { certManager: { enabled: true } } })
    const secretName = 'regent-webhook-certificate'
    expect(only(certified, 'Certificate')['spec']).toMatchObject({
      secretName,
      dnsNames: ['regent-webhook.regent.svc', 'regent-webhook.regent.svc.cluster.local'],
      issuerRef: { kind: 'Issuer', name: only(certified, 'Issuer').metadata.name },
    })
    for (const kind of kinds)
      expect(only(certified, kind).metadata.annotations).toEqual({
        'cert-manager.io/inject-ca-from': `regent/${only(certified, 'Certificate').metadata.name}`,
      })
    const { spec } = podOf(only(certified, 'Deployment'))
    expect(spec.volumes).toContainEqual({
      name: 'webhook-certificate',
      secret: { secretName, defaultMode: 0o440, optional: true },
    })
    expect(spec.containers[0]?.volumeMounts).toContainEqual({
      name: 'webhook-certificate',
      mountPath: (configurationOf(certified)['webhook'] as Mapping)['certificateFolder'],
      readOnly: true,
    })
  })

  it('take an issuer that is there already', async () => {
    const issuerRef = { kind: 'ClusterIssuer', name: 'company' }
    const certified = await render('regent', { webhook: { certManager: { enabled: true, issuerRef } } })
    expect(only(certified, 'Certificate')['spec']).toMatchObject({ issuerRef })
    expect(ofKind(certified, 'Issuer')).toEqual([])
  })
})
