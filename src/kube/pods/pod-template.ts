import { createHash } from 'node:crypto'
import type { V1Affinity, V1Container, V1EnvVar, V1PodSpec, V1PodTemplateSpec, V1Volume } from '@kubernetes/client-node'
import { frugalEnvironment, frugalNode } from '#common/process/frugal-environment.ts'
import { asksForTls, podPaths, probePort, probePortName } from '../objects/agent-config.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import { annotations, commonLabels, namesOf, selectorOf } from '../names/names.ts'
import { agentPort, mysqlPort } from '../objects/services.ts'
import { backupParts, mountedOf } from './backup-volumes.ts'
import { lifecycleParts } from './lifecycle.ts'

/** The images a cluster's pods are made of. */
export interface PodImages {
  readonly mysql: string
  readonly regent: string
}

export const mysqlContainer = 'mysql'
export const agentContainer = 'agent'

export const clientCertificateVolume = 'client-certificate'

/** Nobody's: both containers run as the same, so that the agent may signal mysqld, and no image needs to know it. */
const user = 65_532
/** An agent that says nothing for so long is given up by the launcher when the pod ends. */
const launcherPatienceSeconds = 20

/**
 * A pod of a cluster. The agent is a sidecar of Kubernetes' own kind: it starts before mysqld and stops after it. Both
 * see the volume and each other's processes; nothing in the pod has rights, capabilities or a token of the API server,
 * but an agent that has probes to report.
 */
export function podTemplateOf(cluster: MySQLCluster, images: PodImages): V1PodTemplateSpec {
  const { name } = cluster.metadata
  const { pod, scheduling } = cluster.spec
  const spec: V1PodSpec = {
    serviceAccountName: namesOf(name).serviceAccount,
    automountServiceAccountToken: false,
    shareProcessNamespace: true,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: pod.terminationGracePeriodSeconds,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: user,
      fsGroup: user,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    ...schedulingOf(cluster, scheduling),
    ...(pod.imagePullSecrets && { imagePullSecrets: pod.imagePullSecrets as V1PodSpec['imagePullSecrets'] & object }),
    initContainers: [launcherCopy(images.regent), agent(cluster, images.regent)],
    containers: [mysql(cluster, images.mysql), ...((pod.containers ?? []) as unknown as V1Container[])],
    volumes: [...volumesOf(cluster), ...((pod.volumes ?? []) as unknown as V1Volume[])],
  }
  return {
    metadata: {
      labels: { ...pod.labels, ...commonLabels(name) },
      annotations: {
        ...pod.annotations,
        'kubectl.kubernetes.io/default-container': mysqlContainer,
        [annotations.podRevision]: podRevisionOf(cluster, images.mysql),
      },
    },
    spec,
  }
}

/**
 * Changes with everything that only a restart of mysqld brings. Regent's own image is not in it: an upgrade of Regent
 * restarts nothing, and its agents are replaced with the next pod that is made for another reason.
 */
export function podRevisionOf({ spec }: MySQLCluster, mysqlImage: string): string {
  const { settings, resources = null, pod, tls, lifecycle } = spec
  const { terminationGracePeriodSeconds: _later, ...template } = pod
  const mounted = mountedOf(spec)
  return createHash('sha256')
    .update(
      JSON.stringify([
        mysqlImage,
        settings,
        resources,
        template,
        ...(asksForTls(spec) ? [tls.secretName ?? null, tls.required] : []),
        ...(lifecycle === undefined ? [] : [{ lifecycle }]),
        ...(mounted === null ? [] : [{ backup: mounted }]),
      ]),
    )
    .digest('hex')
    .slice(0, 10)
}

/** The launcher runs in the mysql container, whose image is anybody's: copied to where both see it. */
function launcherCopy(image: string): V1Container {
  return {
    name: 'launcher',
    image,
    imagePullPolicy: 'IfNotPresent',
    command: [
      'sh',
      '-c',
      `cp /opt/regent/src/kube/pods/launcher.sh ${podPaths.launcher} && mkdir -p ${podPaths.launcherDir}`,
    ],
    securityContext: restricted,
    resources: { requests: { cpu: '10m', memory: '16Mi' } },
    volumeMounts: [{ name: 'regent', mountPath: podPaths.regent }],
  }
}

const frugal = Object.entries({ ...frugalEnvironment, NODE_OPTIONS: frugalNode.join(' ') }).map(([name, value]) => ({
  name,
  value,
}))

