import { isIPv6 } from 'node:net'
import { hostname } from 'node:os'
import { Registry } from 'prom-client'
import { hostPort } from '#common/text/host-port.ts'
import { readTokenFile } from '#common/http/bearer-token.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { seldom } from '#common/log/repeats.ts'
import type { Logger } from '#common/log/logger.ts'
import type { World } from '#common/ports/ports.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { aborted, toldToStop } from '#common/process/signals.ts'
import { regentVersion } from '#common/version.ts'
import { EventRecorder } from '#controller-runtime/events/event-recorder.ts'
import { createKubeClient } from '#controller-runtime/client/http-kube-client.ts'
import type { RequestRecord } from '#controller-runtime/client/kube-transport.ts'
import { ServerClock } from '#controller-runtime/client/server-clock.ts'
import { AbsentNamespaces } from '#controller-runtime/informers/absent-namespaces.ts'
import { InformerSet } from '#controller-runtime/informers/informer-set.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { findKubeConnection } from '#controller-runtime/kube-config/kube-config.ts'
import { leaderClient } from '#controller-runtime/leader/leadership.ts'
import { LeaseElector } from '#controller-runtime/leader/lease-elector.ts'
import { runAll, type Runnable } from '#controller-runtime/runnables/runnables.ts'
import { createRuntimeMetrics } from '#controller-runtime/controller/runtime-metrics.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { refuseOlderDefinition } from '#kube/definition/definition-check.ts'
import { admissionRoutes } from '#kube/admission/admission.ts'
import type { AgentImage } from '#kube/injection/agent-container.ts'
import { apps as appResource } from '#kube/app/app.ts'
import { mysqlBackups } from '#kube/backup/mysql-backup.ts'
import { mysqlClusters } from '#kube/spec/mysql-cluster.ts'
import { followCertificates } from '#kube/certificates/manager-certificates.ts'
import { namedByHost } from '#kube/names/host-names.ts'
import { manager as names } from '#kube/names/manager-names.ts'
import { endpointSlices } from '#kube/primary/primary-endpoints.ts'
import { secrets, textIn } from '#kube/secrets/secrets.ts'
import { pods, statefulSets } from '#kube/pods/stateful-set.ts'
import { followCertificateFolder } from '#common/tls/certificate-folder.ts'
import { openOrchestrator } from '#orchestrator/open-orchestrator.ts'
import { createApi } from '../api/create-api.ts'
import { healthServer } from '../servers/health.ts'
import { createMetrics } from '../clusters/metrics.ts'
import { metricsServer } from '../servers/metrics-server.ts'
import { parseListenAddress } from '../options/listen-address.ts'
import { managerLogger } from '../options/manager-logger.ts'
import type { KubernetesManagerOptions } from '../options/schema.ts'
import { profilingServer } from '../servers/profiling.ts'
import type { NamedByHost } from '../clusters/cluster-service.ts'
import { serviceFor } from '../clusters/service.ts'
import { webhookServer } from '../servers/webhook.ts'
import { ClusterEvents, eventLimits } from './status/cluster-events.ts'
import { ClusterSet } from './loops/cluster-set.ts'
import { tellRoutersWhomToTrust } from './loops/router-trust.ts'
import { createControllers, ours } from './controllers.ts'
import { keptConfigMap, keptPod, keptSecret } from './memory/kept.ts'
import { KubeLeader } from './kube-leader.ts'
import { noting } from './lease-trouble.ts'
import { addressInLease, leaderAddress } from './leader-address.ts'

/** Longer than most recoveries take: Events about them come after. */
const eventsSettleMs = 1_000
/**
 * A cluster that is written to is decided on several times a second, with the same result: so often the manager looks
 * at what is shown of the cluster. After a change of what is decided the manager looks at once.
 */
const sameAgainMs = 2_000
/** Each router of each cluster has one. */
const mostEventStreams = 2_048

/**
 * Runs a manager on Kubernetes until SIGTERM or SIGINT: a loop for every `MySQLCluster`, their objects kept in step,
 * the API served. Primaries stay writable without it.
 */
