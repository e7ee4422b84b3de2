import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { beforeAll, expect, it } from 'vitest'
import { regentVersion } from '#common/version.ts'
import { networkPolicyOf } from '#kube/objects/network-policy.ts'
import { aCluster } from '#kube/testing.ts'
import { fileWith } from '#local/testing.ts'
import { loadKubernetesOptions } from '#manager/options/load.ts'
import type { KubernetesManagerOptions } from '#manager/options/schema.ts'
import { findHelm } from './find-helm.ts'
import {
  chartFolder,
  configurationFileIn,
  configurationOf,
  describeCharts,
  lint,
  ofKind,
  only,
  refusalOf,
  render,
  type Rendered,
  renderNotes,
} from './helm.ts'
import { imagesIn, isSelected, podOf, podTemplates, restrictedComplaint } from './rendered-pods.ts'

type Mapping = Readonly<Record<string, unknown>>

let objects: readonly Rendered[]
beforeAll(async () => {
  objects = await render('regent')
})

describeCharts('helm', () => {
  it('is said to be missing, and where to get it', async () => {
    await expect(findHelm({ PATH: '/nowhere', REGENT_KUBE_HOME: '/nowhere' })).rejects.toThrow('npm run kube -- build')
    await expect(findHelm({ PATH: '/bin', REGENT_HELM: '/nowhere/helm' })).rejects.toThrow(
      'REGENT_HELM is /nowhere/helm',
    )
  })
})

