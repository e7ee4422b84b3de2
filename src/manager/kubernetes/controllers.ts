import { describeError } from '#common/errors/errors.ts'
import type { Logger } from '#common/log/logger.ts'
import type { Clock, World } from '#common/ports/ports.ts'
import { Controller, type ControllerOptions } from '#controller-runtime/controller/controller.ts'
import { watchFor, watchMapped, watchOwned } from '#controller-runtime/controller/controller-sources.ts'
import type { EventRecorder } from '#controller-runtime/events/event-recorder.ts'
import type { InformerPort } from '#controller-runtime/informers/informer-port.ts'
import type { InformerSet } from '#controller-runtime/informers/informer-set.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { keyOf, keyText, type KubeObject, type ObjectKey, type Resource } from '#controller-runtime/objects/objects.ts'
import {
  annotationsChanged,
  anyOf,
  generationChanged,
  objectsThat,
  resourceVersionChanged,
  type Predicate,
} from '#controller-runtime/controller/predicates.ts'
import type { RuntimeMetrics } from '#controller-runtime/controller/runtime-metrics.ts'
import { ofController, strangersAmong } from '#kube/primary/added-by-others.ts'
import type { ConfigMap } from '#controller-runtime/objects/config-map.ts'
import { apps as appResource, type App } from '#kube/app/app.ts'
import { deployments } from '#kube/app/app-objects.ts'
import type { MySQLBackup } from '#kube/backup/mysql-backup.ts'
import { podDisruptionBudgets } from '#kube/objects/disruption-budget.ts'
import { mysqlClusters, type MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { labels, namesOf } from '#kube/names/names.ts'
import { networkPolicies } from '#kube/objects/network-policy.ts'
import { endpointSlices, managedBy, serviceName, type EndpointSlice } from '#kube/primary/primary-endpoints.ts'
import type { Secret } from '#kube/secrets/secrets.ts'
import { serviceAccounts } from '#kube/objects/service-account.ts'
import { services } from '#kube/objects/services.ts'
import { volumeClaims, type Pod, type StatefulSet } from '#kube/pods/stateful-set.ts'
import type { KubernetesManagerOptions } from '../options/schema.ts'
import type { ClusterEvents } from './status/cluster-events.ts'
import { keeperOfSets } from './objects/keep-template.ts'
import type { ClusterSet } from './loops/cluster-set.ts'
import { PassedOver } from './memory/passed-over.ts'
import { reconcileApp } from './apps/reconcile-app.ts'
import { reconcileBackup } from './backups/reconcile-backup.ts'
import { RunBook } from './backups/run-book.ts'
import { tellOfRuns } from './backups/tell-of-runs.ts'
import { podEventPipeline } from './pod-events/pod-events.ts'
import { reconcileCluster } from './reconcile-cluster.ts'
import { reconcileStatus } from './reconcile-status.ts'

export interface ControllerParts {
  /** Writes only while this manager leads. */
  readonly client: KubeClient
  /**
   * For what agents of any component say: a client that keeps no cluster waiting, and informers whose first list nobody
   * else waits for. All Events of a cluster are read for it, and a right may be missing.
   */
  readonly podEvents: {
    readonly client: KubeClient
    readonly informers: InformerSet
    readonly serverClock: Pick<Clock, 'wallMs'>
  }
  readonly world: World
  readonly log: Logger
  readonly metrics: RuntimeMetrics
  readonly informers: InformerSet
  readonly clusters: InformerPort<MySQLCluster>
  readonly pods: InformerPort<Pod>
  readonly statefulSets: InformerPort<StatefulSet>
  readonly secrets: InformerPort<Secret>
  readonly configMaps: InformerPort<ConfigMap>
  readonly backups: InformerPort<MySQLBackup>
  readonly apps: InformerPort<App>
  readonly set: ClusterSet
  readonly events: ClusterEvents
  readonly recorder: Pick<EventRecorder, 'record'>
  readonly leads: () => boolean
  readonly options: KubernetesManagerOptions
  readonly managerNamespace: string
  /** The authority of the managers, for routers. */
  readonly managerAuthority: () => string
}

export interface ClusterControllers {
  /** Keeps the objects of clusters in step with what their resources say. */
  readonly cluster: Controller
  /** Shows what clusters are. */
  readonly status: Controller
  /** Begins and follows backups that objects ask for. */
  readonly backup: Controller
  /** Gives Apps their Deployments and Services. */
  readonly app: Controller
  /** Controllers that a manager can do without: what agents of any component say in Events. */
  readonly optional: readonly Controller[]
  /** The manager leads now: what it left undone until now is done. */
  lead(): void
}

/** What is Regent's, of any cluster. */
export const ours = { labelSelector: `${labels.managedBy}=regent` }

/**
 * Slices that neither Regent wrote nor Kubernetes' own controller, which copies Regent's label to those it makes for a
 * Service of Regent's. They are few.
 */
const strangers = { as: 'of strangers', labelSelector: `${serviceName},${managedBy} notin (${ofController})` }

/** Nothing tells that a person took an object of somebody else out of the way, or made a Secret that was missing. */
const mostRetryMs = 30_000

/** The controllers of clusters, which run until they are told to stop. */
export function createControllers(parts: ControllerParts): ClusterControllers {
  const { client, world, log, informers, clusters, pods, statefulSets, secrets, configMaps, events, leads } = parts
  const { backups } = parts
  const book = new RunBook()
  const { podEvents, metrics, recorder, options, managerNamespace, managerAuthority } = parts
  const { clock } = world
  const disabled = new Set(options.reconcile.disabledCapabilities)
  const passedOver = {
    status: new PassedOver(leads),
    cluster: new PassedOver(leads),
    backup: new PassedOver(leads),
    app: new PassedOver(leads),
    podEvents: new PassedOver(leads),
  }
  const owned = <Kind extends KubeObject>(resource: Resource<Kind>, ...predicates: readonly Predicate<Kind>[]) =>
    watchOwned(informers.of(resource, ours), mysqlClusters, ...predicates)
  const ourServices = informers.of(services, ours)
  const controller = (rest: Pick<ControllerOptions, 'name' | 'sources' | 'reconcile' | 'syncDeadlineMs' | 'backOff'>) =>
    new Controller({
      ...rest,
      world,
      failed: failureLogger(log),
      workers: options.reconcile.concurrent,
      metrics,
      reconcileDeadlineMs: 120_000,
    })

  const status = controller({
    name: 'status',
    sources: [
      watchFor(clusters, generationChanged),
      watchOwned(statefulSets, mysqlClusters, generationChanged),
      watchMapped(pods, clusterOfLabel),
    ],
    reconcile: passedOver.status.noting(
      reconcileStatus({
        ...parts,
        clock,
        putRight: (key, sentence) => events.putRight(key, sentence),
        runs: async (cluster, instances, signal) => {
          events.backups(keyOf(cluster), instances)
          await tellOfRuns({ client, backups, book }, cluster, instances, signal)
        },
      }),
    ),
  })
  const backup = controller({
    name: 'mysqlbackup',
    sources: [watchFor(backups, generationChanged)],
    reconcile: passedOver.backup.noting(
      reconcileBackup({ client, clock, backups, book, leads, recorder, clusterOf: (key) => parts.set.get(key) }),
    ),
  })
  const app = controller({
    name: 'app',
    backOff: { capMs: mostRetryMs },
    sources: [
      watchFor(parts.apps, generationChanged),
      watchOwned(informers.of(deployments, ours), appResource, resourceVersionChanged),
      watchOwned(ourServices, appResource, resourceVersionChanged),
    ],
    reconcile: passedOver.app.noting(reconcileApp({ client, clock, apps: parts.apps, leads, recorder })),
  })
  const cluster = controller({
    name: 'mysqlcluster',
    backOff: { capMs: mostRetryMs },
    sources: [
      watchFor(clusters, anyOf(generationChanged, annotationsChanged)),
      watchOwned(statefulSets, mysqlClusters, generationChanged),
      watchOwned(ourServices, mysqlClusters, resourceVersionChanged),
      watchOwned(configMaps, mysqlClusters, isNoRecord, resourceVersionChanged),
      owned(serviceAccounts, resourceVersionChanged),
      watchOwned(parts.apps, mysqlClusters, generationChanged),
      ...(disabled.has('disruptionBudgets') ? [] : [owned(podDisruptionBudgets, generationChanged)]),
      ...(disabled.has('networkPolicies') ? [] : [owned(networkPolicies, generationChanged)]),
      watchMapped(secrets, clusterOfLabel, resourceVersionChanged),
      watchMapped(informers.of(endpointSlices), ledAstrayBy(clusters), resourceVersionChanged),
      watchMapped(informers.of(endpointSlices, strangers), ledAstrayBy(clusters), resourceVersionChanged),
      watchMapped(informers.of(volumeClaims, ours), clusterOfLabel, resourceVersionChanged),
    ],
    reconcile: passedOver.cluster.noting(
      reconcileCluster({
        ...parts,
        clock,
        objects: {
          ...{ client, world, managerNamespace, managerAuthority, disabled },
          templates: keeperOfSets({ client, clock }),
          authorities: new Map(),
          recorded: (key) => parts.set.recorded(key),
        },
        applied: (applied) => status.enqueue(keyOf(applied)),
      }),
    ),
  })
  const optional: Controller[] = []
  if (!disabled.has('podEvents')) {
    const { sources, reconcile } = podEventPipeline({ ...podEvents, world, log, recorder, leads })
    const noting = passedOver.podEvents.noting(reconcile)
    // Without Events the rest of the manager works: it must not end for them.
    optional.push(controller({ name: 'podevents', sources, reconcile: noting, syncDeadlineMs: Infinity }))
  }
  return {
    cluster,
    status,
    backup,
    app,
    optional,
    lead() {
      for (const key of passedOver.podEvents.keys) for (const each of optional) each.enqueue(key)
      for (const key of passedOver.cluster.keys) cluster.enqueue(key)
      for (const key of passedOver.status.keys) status.enqueue(key)
      for (const key of passedOver.backup.keys) backup.enqueue(key)
      for (const key of passedOver.app.keys) app.enqueue(key)
    },
  }
}

/** Objects with the label: retained Secrets and claims have no owner. */
function clusterOfLabel({ metadata: { namespace, labels: worn } }: KubeObject): readonly ObjectKey[] {
  const name = worn?.[labels.cluster]
  return namespace === undefined || name === undefined ? [] : [{ namespace, name }]
}

/**
 * The cluster whose primary's Service has endpoints in this slice that are not its own. A failover, which writes the
 * one that is, passes here unnoticed.
 */
function ledAstrayBy(clusters: InformerPort<MySQLCluster>): (slice: EndpointSlice) => readonly ObjectKey[] {
  return (slice) => {
    const { namespace, labels: worn } = slice.metadata
    const service = worn?.[serviceName] ?? ''
    const cluster = clusters
      .list()
      .find(({ metadata }) => metadata.namespace === namespace && namesOf(metadata.name).primary === service)
    if (cluster === undefined) return []
    return strangersAmong([slice], service, cluster.spec.services.routing).length > 0 ? [keyOf(cluster)] : []
  }
}

const isNoRecord = objectsThat(({ metadata: { name } }) => !/-(record|notes|recoveries)$/.test(name))

function failureLogger(log: Logger): ControllerOptions['failed'] {
  return ({ key, error, failures, willRetry }) =>
    log.warn(
      { err: error, cluster: keyText(key), failures },
      `${keyText(key)}: ${describeError(error)}${willRetry ? '; tried again' : ''}`,
    )
}