function agent(cluster: MySQLCluster, image: string): V1Container {
  const { spec } = cluster
  const probe = (path: string, failureThreshold: number) => ({
    httpGet: { path, port: probePort },
    periodSeconds: 2,
    timeoutSeconds: 2,
    failureThreshold,
  })
  const lifecycle = lifecycleParts(spec)
  return {
    name: agentContainer,
    image,
    imagePullPolicy: 'IfNotPresent',
    restartPolicy: 'Always',
    args: ['agent', '--config', `${podPaths.config}/agent.json`],
    env: [
      fromPod('REGENT_INSTANCE', 'metadata.name'),
      fromPod('REGENT_HOST', 'status.podIP'),
      fromPod('REGENT_HOSTS', 'status.podIPs'),
      fromPod('REGENT_POD_UID', 'metadata.uid'),
      { name: 'HOME', value: '/tmp' },
      ...frugal,
      ...lifecycle.env,
    ],
    ports: [
      { name: 'agent', containerPort: agentPort, protocol: 'TCP' },
      { name: probePortName, containerPort: probePort, protocol: 'TCP' },
      ...lifecycle.ports,
    ],
    // The agent lives as long as it answers: a server that recovers or waits is no reason to restart anything. An agent
    // of a busy node takes more than half a minute to begin. A startup probe would keep mysqld's container waiting.
    livenessProbe: { ...probe('/live', 15), initialDelaySeconds: 60 },
    readinessProbe: probe('/ready', 1),
    securityContext: restricted,
    resources: spec.agentResources ?? { requests: { cpu: '50m', memory: '112Mi' } },
    volumeMounts: [
      { name: 'data', mountPath: podPaths.volume },
      { name: 'regent', mountPath: podPaths.regent },
      { name: 'config', mountPath: podPaths.config, readOnly: true },
      { name: 'secrets', mountPath: podPaths.secrets, readOnly: true },
      { name: 'certificates', mountPath: podPaths.certificates, readOnly: true },
      ...(spec.tls.secretName === undefined
        ? []
        : [{ name: clientCertificateVolume, mountPath: podPaths.clientCertificate, readOnly: true }]),
      ...backupParts(cluster).volumeMounts,
      { name: 'tmp', mountPath: '/tmp', subPath: 'agent' },
      ...lifecycle.volumeMounts,
    ],
  }
}

/** No probe: its agent knows best, and a kubelet that restarts a recovering server makes everything worse. */
function mysql({ spec }: MySQLCluster, image: string): V1Container {
  return {
    name: mysqlContainer,
    image,
    imagePullPolicy: spec.imagePullPolicy ?? 'IfNotPresent',
    command: [
      'sh',
      podPaths.launcher,
      podPaths.launcherDir,
      String(launcherPatienceSeconds),
      `${podPaths.volume}/run/mysqld-error.log`,
    ],
    ...(spec.pod.env && { env: spec.pod.env as unknown as V1EnvVar[] }),
    ports: [{ name: 'mysql', containerPort: mysqlPort, protocol: 'TCP' }],
    securityContext: restricted,
    resources: mysqlResourcesOf(spec.resources),
    volumeMounts: [
      { name: 'data', mountPath: podPaths.volume },
      { name: 'regent', mountPath: podPaths.regent },
      { name: 'tmp', mountPath: '/tmp', subPath: 'mysql' },
    ],
  }
}

/**
 * What container `mysql` asks for where nobody says: what a server with MySQL's own defaults takes. A container that
 * asks for nothing gets no processor beside others that do, and is the first to be ended where memory is short.
 */
const mysqlRequests = { cpu: '100m', memory: '512Mi' } as const

/** The same with a request for each resource that has neither request nor limit: a limit alone is a request too. */
function mysqlResourcesOf(given: V1Container['resources'] = {}): NonNullable<V1Container['resources']> {
  const missing = Object.entries(mysqlRequests).filter(([name]) => given.limits?.[name] === undefined)
  return { ...given, requests: { ...Object.fromEntries(missing), ...given.requests } }
}

function volumesOf(cluster: MySQLCluster): V1Volume[] {
  const { metadata, spec } = cluster
  const names = namesOf(metadata.name)
  const keys = ['agent-token', 'account-secret']
  return [
    { name: 'regent', emptyDir: {} },
    { name: 'tmp', emptyDir: {} },
    { name: 'config', configMap: { name: names.agents } },
    {
      name: 'secrets',
      secret: { secretName: names.internal, defaultMode: 0o440, items: keys.map((key) => ({ key, path: key })) },
    },
    { name: 'certificates', secret: { secretName: names.certificates, defaultMode: 0o440 } },
    ...(spec.tls.secretName === undefined ? [] : [clientCertificateOf(spec.tls.secretName)]),
    ...backupParts(cluster).volumes,
    ...lifecycleParts(spec).volumes,
  ]
}

/**
 * The agent alone sees it, and gives mysqld what fits together. Optional: without the Secret a pod that is made again
 * would hang, and its instance be missing.
 */
function clientCertificateOf(secretName: string): V1Volume {
  return {
    name: clientCertificateVolume,
    secret: {
      secretName,
      optional: true,
      defaultMode: 0o440,
      items: ['tls.crt', 'tls.key', 'ca.crt'].map((key) => ({ key, path: key })),
    },
  }
}

/** On another node than its siblings, where there is one, unless the spec says something of pods itself. */
function schedulingOf({ metadata }: MySQLCluster, scheduling: MySQLCluster['spec']['scheduling']): Partial<V1PodSpec> {
  const { affinity: said = {}, ...rest } = scheduling as unknown as Partial<V1PodSpec>
  const apart: V1Affinity = {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 100,
          podAffinityTerm: {
            topologyKey: 'kubernetes.io/hostname',
            labelSelector: { matchLabels: { ...selectorOf(metadata.name) } },
          },
        },
      ],
    },
  }
  return { ...rest, affinity: said.podAntiAffinity || said.podAffinity ? said : { ...said, ...apart } }
}

function fromPod(name: string, fieldPath: string): V1EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } }
}

/** As the "restricted" Pod Security Standard wants it. */
const restricted = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } }
