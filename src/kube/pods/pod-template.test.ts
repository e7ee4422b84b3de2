import type { V1Container } from '@kubernetes/client-node'
import { describe, expect, it } from 'vitest'
import { podPaths } from '../objects/agent-config.ts'
import { podRevisionOf, podTemplateOf } from './pod-template.ts'
import { aCluster, testImages } from '../testing.ts'

const images = testImages
const templateOf = (spec: object = {}) => podTemplateOf(aCluster(spec), images)
const specOfPod = (spec: object = {}) => templateOf(spec).spec ?? expect.fail('no spec')
const containersOf = (spec: object = {}): readonly V1Container[] => [
  ...(specOfPod(spec).initContainers ?? []),
  ...specOfPod(spec).containers,
]
const container = (name: string, spec: object = {}) =>
  containersOf(spec).find((one) => one.name === name) ?? expect.fail(`no container ${name}`)
const mountsOf = (name: string) => container(name).volumeMounts?.map((mount) => mount.mountPath)
const revisionOf = (spec: object = {}, image = images.mysql) => podRevisionOf(aCluster(spec), image)

describe('a pod of a cluster', () => {
  it.each([
    [undefined, { requests: { cpu: '100m', memory: '512Mi' } }],
    [{}, { requests: { cpu: '100m', memory: '512Mi' } }],
    [{ limits: { memory: '64Mi' } }, { limits: { memory: '64Mi' }, requests: { cpu: '100m' } }],
    [{ requests: { cpu: '0' } }, { requests: { cpu: '0', memory: '512Mi' } }],
  ])('asks for processor and memory where nobody says how much: %j', (resources, asked) => {
    expect(container('mysql', { ...(resources && { resources }) }).resources).toEqual(asked)
  })

  it('keeps the restricted Pod Security Standard in all of its containers', () => {
    expect(specOfPod().securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    })
    const restricted = {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    }
    expect(containersOf().map(({ name, securityContext }) => [name, securityContext])).toEqual(
      ['launcher', 'agent', 'mysql'].map((name) => [name, restricted]),
    )
  })

  it('has no volume of the node’s', () => {
    expect(
      specOfPod()
        .volumes?.flatMap(({ name: _name, ...source }) => Object.keys(source))
        .filter((kind) => !['emptyDir', 'configMap', 'secret'].includes(kind)),
    ).toEqual([])
  })

  it('has neither a token of the API server nor the cluster’s Services in its environment', () => {
    expect(specOfPod()).toMatchObject({
      serviceAccountName: 'shop-agents',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
    })
  })

  it('runs agent and mysqld as the same user, who sees both processes and may signal mysqld', () => {
    const { securityContext, shareProcessNamespace } = specOfPod()
    expect(shareProcessNamespace).toBe(true)
    expect(securityContext).toMatchObject({ runAsUser: 65_532, runAsGroup: 65_532, fsGroup: 65_532 })
    expect(containersOf().filter((one) => one.securityContext?.runAsUser !== undefined)).toEqual([])
  })

  it('starts the agent before mysqld and ends it after, once the launcher is where both see it', () => {
    expect(specOfPod().initContainers?.map(({ name, restartPolicy }) => [name, restartPolicy])).toEqual([
      ['launcher', undefined],
      ['agent', 'Always'],
    ])
    expect(container('launcher').command?.at(-1)).toContain(podPaths.launcher)
    expect(container('mysql').command?.slice(0, 3)).toEqual(['sh', podPaths.launcher, podPaths.launcherDir])
    // Where the agent has mysqld write its error log (`agents/instance/volume-layout.ts`).
    expect(container('mysql').command?.at(-1)).toBe('/var/lib/regent/run/mysqld-error.log')
    for (const name of ['launcher', 'agent', 'mysql']) expect(mountsOf(name)).toContain(podPaths.regent)
  })

  it('shows secrets and certificates to the agent alone, and the volume to it and mysqld', () => {
    const named = (path: string) => ['launcher', 'agent', 'mysql'].filter((name) => mountsOf(name)?.includes(path))
    expect([named(podPaths.secrets), named(podPaths.certificates), named(podPaths.volume)]).toEqual([
      ['agent'],
      ['agent'],
      ['agent', 'mysql'],
    ])
    expect(
      specOfPod()
        .volumes?.find(({ name }) => name === 'secrets')
        ?.secret?.items?.map(({ key }) => key),
    ).toEqual(['agent-token', 'account-secret'])
  })

  it('shows the Secret for clients to the agent alone, and starts without it: an instance that is missing is worse than a certificate', () => {
    const tls = { secretName: 'shop-tls' }
    const mounting = ['launcher', 'agent', 'mysql'].filter((name) =>
      container(name, { tls }).volumeMounts?.some(({ mountPath }) => mountPath === podPaths.clientCertificate),
    )
    expect(mounting).toEqual(['agent'])
    expect(specOfPod({ tls }).volumes?.find(({ name }) => name === 'client-certificate')?.secret).toMatchObject({
      secretName: 'shop-tls',
      optional: true,
      items: [{ key: 'tls.crt' }, { key: 'tls.key' }, { key: 'ca.crt' }],
    })
    expect(specOfPod().volumes?.some(({ name }) => name === 'client-certificate')).toBe(false)
  })

  it('is probed at its agent alone: nothing restarts a server that recovers or follows', () => {
    expect(container('mysql')).not.toHaveProperty('livenessProbe')
    expect(container('mysql')).not.toHaveProperty('startupProbe')
    expect(container('agent').livenessProbe).toMatchObject({
      httpGet: { path: '/live', port: 9401 },
      initialDelaySeconds: 60,
      periodSeconds: 2,
      failureThreshold: 15,
    })
    // Of a container that starts before others a startup probe would keep these waiting.
    expect(container('agent')).not.toHaveProperty('startupProbe')
    expect(container('agent').readinessProbe).toMatchObject({
      httpGet: { path: '/ready', port: 9401 },
      failureThreshold: 1,
    })
  })

  it('tells the agent its name and address, which the file that all pods share does not say', () => {
    const from = Object.fromEntries(
      container('agent').env?.map(({ name, valueFrom }) => [name, valueFrom?.fieldRef?.fieldPath]) ?? [],
    )
    expect(from).toMatchObject({
      REGENT_INSTANCE: 'metadata.name',
      REGENT_HOST: 'status.podIP',
      REGENT_HOSTS: 'status.podIPs',
      REGENT_POD_UID: 'metadata.uid',
    })
  })

  it('keeps the agent’s memory in one heap, and leaves mysqld its own', () => {
    expect(container('agent').env).toContainEqual({ name: 'MALLOC_ARENA_MAX', value: '1' })
    expect(container('agent').env).toContainEqual({ name: 'NODE_OPTIONS', value: '--max-semi-space-size=1' })
    expect(JSON.stringify(container('mysql'))).not.toContain('MALLOC_ARENA_MAX')
  })

  it('is made of the images that are asked for', () => {
    expect(containersOf().map(({ image }) => image)).toEqual([images.regent, images.regent, images.mysql])
    expect(container('mysql', { imagePullPolicy: 'Always' }).imagePullPolicy).toBe('Always')
  })

  it('has what the spec adds, and keeps its own labels and annotations', () => {
    const pod = {
      labels: { team: 'payments', 'regent.dev/cluster': 'other' },
      annotations: { 'example.org/scrape': 'yes' },
      env: [{ name: 'TZ', value: 'UTC' }],
      containers: [{ name: 'exporter', image: 'exporter:1' }],
      volumes: [{ name: 'cache', emptyDir: {} }],
      imagePullSecrets: [{ name: 'registry' }],
      terminationGracePeriodSeconds: 300,
    }
    const resources = { requests: { cpu: '1' } }
    const { metadata, spec } = templateOf({ pod, resources, agentResources: { requests: { cpu: '70m' } } })
    expect(metadata?.labels).toMatchObject({ team: 'payments', 'regent.dev/cluster': 'shop' })
    expect(metadata?.annotations).toMatchObject({
      'example.org/scrape': 'yes',
      'kubectl.kubernetes.io/default-container': 'mysql',
    })
    expect(spec?.containers.map(({ name }) => name)).toEqual(['mysql', 'exporter'])
    expect(spec?.containers[0]).toMatchObject({ env: pod.env, resources })
    expect(spec?.initContainers?.[1]?.resources).toEqual({ requests: { cpu: '70m' } })
    expect(spec?.volumes?.at(-1)).toEqual(pod.volumes[0])
    expect(spec).toMatchObject({ imagePullSecrets: pod.imagePullSecrets, terminationGracePeriodSeconds: 300 })
  })
})