export async function runKubernetesManager(options: KubernetesManagerOptions): Promise<void> {
  const world = realWorld
  const log = managerLogger(options.log)
  const metrics = createMetrics()
  const registry = new Registry()
  const runtimeMetrics = createRuntimeMetrics(registry)
  const connection = await findKubeConnection({ ...options.kube, clock: world.clock })
  const { namespace, instance, ip } = ownPod(connection)
  const identity = `${instance}_${world.random.hex(12)}`
  const userAgent = `regent/${regentVersion} manager`
  const { qps, burst } = options.kube
  const serverClock = new ServerClock(world.clock)
  const onRequest = (record: RequestRecord): void => {
    runtimeMetrics.requested(record)
    serverClock.heard(record.serverMs)
  }
  const parts = { connection, world, userAgent, onRequest }
  const client = createKubeClient({ ...parts, throttle: { qps, burst } })
  // What a failover waits for never queues behind reconciles, and the lease behind neither: a manager that takes the
  // lead reads the records of all clusters at once.
  const urgentClient = createKubeClient({ ...parts, throttle: { qps: 0, burst } })
  // Nor do clusters wait for what agents of other components say.
  const podEventClient = createKubeClient({ ...parts, throttle: { qps, burst } })
  const leaseClient = createKubeClient({ ...parts, throttle: { qps: 0, burst } })

  const absence = new AbsentNamespaces({ client, timers: world.timers, logger: log })
  const watching = {
    world,
    logger: log,
    absence,
    resyncMs: options.watch.resyncSeconds * 1_000,
    ...(options.watch.namespaces.length > 0 && { namespaces: options.watch.namespaces }),
  }
  const informers = new InformerSet({ ...watching, client })
  const podEventInformers = new InformerSet({ ...watching, client: podEventClient })
  const clusters = informers.of(mysqlClusters)
  const cached = {
    pods: informers.of(pods, { ...ours, keep: keptPod }),
    statefulSets: informers.of(statefulSets, ours),
    secrets: informers.of(secrets, { ...ours, keep: keptSecret }),
    configMaps: informers.of(configMaps, { ...ours, keep: keptConfigMap }),
  }
  const backups = informers.of(mysqlBackups)
  const apps = informers.of(appResource)

  const leader = new KubeLeader()
  const leads = (): boolean => leader.holds()
  const recorder = new EventRecorder({
    client,
    world,
    controller: 'regent.dev/manager',
    instance,
    limits: eventLimits,
    settleMs: eventsSettleMs,
    failed: ({ reason }, error) => log.debug({ err: error }, `event ${reason} is not written`),
  })
  const telling = options.reconcile.disabledCapabilities.includes('events') ? { record: () => undefined } : recorder
  const clusterEvents = new ClusterEvents({
    recorder: telling,
    clusters,
    leads,
    debug: (line) => log.debug(line),
  })

  const set = new ClusterSet({
    world,
    client: leaderClient(urgentClient, leader),
    ...cached,
    slices: informers.of(endpointSlices, ours),
    apps,
    manager: identity,
    leads,
    log,
    metrics,
  })
  const controllers = createControllers({
    client: leaderClient(client, leader),
    podEvents: {
      client: leaderClient(podEventClient, leader),
      informers: podEventInformers,
      serverClock,
    },
    world,
    log,
    metrics: runtimeMetrics,
    informers,
    clusters,
    ...cached,
    backups,
    apps,
    set,
    events: clusterEvents,
    recorder: telling,
    leads,
    options,
    managerNamespace: namespace,
    managerAuthority: () => ownCertificates.current()?.ca ?? '',
  })

  set.listen({
    changed: (key) => controllers.status.enqueue(key),
    decided: (key, decision, analyses, isNews) => {
      clusterEvents.decided(key, { ...decision, analyses: analyses() }, set.get(key)?.loop.recovery ?? null)
      if (isNews) controllers.status.enqueue(key)
      else controllers.status.enqueueWithin(key, sameAgainMs)
    },
    recovered: (key, recovery) => clusterEvents.ended(key, recovery),
    hookEnded: (key, run, recovery) => clusterEvents.hookEnded(key, run, recovery),
    declined: (key, sentence) => clusterEvents.declined(key, sentence),
  })

  const { webhook } = options
  const ownCertificates = followCertificates({
    client,
    world,
    log,
    namespace,
    waitForSecretMs: webhook.waitForSecretSeconds * 1_000,
    webhookConfiguration: webhook.enabled && webhook.certificateFolder === undefined ? names.webhookConfiguration : '',
  })
  tellRoutersWhomToTrust(ownCertificates, clusters, (key) => controllers.cluster.enqueue(key))
  const elector = new LeaseElector({
    client: noting(leaseClient, (trouble) => set.storeSaid(trouble)),
    lease: { namespace: options.leaderElection.namespace ?? namespace, name: names.lease },
    identity,
    world,
    logger: log,
    durations: durationsOf(options.leaderElection),
    annotations: addressInLease({ identity, ip, orchestrator: options.orchestrator }),
  })
  const election = {
    elector,
    timers: world.timers,
    failed: seldom(world.clock, (line) => log.warn(line)),
    changed(leads: boolean) {
      log.info({ identity }, leads ? 'this manager leads' : 'this manager does not lead')
      runtimeMetrics.leads(names.lease, leads)
      set.lead(leads)
      if (!leads) return
      controllers.lead()
      ownCertificates.wake()
    },
  }

  await refuseOlderDefinition(client)
  const service = serviceFor(() => set.all(), leads, namedIn)
  const token = await tokenFor(options.api, client, namespace)
  const given = await givenCertificates(webhook, { world, log })
  const routes = admissionRoutes({
    defaults: { image: options.images.mysql },
    lifecycleAgent: lifecycleAgentOf(options),
    clusterOf: (key) => clusters.get(key),
  })
  const signal = toldToStop()
  const profiling = parseListenAddress(options.profiling.address ?? '')
  log.info({ identity, namespace }, `manager ${instance} begins`)
  try {
    await runAll(
      {
        world,
        election: { run: async (until) => leader.run(election, until).then(() => 'stopped' as const) },
        groups: {
          http: [
            healthServer({
              address: options.health,
              alive: [],
              ready: [
                {
                  name: 'caches',
                  check: () => (informers.hasSynced() ? undefined : `waiting for ${informers.unsynced().join(', ')}`),
                },
              ],
              timers: world.timers,
              log,
            }),
            metricsServer({
              address: options.metrics,
              registries: [
                { metrics: async () => (metrics.collect(service.list(), service.leads), metrics.text()) },
                registry,
              ],
              log,
            }),
            ...(profiling ? [profilingServer({ address: profiling, world, log })] : []),
          ],
          webhooks: [
            {
              name: 'certificates',
              run: (until) => ownCertificates.run(until, leads),
              ready: (until) => ownCertificates.ready(until),
            },
            ...(webhook.enabled
              ? [webhookServer({ address: webhook, certificates: given ?? ownCertificates, routes, log })]
              : []),
          ],
          informers: [
            { name: 'absent namespaces', run: (until) => absence.run(until) },
            { name: 'informers', run: (until) => informers.run(until), ready: (until) => informers.synced(until) },
          ],
          others: [
            { name: 'clusters', run: async (until) => (await aborted(until), set.removeAll()) },
            { name: 'events', run: async (until) => (await aborted(until), recorder.close(2_000)) },
            { name: 'mysqlcluster controller', run: (until) => controllers.cluster.run(until) },
            { name: 'status controller', run: (until) => controllers.status.run(until) },
            { name: 'mysqlbackup controller', run: (until) => controllers.backup.run(until) },
            { name: 'app controller', run: (until) => controllers.app.run(until) },
            { name: 'pod event informers', run: (until) => podEventInformers.run(until) },
            ...controllers.optional.map((each) => ({
              name: `${each.name} controller`,
              run: (until: AbortSignal) => each.run(until),
            })),
            apiServer(
              () =>
                createApi({
                  clusters: service,
                  where: 'kubernetes',
                  token,
                  log,
                  metrics,
                  certificates: ownCertificates,
                  watcherOf: (cluster) => set.tokenOf(cluster),
                  limits: { eventStreams: mostEventStreams },
                }),
              options,
            ),
            ...orchestratorServer(options, {
              ...{ clusters: service, token, log, timers: world.timers },
              leader: () => leaderAddress(elector.lease, identity),
            }),
          ],
        },
      },
      signal,
    )
  } finally {
    log.info('manager stops; primaries stay writable')
    await Promise.all([client, urgentClient, podEventClient, leaseClient].map((one) => one.close()))
  }
}

