import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { QueueRecorder } from './work-queue.ts'

/** How a run of a reconciler ended. */
export type ReconcileOutcome = 'success' | 'requeue_after' | 'error' | 'terminal_error'

/** What is read of a queue when somebody asks for the metrics. */
interface QueueView {
  depth(): number
  /** How long each key that a worker has now has been with it. */
  runningMs(): readonly number[]
}

export interface ControllerRecorder {
  readonly queue: QueueRecorder
  /** A worker began to work on a key. */
  began(): void
  /** The reconcile has ended after this long. */
  ended(outcome: ReconcileOutcome, ms: number): void
}

export interface RuntimeMetrics {
  /** For one controller: its series are there with zeroes at once, so that a first failure shows as an increase. */
  forController(name: string, workers: number, queue: QueueView): ControllerRecorder
  /** The API server answered a request; `code` is `<error>` when it did not. */
  requested(request: ApiRequest): void
  /** The process leads or no longer leads by the lease of this name. */
  leads(lease: string, leads: boolean): void
}

interface ApiRequest {
  readonly method: string
  readonly host: string
  readonly code: string
}

/** 10 ns to 1000 s, as client-go's. */
const queueBuckets = Array.from({ length: 12 }, (_, index) => 10 ** (index - 8))
const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
]

/** Metrics under the names and labels that dashboards for operators look for, in a registry that the caller serves. */
export function createRuntimeMetrics(registry: Registry): RuntimeMetrics {
  const registers = [registry]
  const requests = new Counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the Kubernetes API, by answer, method and host.',
    labelNames: ['code', 'method', 'host'],
    registers,
  })
  const leading = new Gauge({
    name: 'leader_election_master_status',
    help: '1 while this process leads.',
    labelNames: ['name'],
    registers,
  })
  const queues = queueMetrics(registry)
  const reconciles = reconcileMetrics(registry)
  return {
    forController: (name, workers, queue) => ({ ...reconciles(name, workers), queue: queues(name, queue) }),
    requested: ({ code, method, host }) => requests.inc({ code, method, host }),
    leads: (name, leads) => leading.set({ name }, Number(leads)),
  }
}

function queueMetrics(registry: Registry): (name: string, view: QueueView) => QueueRecorder {
  const views = new Map<string, QueueView>()
  const common = { labelNames: ['name', 'controller'], registers: [registry] }
  /** Read when asked for, so never older than the question. */
  const readGauge = (name: string, help: string, read: (view: QueueView) => number) =>
    new Gauge({
      ...common,
      name,
      help,
      collect() {
        for (const [queue, view] of views) this.set({ name: queue, controller: queue }, read(view))
      },
    })
  readGauge('workqueue_depth', 'Keys that wait for a worker.', (view) => view.depth())
  readGauge(
    'workqueue_unfinished_work_seconds',
    'How long all keys that are worked on have been, together.',
    (view) => sum(view.runningMs()) / 1_000,
  )
  readGauge(
    'workqueue_longest_running_processor_seconds',
    'How long the key has been worked on that has been longest.',
    (view) => Math.max(0, ...view.runningMs()) / 1_000,
  )
  const adds = new Counter({
    ...common,
    name: 'workqueue_adds_total',
    help: 'Keys that were added and were not in already.',
  })
  const retries = new Counter({
    ...common,
    name: 'workqueue_retries_total',
    help: 'Keys that were to come again, after a failure or at a time asked for.',
  })
  const waited = new Histogram({
    ...common,
    name: 'workqueue_queue_duration_seconds',
    help: 'How long a key waited for a worker.',
    buckets: queueBuckets,
  })
  const worked = new Histogram({
    ...common,
    name: 'workqueue_work_duration_seconds',
    help: 'How long a worker had a key.',
    buckets: queueBuckets,
  })

  return (name, view) => {
    views.set(name, view)
    const labels = { name, controller: name }
    adds.inc(labels, 0)
    retries.inc(labels, 0)
    for (const histogram of [waited, worked]) histogram.zero(labels)
    return {
      added: () => adds.inc(labels),
      taken: (ms) => waited.observe(labels, ms / 1_000),
      worked: (ms) => worked.observe(labels, ms / 1_000),
      retried: () => retries.inc(labels),
    }
  }
}

function reconcileMetrics(
  registry: Registry,
): (controller: string, workers: number) => Omit<ControllerRecorder, 'queue'> {
  const common = { labelNames: ['controller'], registers: [registry] }
  const total = new Counter({
    ...common,
    name: 'controller_runtime_reconcile_total',
    help: 'Runs of a reconciler, by how they ended.',
    labelNames: ['controller', 'result'],
  })
  const errors = new Counter({
    ...common,
    name: 'controller_runtime_reconcile_errors_total',
    help: 'Runs that failed.',
  })
  const terminal = new Counter({
    ...common,
    name: 'controller_runtime_terminal_reconcile_errors_total',
    help: 'Runs that failed and are not tried again.',
  })
  const time = new Histogram({
    ...common,
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'How long a run took.',
    buckets: reconcileBuckets,
  })
  const most = new Gauge({
    ...common,
    name: 'controller_runtime_max_concurrent_reconciles',
    help: 'How many keys may be worked on at once.',
  })
  const active = new Gauge({
    ...common,
    name: 'controller_runtime_active_workers',
    help: 'How many keys are worked on now.',
  })

  return (controller, workers) => {
    for (const result of ['success', 'requeue_after', 'error']) total.inc({ controller, result }, 0)
    for (const counter of [errors, terminal]) counter.inc({ controller }, 0)
    time.zero({ controller })
    most.set({ controller }, workers)
    active.set({ controller }, 0)
    return {
      began: () => active.inc({ controller }),
      ended: (outcome, ms) => {
        const isTerminal = outcome === 'terminal_error'
        active.dec({ controller })
        time.observe({ controller }, ms / 1_000)
        total.inc({ controller, result: isTerminal ? 'error' : outcome })
        if (isTerminal || outcome === 'error') errors.inc({ controller })
        if (isTerminal) terminal.inc({ controller })
      },
    }
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