describe('where a pod may run', () => {
  const apart = [
    {
      weight: 100,
      podAffinityTerm: {
        topologyKey: 'kubernetes.io/hostname',
        labelSelector: { matchLabels: { 'regent.dev/cluster': 'shop' } },
      },
    },
  ]

  it('is another node than its siblings’, where there is one', () => {
    expect(specOfPod().affinity).toEqual({
      podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: apart },
    })
  })

  it('is so also where the spec speaks of nodes only', () => {
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } }
    expect(specOfPod({ scheduling: { affinity: { nodeAffinity } } }).affinity).toEqual({
      nodeAffinity,
      podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: apart },
    })
  })

  it.each(['podAffinity', 'podAntiAffinity'])('is what the spec says where it speaks of pods itself (%s)', (kind) => {
    const affinity = { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone' }] } }
    expect(specOfPod({ scheduling: { affinity } }).affinity).toEqual(affinity)
  })

  it('is limited by everything else that the spec says of it', () => {
    const scheduling = {
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ operator: 'Exists' }],
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone' }],
      priorityClassName: 'database',
    }
    expect(specOfPod({ scheduling })).toMatchObject(scheduling)
  })
})

describe('the revision of a pod', () => {
  it('stays with another image of Regent: its upgrade restarts no mysqld', () => {
    const revision = (regent: string) =>
      podTemplateOf(aCluster(), { ...images, regent }).metadata?.annotations?.['regent.dev/pod-revision']
    expect(revision('regent:2')).toBe(revision('regent:1'))
    expect(revision('regent:1')).toBe(revisionOf())
  })

  it.each<[string, object]>([
    ['more instances', { instances: 5 }],
    ['another place', { scheduling: { nodeSelector: { disk: 'ssd' } } }],
    ['a longer time to end', { pod: { terminationGracePeriodSeconds: 300 } }],
    ['a larger volume', { storage: { size: '2Gi' } }],
    ['another durability', { durability: 'available' }],
    ['TLS as it was', { tls: { required: false } }],
    ['resources of the agent', { agentResources: { requests: { cpu: '70m' } } }],
  ])('stays with %s', (_what, spec) => {
    expect(revisionOf(spec)).toBe(revisionOf())
  })

  it.each<[string, object]>([
    ['settings of the server', { settings: { max_connections: '500' } }],
    ['resources', { resources: { requests: { cpu: '2' } } }],
    ['a certificate for clients', { tls: { secretName: 'shop-tls' } }],
    ['the end of clients without TLS', { tls: { required: true } }],
    ['a label of the pod', { pod: { labels: { team: 'payments' } } }],
    ['a container beside it', { pod: { containers: [{ name: 'exporter' }] } }],
    ['its environment', { pod: { env: [{ name: 'TZ', value: 'UTC' }] } }],
    ['lifecycle actions', { lifecycle: { open: true } }],
  ])('changes with %s', (_what, spec) => {
    expect(revisionOf(spec)).not.toBe(revisionOf())
  })

  it('changes with the image of MySQL', () => {
    expect(revisionOf({}, 'mysql:9.7.0')).not.toBe(revisionOf())
  })
})