describeCharts('the chart that installs the manager', () => {
  it.each<Mapping>([
    {},
    { watchNamespaces: ['2024', 'on'], monitoring: { monitor: 'ServiceMonitor' } },
    { webhook: { certManager: { enabled: true } }, monitoring: { monitor: 'PodMonitor' } },
  ])('names everything in texts, also in namespace 2024 as release 1e3, with %j', async (values) => {
    const all = await render('regent', values, { release: '1e3', namespace: '2024' })
    expect(all.length).toBeGreaterThan(10)
    expect(all.flatMap((object) => notTexts(object, object.kind ?? ''))).toEqual([])
  })

  it('is what helm calls a good chart', async () => {
    expect(await lint('regent')).toMatchObject({
      ok: true,
      stdout: expect.stringContaining('0 chart(s) failed') as string,
    })
  })

  it('has the version of the program that it installs', async () => {
    expect(parse(await readFile(join(chartFolder('regent'), 'Chart.yaml'), 'utf8'))).toMatchObject({
      version: regentVersion,
      appVersion: regentVersion,
    })
  })

  it('labels all it makes, but for the definition that is generated', () => {
    const unlabelled = objects.filter(
      ({ kind, metadata }) =>
        kind !== 'CustomResourceDefinition' &&
        !['name', 'instance', 'version', 'managed-by'].every(
          (label) => metadata.labels?.[`app.kubernetes.io/${label}`],
        ),
    )
    expect(unlabelled.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([])
  })

  it('keeps the definitions when it is uninstalled: the clusters would go with them', () => {
    const definitions = ofKind(objects, 'CustomResourceDefinition')
    expect(definitions.map(({ metadata }) => metadata.name).sort()).toEqual([
      'apps.apps.regent.dev',
      'mysqlbackups.regent.dev',
      'mysqlclusters.regent.dev',
    ])
    for (const { metadata } of definitions)
      expect(metadata.annotations).toMatchObject({ 'helm.sh/resource-policy': 'keep' })
  })

  it('makes what scripts rely on under the same names in every release', async () => {
    const other = await render('regent', {}, { release: 'prod-7', namespace: 'databases' })
    expect(only(other, 'Service', 'regent')['spec']).toMatchObject({ ports: [{ port: 443, targetPort: 'api' }] })
    expect(only(other, 'Service', 'regent-webhook')['spec']).toMatchObject({
      ports: [{ port: 443, targetPort: 'webhook' }],
    })
    expect(tokenOf(only(other, 'Secret', 'regent-api'))).toMatch(/^[A-Za-z0-9]{48}$/)
    expect(
      other.filter(({ metadata }) => metadata.namespace !== undefined && metadata.namespace !== 'databases'),
    ).toEqual([])
  })

  it('leads its Services to ports that the managers have, and to no other pod', () => {
    const { labels, spec } = podOf(only(objects, 'Deployment'))
    const ports = new Map(spec.containers[0]?.ports?.map(({ name, containerPort }) => [name, containerPort]))
    const reached = ofKind(objects, 'Service').flatMap((service) => {
      const { selector, ports: offered } = service['spec'] as {
        readonly selector: Mapping
        readonly ports: readonly { readonly port: number; readonly targetPort: string }[]
      }
      expect(isSelected(labels, selector)).toBe(true)
      expect(isSelected(only(objects, 'Pod').metadata.labels ?? {}, selector)).toBe(false)
      return offered.map(({ port, targetPort }) => `${service.metadata.name}:${port} → ${ports.get(targetPort)}`)
    })
    expect(reached).toEqual(['regent:443 → 9500', 'regent-metrics:8080 → 8080', 'regent-webhook:443 → 9443'])
  })

  it('labels managers as the NetworkPolicy of a cluster expects them', () => {
    const managers = networkPolicyOf(aCluster(), 'regent')
      .spec.ingress.flatMap(({ from = [] }) => from)
      .find(({ namespaceSelector }) => namespaceSelector !== undefined)
    expect(
      isSelected(podOf(only(objects, 'Deployment')).labels, managers?.podSelector?.matchLabels ?? { missing: '' }),
    ).toBe(true)
  })

  it('runs two managers on different nodes where it can, and one of them through every drain and update', () => {
    const { labels, spec } = podOf(only(objects, 'Deployment'))
    expect(only(objects, 'Deployment')['spec']).toMatchObject({
      replicas: 2,
      strategy: { rollingUpdate: { maxUnavailable: 0 } },
    })
    expect(spec.affinity).toMatchObject({
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { podAffinityTerm: { topologyKey: 'kubernetes.io/hostname' } },
        ],
      },
    })
    const budget = only(objects, 'PodDisruptionBudget')['spec'] as {
      readonly maxUnavailable: number
      readonly selector: { readonly matchLabels: Mapping }
    }
    expect(budget.maxUnavailable).toBe(1)
    expect(isSelected(labels, budget.selector.matchLabels)).toBe(true)
  })

  it('never has both managers on one node while another takes pods, and gives up a lost node within seconds', async () => {
    const { labels, spec } = podOf(only(objects, 'Deployment'))
    const [constraint, ...others] = spec['topologySpreadConstraints'] as readonly {
      readonly labelSelector: { readonly matchLabels: Mapping }
    }[]
    expect(others).toEqual([])
    const wanted = {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'DoNotSchedule',
      matchLabelKeys: ['pod-template-hash'],
    }
    expect(constraint).toMatchObject({ ...wanted, nodeTaintsPolicy: 'Honor' })
    expect(isSelected(labels, constraint?.labelSelector.matchLabels ?? { missing: '' })).toBe(true)
    const ours = ['not-ready', 'unreachable'].map((taint) => ({
      ...{ key: `node.kubernetes.io/${taint}`, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 10 },
    }))
    expect(spec['tolerations']).toEqual(ours)
    const own = { key: 'dedicated', operator: 'Exists' }
    const given = await render('regent', { tolerations: [own], topologySpreadConstraints: [{ maxSkew: 2 }] })
    expect(podOf(only(given, 'Deployment')).spec).toMatchObject({
      tolerations: [own, ...ours],
      topologySpreadConstraints: [{ maxSkew: 2 }],
    })
  })

  it('starts the managers anew when their configuration changes, and only then', async () => {
    const checksumOf = (rendered: readonly Rendered[]) =>
      podOf(only(rendered, 'Deployment')).annotations['checksum/config']
    expect(checksumOf(await render('regent', { replicas: 3 }))).toBe(checksumOf(objects))
    expect(checksumOf(await render('regent', { manager: { log: { level: 'debug' } } }))).not.toBe(checksumOf(objects))
  })

  it('has pods of the restricted level with a file system that nobody writes to', () => {
    const pods = podTemplates(objects)
    expect(pods.map(({ name }) => name)).toEqual(['Deployment regent', 'Pod regent-test'])
    expect(pods.map(restrictedComplaint)).toEqual(['', ''])
  })

  it('mounts what its pods name, from what it makes itself or the manager does', () => {
    for (const { spec } of podTemplates(objects)) {
      expect(spec.containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name))).toEqual(
        spec.volumes?.map(({ name }) => name),
      )
    }
    const { volumes = [] } = podOf(only(objects, 'Deployment')).spec
    expect(volumes).toMatchObject([
      { configMap: { name: 'regent' } },
      { secret: { secretName: 'regent-api', defaultMode: 0o440 } },
      { emptyDir: {} },
    ])
  })

  it('says in the notes what to do next', async () => {
    const notes = await renderNotes(
      'regent',
      { watchNamespaces: ['shops'], api: { createSecret: false } },
      { release: 'prod', namespace: 'db' },
    )
    expect(notes).toContain('Regent 0.1.0 manages clusters in shops.')
    expect(notes).toContain('helm -n db test prod')
    expect(notes).toContain('kubectl apply -n shops -f - <<EOF')
    expect(notes).toContain('Managers start once Secret "regent-api" is there')
    expect(await renderNotes('regent')).toContain('kubectl apply -f - <<EOF')
  })
})

