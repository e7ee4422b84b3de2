import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { HookRun, Recovery } from '#failover/protocol/notes.ts'
import type { OrderName } from '#failover/protocol/order.ts'
import type { ClusterView, InstanceRow } from '#api-contract/views.ts'

/**
 * What a manager counts and shows to Prometheus. Clusters are given as the manager names them: `shop`, or
 * `<namespace>.shop` on Kubernetes.
 */
export interface ManagerMetrics {
  /** A decision with something to do was made; `kind` is its action's. */
  decided(cluster: string, kind: string): void
  /** A recovery ended. */
  recovered(cluster: string, recovery: Pick<Recovery, 'kind' | 'outcome'>): void
  /** Writes of a cluster were interrupted for this long, by this kind of recovery. */
  outage(cluster: string, kind: Recovery['kind'], ms: number): void
  /** A hook ended, or is not begun any more. */
  hookEnded(cluster: string, run: Pick<HookRun, 'moment' | 'state' | 'ms'>): void
  /** An agent answered an order, or refused it, after this long. */
  agentAnswered(order: OrderName, ms: number): void
  /** Takes the state of every cluster over into the gauges; clusters and instances that are gone vanish. */
  collect(views: readonly ClusterView[], leads: boolean): void
  /** The text that Prometheus reads, and its content type. */
  text(): Promise<string>
  readonly contentType: string
}

const outageBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const roundTripBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]

