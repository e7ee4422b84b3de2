import type { V1Container } from '@kubernetes/client-node'
import { sha256Of } from '#common/files/sha256.ts'
import { frugalEnvironment, frugalNode } from '#common/process/frugal-environment.ts'
import { routerSettings, type RouterSettings } from '#failover/protocol/router-settings.ts'
import type { ConfigMap } from '#controller-runtime/objects/config-map.ts'
import { appGroup, appVersion, type App } from '../app/app.ts'
import { appSelectorOf } from '../app/app-objects.ts'
import type { AppSpec } from '../app/app-schema.ts'
import { manager } from '../names/manager-names.ts'
import { annotations, namesOf } from '../names/names.ts'
import { podDisruptionBudgets, type PodDisruptionBudget } from '../objects/disruption-budget.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import { ownedBy } from '../spec/owned.ts'
import { routerFile, routerPaths, routerPorts, type RouterFile } from './router-file.ts'

type RouterSpec = NonNullable<MySQLCluster['spec']['router']>

/** A user that owns nothing on a node, as in the instances' pods. */
const user = 65_532
/** Time after the deadline for sessions, for HAProxy to end and for the log. */
const endingSeconds = 10

function routerSettingsOf(router: RouterSpec): RouterSettings {
  const { waitMs, connectMs, drainMs, maxConnections, logSessions, reads } = router
  const said = Object.entries({ waitMs, connectMs, drainMs, maxConnections, logSessions, reads })
  return routerSettings(Object.fromEntries(said.filter(([, value]) => value !== undefined)))
}

/** The file that the routers of a cluster read. A router reads the file again after each change. */
export function routerConfigOf(
  cluster: MySQLCluster,
  router: RouterSpec,
  managers: { readonly namespace: string; readonly ca: string },
): ConfigMap {
  const { name, namespace = '' } = cluster.metadata
  const file: RouterFile = {
    version: 1,
    cluster: name,
    namespace,
    instances: cluster.spec.instances,
    manager: `https://${manager.service}.${managers.namespace}.svc`,
    settings: routerSettingsOf(router),
  }
  return ownedBy(cluster, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: namesOf(name).router },
    data: { [routerFile]: `${JSON.stringify(file, null, 2)}\n`, [manager.caKey]: managers.ca },
  })
}

/** Only one router at a time may be evicted: the others go on. */
export function routerBudgetOf(cluster: MySQLCluster): PodDisruptionBudget {
  const { router } = namesOf(cluster.metadata.name)
  return ownedBy(cluster, {
    apiVersion: `${podDisruptionBudgets.group}/${podDisruptionBudgets.version}`,
    kind: podDisruptionBudgets.kind,
    metadata: { name: router },
    spec: {
      maxUnavailable: 1,
      selector: { matchLabels: { ...appSelectorOf(router) } },
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  })
}

/** The routers of a cluster are an App, of Regent's own image. */
export function routerAppOf(cluster: MySQLCluster, router: RouterSpec, image: string): App {
  const { name } = cluster.metadata
  const names = namesOf(name)
  const settings = routerSettingsOf(router)
  const spec: AppSpec = {
    replicas: router.replicas,
    image,
    imagePullPolicy: 'IfNotPresent',
    args: ['router', '--config', `${routerPaths.config}/${routerFile}`],
    envs: environment,
    resources: router.resources ?? { requests: { cpu: '100m', memory: '192Mi' } },
    ports: [
      { name: 'mysql', port: router.ports.write, targetPort: routerPorts.write, protocol: 'TCP' },
      { name: 'mysql-reads', port: router.ports.read, targetPort: routerPorts.read, protocol: 'TCP' },
    ],
    startupProbe: probe('/live', 60),
    livenessProbe: probe('/live', 15),
    readinessProbe: probe('/ready', 2),
    volumes: volumesOf(names),
    volumeMounts: [
      { name: 'config', mountPath: routerPaths.config, readOnly: true },
      { name: 'secrets', mountPath: routerPaths.secrets, readOnly: true },
      { name: 'certificates', mountPath: routerPaths.certificates, readOnly: true },
      { name: 'run', mountPath: routerPaths.run },
    ],
    securityContext: restricted,
    podSecurityContext: {
      ...{ runAsNonRoot: true, runAsUser: user, runAsGroup: user, fsGroup: user },
      seccompProfile: { type: 'RuntimeDefault' },
    },
    spread: 'nodes',
    terminationGracePeriodSeconds: Math.ceil(settings.drainMs / 1_000) + endingSeconds,
    podLabels: {},
    podAnnotations: { [annotations.routerSettings]: digestOf(settings) },
    service: { ...familiesOf(router), ...router.service, name: names.routerService },
    ...placeOf(cluster),
  }
  return ownedBy(cluster, {
    apiVersion: `${appGroup}/${appVersion}`,
    kind: 'App',
    metadata: { name: names.router },
    spec,
  })
}

/**
 * Both address families where the cluster has both. A load balancer of a cloud may know only one family, and clients
 * may use the address of that family already.
 */
function familiesOf({ service: { type } }: RouterSpec): Pick<AppSpec['service'], 'ipFamilyPolicy'> {
  return type === 'LoadBalancer' ? {} : { ipFamilyPolicy: 'PreferDualStack' }
}

/** Nodes that may run instances may run routers, too. */
function placeOf({ spec: { scheduling, pod } }: MySQLCluster): Partial<AppSpec> {
  const { nodeSelector, tolerations } = scheduling
  const { imagePullSecrets } = pod
  return {
    ...(nodeSelector !== undefined && { nodeSelector }),
    ...(tolerations !== undefined && { tolerations }),
    ...(imagePullSecrets !== undefined && { imagePullSecrets }),
  }
}

const environment = [
  { name: 'POD_IPS', valueFrom: { fieldRef: { fieldPath: 'status.podIPs' } } },
  { name: 'HOME', value: routerPaths.run },
  ...Object.entries({ ...frugalEnvironment, NODE_OPTIONS: frugalNode.join(' ') }).map(([name, value]) => ({
    name,
    value,
  })),
]

function probe(path: string, failureThreshold: number): NonNullable<AppSpec['readinessProbe']> {
  return { httpGet: { path, port: routerPorts.probes }, periodSeconds: 2, timeoutSeconds: 2, failureThreshold }
}

function volumesOf(names: ReturnType<typeof namesOf>): NonNullable<AppSpec['volumes']> {
  const token = [{ key: 'agent-token', path: 'agent-token' }]
  return [
    { name: 'config', configMap: { name: names.router } },
    { name: 'secrets', secret: { secretName: names.internal, defaultMode: 0o440, items: token } },
    { name: 'certificates', secret: { secretName: names.certificates, defaultMode: 0o440 } },
    { name: 'run', emptyDir: {} },
  ]
}

/** Routers with other settings are other routers. A router reads the number of instances while it runs. */
function digestOf(settings: RouterSettings): string {
  return sha256Of(Buffer.from(JSON.stringify(settings))).slice(0, 10)
}

/** The context that the "restricted" Pod Security Standard wants. */
const restricted: V1Container['securityContext'] & Readonly<Record<string, unknown>> = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
}