describeCharts('images', () => {
  it('name neither a registry nor "latest" unless told to', () => {
    const images = imagesIn(objects)
    expect(images).toContain(`regent:${regentVersion}`)
    for (const image of images) expect(image).toMatch(/^[a-z-]+:[0-9]+\.[0-9]+\.[0-9]+$/)
  })

  it('come from the registry that is named, but for one that names its own', async () => {
    const image = { registry: 'mirror.example.org:5000/team', digest: `sha256:${'0a'.repeat(32)}` }
    const mirrored = configurationOf(await render('regent', { image }))['images']
    expect(mirrored).toEqual({
      regent: `mirror.example.org:5000/team/regent@sha256:${'0a'.repeat(32)}`,
      mysql: 'mirror.example.org:5000/team/mysql:9.7.4',
      pullPolicy: 'IfNotPresent',
    })
    const own = configurationOf(await render('regent', { image, mysql: { image: 'images.example.org/mysql:9.7.4' } }))[
      'images'
    ]
    expect(own).toMatchObject({ mysql: 'images.example.org/mysql:9.7.4' })
  })
})

describeCharts('the configuration file', () => {
  it('is what the manager would take by itself, but for where things are', async () => {
    const images = { mysql: 'mysql:9.7.4', regent: `regent:${regentVersion}` }
    const byItself = await loadKubernetesOptions({ flags: new Map([['--images-regent', images.regent]]), env: {} })
    expect(await optionsIn(objects)).toEqual({
      ...byItself,
      images: { ...images, pullPolicy: 'IfNotPresent' },
      reconcile: { ...byItself.reconcile, disabledCapabilities: ['podMonitors'] },
      leaderElection: { ...byItself.leaderElection, namespace: 'regent' },
      api: { ...byItself.api, tokenFile: '/run/regent/api/token' },
      log: { ...byItself.log, pretty: false },
    })
  })

  it('says what the values say, in a form that the manager takes', async () => {
    const manager = {
      reconcile: { applyOnce: 'on', disabledCapabilities: ['events'] },
      leaderElection: { retrySeconds: 1 },
      log: { level: 'silent', file: '/var/log/regent/manager.log' },
      profiling: { address: ':6060' },
    }
    const options = await optionsIn(
      await render('regent', {
        manager,
        watchNamespaces: ['shops'],
        listenAddress: '::',
        monitoring: { podMonitors: true },
        webhook: { certManager: { enabled: true } },
      }),
    )
    expect(options).toMatchObject({
      ...manager,
      watch: { namespaces: ['shops'] },
      api: { host: '::' },
      webhook: { host: '::', certificateFolder: '/run/regent/webhook' },
    })
  })

  it('is mounted where the manager is told to read it', () => {
    const [manager] = podOf(only(objects, 'Deployment')).spec.containers
    expect(manager?.args).toEqual(['manager', '--config', '/etc/regent/manager.yaml'])
    expect(manager?.volumeMounts).toContainEqual({ name: 'config', mountPath: '/etc/regent', readOnly: true })
    expect(Object.keys(only(objects, 'ConfigMap', 'regent')['data'] as Mapping)).toEqual(['manager.yaml'])
  })

  it('gets a folder to write to where the log goes to a file', async () => {
    const { spec } = podOf(
      only(await render('regent', { manager: { log: { file: '/var/log/regent/manager.log' } } }), 'Deployment'),
    )
    expect(spec.containers[0]?.volumeMounts).toContainEqual({ name: 'logs', mountPath: '/var/log/regent' })
  })
})