/** A cluster is called `<namespace>.<name>`, and neither has a dot. */
function namedIn(cluster: string, host: string): NamedByHost | undefined {
  const [namespace = '', name = ''] = cluster.split('.')
  return namedByHost({ namespace, name }, host)
}

function apiServer(create: () => ReturnType<typeof createApi>, { api }: KubernetesManagerOptions): Runnable {
  return {
    name: 'API',
    async run(signal) {
      const app = await create()
      await app.listen({ host: api.host, port: api.port }).catch((error: NodeJS.ErrnoException) => {
        throw error.code === 'EADDRINUSE'
          ? new RegentError('REGENT_ADDRESS_IN_USE', say`${hostPort(api.host, api.port)} (--api-port) is taken`, {
              cause: error,
            })
          : error
      })
      await aborted(signal)
      await app.close()
    },
  }
}

function orchestratorServer(
  { orchestrator: { enabled, host, port, hosts, readOnly, loginFile } }: KubernetesManagerOptions,
  parts: Parameters<typeof openOrchestrator>[1],
): readonly Runnable[] {
  if (!enabled) return []
  const run = async (signal: AbortSignal): Promise<void> => {
    const login = loginFile === undefined ? {} : { loginFile }
    const app = await openOrchestrator({ host, port, hostNames: hosts, readOnly, ...login }, parts)
    await aborted(signal)
    await app.close()
  }
  return [{ name: 'orchestrator’s interface', run }]
}

