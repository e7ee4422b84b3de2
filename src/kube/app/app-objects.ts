import type { V1Container, V1DeploymentSpec, V1PodSpec, V1ServiceSpec } from '@kubernetes/client-node'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { withController } from '#controller-runtime/objects/owner-references.ts'
import { labels } from '../names/names.ts'
import type { Service } from '../objects/services.ts'
import { appLabel, type App } from './app.ts'
import { wholeSpecOf, type WholeAppSpec } from './app-defaults.ts'

export interface Deployment extends KubeObject {
  readonly spec: V1DeploymentSpec
  readonly status?: DeploymentStatus
}

export interface DeploymentStatus {
  readonly observedGeneration?: number
  readonly replicas?: number
  readonly readyReplicas?: number
  readonly availableReplicas?: number
  readonly updatedReplicas?: number
  readonly conditions?: readonly {
    readonly type: string
    readonly status: string
    readonly reason?: string
    readonly message?: string
  }[]
}

export const deployments: Resource<Deployment> = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}

/** The one container of an App's pods. */
const appContainer = 'app'

export function appSelectorOf(name: string): Readonly<Record<string, string>> {
  return { [appLabel]: name }
}

export function appSelectorTextOf(name: string): string {
  return `${appLabel}=${name}`
}

export function deploymentOf(app: App): Deployment {
  const spec = wholeSpecOf(app)
  const selector = appSelectorOf(app.metadata.name)
  return ownedByApp(app, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: app.metadata.name },
    spec: {
      replicas: spec.replicas,
      // Said, though these are the API server's defaults: what is not sent is not put right.
      paused: false,
      minReadySeconds: 0,
      revisionHistoryLimit: 2,
      progressDeadlineSeconds: 600,
      selector: { matchLabels: { ...selector } },
      // A new pod is ready before an old one goes.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: {
          labels: { ...spec.podLabels, ...kindLabels(app.metadata.name), ...selector },
          annotations: { ...spec.podAnnotations },
        },
        spec: podOf(app.metadata.name, spec),
      },
    },
  })
}

/** Undefined where the App has no port. */
export function appServiceOf(app: App): Service | undefined {
  const { ports, service } = wholeSpecOf(app)
  if (ports.length === 0) return undefined
  return ownedByApp(app, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: service.name, annotations: { ...service.annotations } },
    spec: {
      type: service.type,
      // Not said unless given: then the cluster, or a hand, may say that.
      ...given<V1ServiceSpec>({ ipFamilyPolicy: service.ipFamilyPolicy }),
      selector: { ...appSelectorOf(app.metadata.name) },
      // Said, as those of the Deployment.
      publishNotReadyAddresses: false,
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ports: ports.map(({ name, port, targetPort, protocol }) => ({ name, port, targetPort, protocol })),
    },
  })
}

function podOf(name: string, spec: WholeAppSpec): V1PodSpec {
  const { serviceAccountName, podSecurityContext, imagePullSecrets, volumes, nodeSelector, tolerations } = spec
  return {
    enableServiceLinks: false,
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds,
    automountServiceAccountToken: serviceAccountName !== undefined,
    containers: [containerOf(spec)],
    ...spreadOf(name, spec.spread),
    ...given<V1PodSpec>({
      serviceAccountName,
      securityContext: podSecurityContext,
      imagePullSecrets,
      volumes,
      nodeSelector,
      tolerations,
    }),
  }
}

function containerOf(spec: WholeAppSpec): V1Container {
  const { command, args, envs, resources, volumeMounts, securityContext } = spec
  const { livenessProbe, readinessProbe, startupProbe } = spec
  return {
    name: appContainer,
    image: spec.image ?? '',
    imagePullPolicy: spec.imagePullPolicy,
    ports: containerPorts(spec.ports),
    ...given<V1Container>({ command, args, env: envs, resources, volumeMounts, securityContext }),
    ...given<V1Container>({ livenessProbe, readinessProbe, startupProbe }),
  }
}

/** Two ports of the Service may lead to one of the container. */
function containerPorts(ports: WholeAppSpec['ports']): NonNullable<V1Container['ports']> {
  const byNumber = new Map(ports.map((port) => [`${port.targetPort}/${port.protocol}`, port]))
  return [...byNumber.values()].map(({ name, targetPort, protocol }) => ({ name, containerPort: targetPort, protocol }))
}

const topologies = { nodes: 'kubernetes.io/hostname', zones: 'topology.kubernetes.io/zone' } as const

function spreadOf(name: string, spread: WholeAppSpec['spread']): Pick<V1PodSpec, 'topologySpreadConstraints'> {
  if (spread === 'none') return {}
  return {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: topologies[spread],
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: { ...appSelectorOf(name) } },
        // Pods of the spec before, which are about to go, do not count.
        matchLabelKeys: ['pod-template-hash'],
      },
    ],
  }
}

/** Without what is not given. Parts that are passed on as Kubernetes has them are checked by the API server. */
function given<Whole>(parts: Readonly<Record<string, unknown>>): Partial<Whole> {
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined)) as Partial<Whole>
}

function kindLabels(name: string): Readonly<Record<string, string>> {
  return { [labels.name]: name, [labels.instance]: name }
}

function ownedByApp<Kind extends KubeObject>(app: App, object: Kind): Kind {
  const { name, namespace } = app.metadata
  const metadata = {
    ...object.metadata,
    ...(namespace !== undefined && { namespace }),
    labels: { ...kindLabels(name), [labels.managedBy]: 'regent', ...appSelectorOf(name) },
  }
  return withController({ ...object, metadata }, app)
}