describeCharts('an upgrade', () => {
  it('keeps the token of the API and the authority of the webhooks', async () => {
    const webhooks = [{ name: 'any', clientConfig: { caBundle: 'b2xk' } }]
    const upgraded = await renderBeside({
      '/api/v1': resources('v1', { name: 'secrets', kind: 'Secret', namespaced: true }),
      '/apis/admissionregistration.k8s.io/v1': resources(
        'admissionregistration.k8s.io/v1',
        { name: 'mutatingwebhookconfigurations', kind: 'MutatingWebhookConfiguration', namespaced: false },
        { name: 'validatingwebhookconfigurations', kind: 'ValidatingWebhookConfiguration', namespaced: false },
      ),
      '/api/v1/namespaces/regent/secrets/regent-api': { apiVersion: 'v1', kind: 'Secret', data: { token: 'a2VwdA==' } },
      '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/regent': {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingWebhookConfiguration',
        webhooks,
      },
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/regent': {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        webhooks,
      },
    })
    expect(tokenOf(only(upgraded, 'Secret', 'regent-api'))).toBe('kept')
    const kept = { clientConfig: { caBundle: 'b2xk' } }
    expect(only(upgraded, 'MutatingWebhookConfiguration')['webhooks']).toMatchObject([kept, kept, kept])
    expect(only(upgraded, 'ValidatingWebhookConfiguration')['webhooks']).toMatchObject([kept, kept, kept])
  })

  it('leaves a Secret alone that somebody else makes', async () => {
    expect(ofKind(await render('regent', { api: { createSecret: false } }), 'Secret')).toEqual([])
  })
})

