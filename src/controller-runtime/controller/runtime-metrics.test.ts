import { Registry } from 'prom-client'
import { beforeEach, expect, it } from 'vitest'
import { watchFor } from './controller-sources.ts'
import { Controller, TerminalError, type Reconcile } from './controller.ts'
import { createRuntimeMetrics, type RuntimeMetrics } from './runtime-metrics.ts'
import { testingInformer } from '../testing-informer.ts'
import { widget } from '../testing-objects.ts'
import { virtualWorld, type VirtualWorld } from '#common/ports/testing-world.ts'
import { say } from '#common/sentence/sentence.ts'

let registry: Registry
let metrics: RuntimeMetrics
let world: VirtualWorld
beforeEach(() => {
  registry = new Registry()
  metrics = createRuntimeMetrics(registry)
  world = virtualWorld()
})

/** The value of the series that is written so. */
async function valueOf(series: string): Promise<number | undefined> {
  const line = (await registry.metrics()).split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

function runningWith(reconcile: Reconcile, workers = 1): Controller {
  const controller = new Controller({
    name: 'widget',
    sources: [watchFor(testingInformer('widgets', [widget('a')]))],
    reconcile,
    world,
    failed: () => {},
    workers,
    metrics,
  })
  void controller.run(new AbortController().signal)
  return controller
}

const queueLabels = '{name="widget",controller="widget"}'

it('Everything a controller counts is there with zero before anything has happened', async () => {
  new Controller({
    name: 'widget',
    sources: [],
    reconcile: async () => {},
    world,
    failed: () => {},
    workers: 4,
    metrics,
  })
  for (const name of [
    'depth',
    'adds_total',
    'retries_total',
    'unfinished_work_seconds',
    'longest_running_processor_seconds',
    'queue_duration_seconds_count',
    'work_duration_seconds_count',
  ]) {
    expect([name, await valueOf(`workqueue_${name}${queueLabels}`)]).toEqual([name, 0])
  }
  for (const result of ['success', 'requeue_after', 'error'])
    expect(await valueOf(`controller_runtime_reconcile_total{controller="widget",result="${result}"}`)).toBe(0)
  for (const name of [
    'reconcile_errors_total',
    'terminal_reconcile_errors_total',
    'reconcile_time_seconds_count',
    'active_workers',
  ]) {
    expect([name, await valueOf(`controller_runtime_${name}{controller="widget"}`)]).toEqual([name, 0])
  }
  expect(await valueOf('controller_runtime_max_concurrent_reconciles{controller="widget"}')).toBe(4)
})

it('Runs are counted by how they ended, and terminal errors are errors too', async () => {
  const outcomes: Reconcile[] = [
    () => Promise.reject(new Error('no')),
    async () => ({ requeueAfterMs: 10 }),
    () => Promise.reject(new TerminalError('REGENT_REFUSED', say`never`)),
    async () => {},
  ]
  const controller = runningWith((...given) => outcomes.shift()!(...given))
  await world.advance(1_000)
  controller.enqueue({ namespace: 'shop', name: 'a' })
  await world.settle()
  const total = (result: string) =>
    valueOf(`controller_runtime_reconcile_total{controller="widget",result="${result}"}`)
  expect([await total('success'), await total('requeue_after'), await total('error')]).toEqual([1, 1, 2])
  expect(await valueOf('controller_runtime_reconcile_errors_total{controller="widget"}')).toBe(2)
  expect(await valueOf('controller_runtime_terminal_reconcile_errors_total{controller="widget"}')).toBe(1)
  expect(await valueOf(`workqueue_adds_total${queueLabels}`)).toBe(4)
  expect(await valueOf(`workqueue_retries_total${queueLabels}`)).toBe(2)
})

it('While keys wait and are worked on, the queue says how many, how long and the longest', async () => {
  const controller = runningWith(() => world.timers.sleep(10_000), 2)
  await world.advance(1_000)
  controller.enqueue({ namespace: 'shop', name: 'b' })
  controller.enqueue({ namespace: 'shop', name: 'c' })
  await world.advance(2_000)
  expect(await valueOf(`workqueue_depth${queueLabels}`)).toBe(1)
  expect(await valueOf(`workqueue_unfinished_work_seconds${queueLabels}`)).toBe(5)
  expect(await valueOf(`workqueue_longest_running_processor_seconds${queueLabels}`)).toBe(3)
  expect(await valueOf('controller_runtime_active_workers{controller="widget"}')).toBe(2)
  await world.advance(60_000)
  expect(await valueOf('controller_runtime_active_workers{controller="widget"}')).toBe(0)
  expect(await valueOf(`workqueue_queue_duration_seconds_sum${queueLabels}`)).toBe(9)
  expect(await valueOf(`workqueue_work_duration_seconds_sum${queueLabels}`)).toBe(30)
  expect(await valueOf('controller_runtime_reconcile_time_seconds_sum{controller="widget"}')).toBe(30)
})

it('Requests to the API are counted by their answer, and leading is 1 or 0', async () => {
  for (const code of ['200', '200', '409']) metrics.requested({ code, method: 'GET', host: 'api:6443' })
  expect(await valueOf('rest_client_requests_total{code="200",method="GET",host="api:6443"}')).toBe(2)
  metrics.leads('regent', true)
  expect(await valueOf('leader_election_master_status{name="regent"}')).toBe(1)
  metrics.leads('regent', false)
  expect(await valueOf('leader_election_master_status{name="regent"}')).toBe(0)
})