/** Metrics in a registry of their own: two managers in one process (a test) do not share theirs. */
export function createMetrics(): ManagerMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const gauges = stateGauges(registry)
  const registers = [registry]
  const decisions = new Counter({
    name: 'regent_decisions_total',
    help: 'Decisions with something to do, by what was done.',
    labelNames: ['namespace', 'cluster', 'kind'],
    registers,
  })
  const recoveries = new Counter({
    name: 'regent_recoveries_total',
    help: 'Recoveries that ended.',
    labelNames: ['namespace', 'cluster', 'kind', 'outcome'],
    registers,
  })
  const outages = new Histogram({
    name: 'regent_outage_seconds',
    help: 'How long writes were interrupted.',
    labelNames: ['namespace', 'cluster', 'kind'],
    buckets: outageBuckets,
    registers,
  })
  const hooks = new Counter({
    name: 'regent_hook_runs_total',
    help: 'Runs of hooks, by how they ended.',
    labelNames: ['namespace', 'cluster', 'moment', 'state'],
    registers,
  })
  const hookSeconds = new Histogram({
    name: 'regent_hook_seconds',
    help: 'How long hooks ran.',
    labelNames: ['namespace', 'cluster', 'moment'],
    buckets: outageBuckets,
    registers,
  })
  const roundTrips = new Histogram({
    name: 'regent_agent_round_trip_seconds',
    help: 'Time until an agent answered an order.',
    labelNames: ['order'],
    buckets: roundTripBuckets,
    registers,
  })

  const series = new SeriesOfClusters()

  return {
    decided: (cluster, kind) => decisions.inc(series.of(cluster, decisions, { kind })),
    recovered: (cluster, { kind, outcome }) => recoveries.inc(series.of(cluster, recoveries, { kind, outcome })),
    outage: (cluster, kind, ms) => outages.observe(series.of(cluster, outages, { kind }), ms / 1_000),
    hookEnded(cluster, { moment, state, ms }) {
      hooks.inc(series.of(cluster, hooks, { moment, state }))
      if (ms !== null) hookSeconds.observe(series.of(cluster, hookSeconds, { moment }), ms / 1_000)
    },
    agentAnswered: (order, ms) => roundTrips.observe({ order }, ms / 1_000),
    collect(views, leads) {
      gauges(views, leads)
      series.keepOnly(new Set(views.map(({ name }) => name)))
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}

type MetricOfCluster = Pick<Counter | Histogram, 'remove'>
type LabelValues = Readonly<Record<string, string>>

/** What was counted of each cluster: of clusters that come and go by the hundred each would stay for ever. */
class SeriesOfClusters {
  readonly #byCluster = new Map<string, Map<MetricOfCluster, Map<string, LabelValues>>>()

  /** @returns the labels of a series, which is forgotten with its cluster */
  of(cluster: string, metric: MetricOfCluster, more: LabelValues): LabelValues {
    const labels = { ...labelsOf(cluster), ...more }
    const metrics = this.#byCluster.get(cluster) ?? new Map<MetricOfCluster, Map<string, LabelValues>>()
    const known = metrics.get(metric) ?? new Map<string, LabelValues>()
    this.#byCluster.set(cluster, metrics.set(metric, known.set(JSON.stringify(more), labels)))
    return labels
  }

  keepOnly(clusters: ReadonlySet<string>): void {
    for (const [cluster, metrics] of this.#byCluster) {
      if (clusters.has(cluster)) continue
      for (const [metric, all] of metrics) for (const labels of all.values()) metric.remove(labels)
      this.#byCluster.delete(cluster)
    }
  }
}

/**
 * Two labels, as agents' metrics have them from Prometheus: dashboards and alerts tell clusters of one name apart, and
 * find both. A label that is not set is filled in with the namespace of the manager's pod.
 */
function labelsOf(cluster: string): { readonly namespace?: string; readonly cluster: string } {
  const [name = '', namespace] = cluster.split('.').toReversed()
  return { ...(namespace !== undefined && { namespace }), cluster: name }
}

function stateGauges(registry: Registry): ManagerMetrics['collect'] {
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  const leader = gauge('regent_leader', '1 while this manager leads.')
  const perCluster = {
    epoch: gauge('regent_epoch', 'Epoch of the cluster.', 'namespace', 'cluster'),
    writable: gauge(
      'regent_writable',
      '1 while the primary takes writes; absent while that is not known.',
      'namespace',
      'cluster',
    ),
    writableUnknown: gauge(
      'regent_writable_unknown',
      '1 while the primary’s agent is silent, and nobody knows whether the primary takes writes.',
      'namespace',
      'cluster',
    ),
    syncSet: gauge('regent_sync_set_size', 'Replicas whose acknowledgement counts.', 'namespace', 'cluster'),
    acks: gauge('regent_acks', 'Acknowledgements a write needs.', 'namespace', 'cluster'),
  }
  const condition = gauge(
    'regent_cluster_condition',
    '1 for the condition that a cluster is in, by the manager that decides.',
    'namespace',
    'cluster',
    'condition',
  )
  const role = gauge(
    'regent_instance_role',
    '1 for the role an instance has.',
    'namespace',
    'cluster',
    'instance',
    'role',
  )
  const lag = gauge(
    'regent_replica_lag_seconds',
    'How far a replica is behind; absent when unknown, and when idle without a heartbeat.',
    'namespace',
    'cluster',
    'instance',
  )
  const group = groupGauges(gauge)
  const downtime = gauge(
    'regent_instance_downtime',
    '1 while trouble of an instance is expected; absent otherwise.',
    'namespace',
    'cluster',
    'instance',
  )

  return (views, leads) => {
    leader.set(Number(leads))
    for (const each of [...Object.values(perCluster), ...Object.values(group), condition, role, lag, downtime])
      each.reset()
    for (const view of views) {
      const cluster = labelsOf(view.name)
      perCluster.epoch.set(cluster, view.epoch)
      if (view.condition !== null) condition.set({ ...cluster, condition: view.condition }, 1)
      if (view.writable !== null) perCluster.writable.set(cluster, Number(view.writable))
      perCluster.writableUnknown.set(cluster, Number(view.writable === null))
      showProtection(view, cluster, { ...perCluster, ...group })
      for (const instance of view.instances) {
        showMember(instance, cluster, group)
        role.set({ ...cluster, instance: instance.name, role: instance.role }, 1)
        // The notes of one that does not lead may be old: an alert would stay silent after a person ended a downtime.
        if (leads && instance.downtime !== undefined) downtime.set({ ...cluster, instance: instance.name }, 1)
        if (instance.lagSeconds !== null) lag.set({ ...cluster, instance: instance.name }, instance.lagSeconds)
      }
    }
  }
}

type NewGauge = (name: string, help: string, ...labelNames: string[]) => Gauge
type Labels = ReturnType<typeof labelsOf>

/** Gauges of clusters that are one replication group. */
function groupGauges(gauge: NewGauge) {
  return {
    online: gauge('regent_group_members_online', 'Members that are ONLINE.', 'namespace', 'cluster'),
    admitted: gauge('regent_group_members', 'Members that the record admits.', 'namespace', 'cluster'),
    quorum: gauge('regent_group_quorum', '1 while a majority of the group agrees on a view.', 'namespace', 'cluster'),
    mayBeLost: gauge(
      'regent_group_may_be_lost',
      'Members that may be lost at once, and the rest is still a majority.',
      'namespace',
      'cluster',
    ),
    state: gauge(
      'regent_group_member_state',
      '1 for the state that a member has in the view of the majority.',
      'namespace',
      'cluster',
      'instance',
      'state',
    ),
    applying: gauge(
      'regent_group_member_applying',
      'Transactions that wait at a member to be applied; absent where it is not heard.',
      'namespace',
      'cluster',
      'instance',
    ),
  }
}

type GroupGauges = ReturnType<typeof groupGauges>

/** A group acknowledges by itself: there is no sync set whose size and acknowledgements an alert may compare. */
function showProtection(
  { group, syncSet, acks }: ClusterView,
  cluster: Labels,
  gauges: Pick<GroupGauges, 'online' | 'admitted' | 'quorum' | 'mayBeLost'> & {
    readonly syncSet: Gauge
    readonly acks: Gauge
  },
): void {
  if (group === undefined) {
    gauges.syncSet.set(cluster, syncSet.length)
    gauges.acks.set(cluster, acks)
    return
  }
  gauges.online.set(cluster, group.online)
  gauges.admitted.set(cluster, group.expected)
  gauges.quorum.set(cluster, Number(group.viewId !== null))
  gauges.mayBeLost.set(cluster, group.mayBeLost)
}

function showMember({ name, group }: InstanceRow, cluster: Labels, { state, applying }: GroupGauges): void {
  if (group === undefined) return
  if (group.state !== null) state.set({ ...cluster, instance: name, state: group.state }, 1)
  if (group.applying !== null) applying.set({ ...cluster, instance: name }, group.applying)
}