describeCharts('nonsense', () => {
  it.each([
    [{ replica: 3 }, "additional properties 'replica' not allowed"],
    [{ replicas: 0 }, "at '/replicas': minimum: got 0, want 1"],
    [{ image: { tag: 'latest' } }, "at '/image/tag'"],
    [{ image: { digest: 'sha256:short' } }, "at '/image/digest'"],
    [{ mysql: { image: 'mysql' } }, "at '/mysql/image'"],
    [{ watchNamespaces: ['Shops'] }, "at '/watchNamespaces/0'"],
    [{ watchNamespaces: 'shops' }, "at '/watchNamespaces': got string, want array"],
    [
      { manager: { reconcile: { applyOnce: false } } },
      "at '/manager/reconcile/applyOnce': value must be one of 'off', 'on', 'force'",
    ],
    [
      { manager: { reconcile: { disabledCapabilities: ['failover'] } } },
      "at '/manager/reconcile/disabledCapabilities/0'",
    ],
    [{ manager: { leaderElection: { leaseSeconds: 1.5 } } }, "at '/manager/leaderElection/leaseSeconds'"],
    [{ manager: { log: { file: '/etc/passwd' } } }, "at '/manager/log/file'"],
    [{ manager: { api: { port: 1 } } }, "additional properties 'api' not allowed"],
    [{ webhook: { lifecycleAgents: { enabled: 'yes' } } }, "at '/webhook/lifecycleAgents/enabled'"],
    [{ webhook: { failurePolicy: 'Block' } }, "at '/webhook/failurePolicy'"],
    [
      { webhook: { certManager: { enabled: true, issuerRef: { kind: 'ClusterIssuer' } } } },
      "at '/webhook/certManager/issuerRef'",
    ],
    [{ monitoring: { monitor: 'Both' } }, "at '/monitoring/monitor'"],
  ])('such as %j is refused', async (values, complaint) => {
    expect(await refusalOf('regent', values)).toContain(complaint)
  })

  it('finds no value that is checked and not written down', async () => {
    const values = parse(await readFile(join(chartFolder('regent'), 'values.yaml'), 'utf8')) as Mapping
    const schema = JSON.parse(await readFile(join(chartFolder('regent'), 'values.schema.json'), 'utf8')) as Schema
    expect(missingKeys(schema, values)).toEqual(['global'])
  })
})

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
}

function missingKeys({ properties = {} }: Schema, values: Mapping, path = ''): readonly string[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    if (!(key in values)) return [`${path}${key}`]
    const inner = values[key]
    // An empty mapping takes what Kubernetes or cert-manager take.
    return typeof inner === 'object' &&
      inner !== null &&
      !Array.isArray(inner) &&
      Object.keys(inner).length > 0 &&
      path + key !== 'resources'
      ? missingKeys(schema, inner as Mapping, `${path}${key}.`)
      : []
  })
}

/** As the manager reads the file that the chart writes. */
async function optionsIn(rendered: readonly Rendered[]): Promise<KubernetesManagerOptions> {
  return loadKubernetesOptions({ flags: new Map(), env: {}, file: await fileWith(configurationFileIn(rendered)) })
}

function tokenOf(secret: Rendered): string {
  return Buffer.from((secret['data'] as Readonly<Record<string, string>>)['token'] ?? '', 'base64').toString()
}

function resources(
  groupVersion: string,
  ...kinds: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[]
) {
  return {
    apiVersion: 'v1',
    kind: 'APIResourceList',
    groupVersion,
    resources: kinds.map((kind) => ({ ...kind, singularName: '', verbs: ['get'] })),
  }
}

/** With an API server that answers these paths, and nothing else. */
async function renderBeside(answers: Readonly<Record<string, unknown>>): Promise<readonly Rendered[]> {
  const folder = await mkdtemp(join(tmpdir(), 'regent-chart-'))
  const server = createServer(({ url = '' }, response) => {
    const found = answers[url.split('?')[0] ?? '']
    const body = found ?? { apiVersion: 'v1', kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404 }
    response
      .writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const kubeconfig = join(folder, 'kubeconfig')
    const context = { name: 'test', context: { cluster: 'test', user: 'test' } }
    const cluster = { name: 'test', cluster: { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } }
    await writeFile(
      kubeconfig,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'test',
        contexts: [context],
        clusters: [cluster],
        users: [{ name: 'test', user: {} }],
      }),
    )
    return await render('regent', {}, { kubeconfig })
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rm(folder, { recursive: true })
  }
}

/** Where a name, a namespace, a label or an annotation is a number or a yes to whoever reads YAML. */
function notTexts(value: unknown, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) => {
    const isText = /(^|\.)(labels|annotations|matchLabels)$/.test(path) || /^(name|namespace|host)$/.test(key)
    const here = `${path}.${key}`
    return isText && !['string', 'object'].includes(typeof inner) ? [here] : notTexts(inner, here)
  })
}