function durationsOf({ leaseSeconds, renewDeadlineSeconds, retrySeconds }: KubernetesManagerOptions['leaderElection']) {
  return { leaseMs: leaseSeconds * 1_000, renewDeadlineMs: renewDeadlineSeconds * 1_000, retryMs: retrySeconds * 1_000 }
}

async function tokenFromSecret(client: KubeClient, namespace: string): Promise<string> {
  const found = await client.get(secrets, { namespace, name: names.tokenSecret })
  const token = textIn(found, names.tokenKey)?.trim() ?? ''
  if (token === '')
    throw new RegentError(
      'REGENT_BAD_FILE',
      say`Secret ${namespace}/${names.tokenSecret} with the API's token under "token" is not there: the chart makes it; or give --api-token-file`,
    )
  return token
}

/** Where this manager runs, as its pod says; elsewhere as the machine does. */
function ownPod(connection: { readonly namespace: string }): {
  readonly namespace: string
  readonly instance: string
  readonly ip: string | undefined
} {
  return {
    namespace: process.env['POD_NAMESPACE'] || connection.namespace,
    instance: process.env['POD_NAME'] || hostname(),
    ip: process.env['POD_IP'] || undefined,
  }
}

function tokenFor({ tokenFile }: KubernetesManagerOptions['api'], client: KubeClient, namespace: string) {
  return tokenFile === undefined ? tokenFromSecret(client, namespace) : readTokenFile(tokenFile)
}

/** Lifecycle agents run as this manager does. */
function lifecycleAgentOf({ images, webhook }: KubernetesManagerOptions): AgentImage {
  const { regent: image, pullPolicy } = images
  return { image, pullPolicy, address: isIPv6(webhook.host) ? '::' : '0.0.0.0' }
}

/** Certificates of the webhooks that a folder gives; undefined where this manager makes its own. */
async function givenCertificates(
  { certificateFolder: folder }: KubernetesManagerOptions['webhook'],
  parts: { readonly world: World; readonly log: Logger },
) {
  return folder === undefined ? undefined : followCertificateFolder({ folder, ...parts, checksPeers: false })
}
