import { describe, expect, it } from 'vitest'
import type { ConfigMap } from '#controller-runtime/objects/config-map.ts'
import { labels } from '../names/names.ts'
import { statefulSets, type Pod } from '../pods/stateful-set.ts'
import { decideTask, type TaskQuestion } from './decide-task.ts'
import { marks } from './marks.ts'
import type { PodEvent } from './pod-event.ts'
import { taskKey } from './task-record.ts'
import { aMember, anOwner, said, type SaidShape } from './testing-component.ts'

const place = { resource: statefulSets, key: { namespace: 'shops', name: 'db' }, uid: 'set-1' }
const task = (replicas: string, uid = 'task-1') => ({
  instance: 'db',
  task: 'newReplica',
  UID: uid,
  replicas,
  extra: 7,
})
const zero = '0001-01-01T00:00:00Z'

/** What the worker of `db-1` says. */
function workerSaid(fields: object, shape: SaidShape = {}): PodEvent {
  const message = {
    ...{ instance: 'db', task: 'newReplica', UID: 'task-1', replica: 'db-1' },
    ...{ startTime: '2026-01-01T00:00:00Z', endTime: zero, code: 0, ...fields },
  }
  return said(1, 'task', message, shape)
}
const finished = { endTime: '2026-01-01T00:05:00Z' }

/** Takes its environment from the component's ConfigMap. */
function aWorkersPod(name = 'db-env'): Pod {
  const worker = { name: 'kbagent-worker', envFrom: [{ configMapRef: { name } }] }
  return { ...aMember(1), spec: { containers: [], initContainers: [worker] } }
}

function environment(...tasks: readonly object[]): ConfigMap {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'db-env', namespace: 'shops', resourceVersion: '3' },
    data: { [taskKey]: JSON.stringify(tasks) },
  }
}

function decided(event: PodEvent, known: Partial<TaskQuestion> = {}) {
  return decideTask({
    ...{ event, pod: aWorkersPod(), place, owner: anOwner() },
    ...{ environment: environment(task('db-1,db-2')), ...known },
  })
}

/** What the owner says of its replicas afterwards. */
function statusAfter(decision: ReturnType<typeof decided>): unknown {
  const metadata = decision.changes.map(({ patch }) => patch['metadata'] as { readonly annotations?: object })
  const text = metadata.map(({ annotations }) => Object(annotations) as Record<string, string>)
  return JSON.parse(text.find((each) => marks.replicasStatus in each)?.[marks.replicasStatus] ?? 'null')
}

const rest = { name: 'db-1', generation: '0', creationTimestamp: zero }

describe('A new replica', () => {
  it('whose data is there is taken from the record first, then said to be loaded', () => {
    const decision = decided(workerSaid(finished))
    expect(decision).toMatchObject({
      weight: 'news',
      reason: 'TaskFinished',
      sentence: 'db-1 has its data: newReplica is finished',
    })
    expect(decision.changes[0]).toMatchObject({
      key: { namespace: 'shops', name: 'db-env' },
      patch: { metadata: { resourceVersion: '3' }, data: { [taskKey]: JSON.stringify([task('db-2')]) } },
    })
    expect(decision.changes[1]).toMatchObject({ key: place.key, patch: { metadata: { resourceVersion: '1' } } })
    expect(statusAfter(decision)).toEqual({
      replicas: 3,
      status: [{ ...rest, provisioned: true, dataLoaded: true }],
    })
  })

  it('is taken from both lists of its task', () => {
    const newReplica = { remote: 'db-0', port: 3502, replicas: 'db-1,db-2' }
    const decision = decided(workerSaid(finished), { environment: environment({ ...task('db-1,db-2'), newReplica }) })
    expect(decision.changes[0]?.patch['data']).toEqual({
      [taskKey]: JSON.stringify([{ ...task('db-2'), newReplica: { ...newReplica, replicas: 'db-2' } }]),
    })
  })

  it('is not said to be loaded by the end of an earlier task of its own, while a newer one waits', () => {
    const decision = decided(workerSaid(finished), { environment: environment(task('db-1,db-2', 'task-2')) })
    expect(decision).toMatchObject({ changes: [], reason: 'TaskOver' })
    expect(String(decision.sentence)).toBe('db-1: its newReplica of that time is over, and another one waits for it')
  })

  it('that was the last one of its task ends the task, and leaves other tasks as they are', () => {
    const others = [task('db-2', 'task-2'), { ...task('db-1'), task: 'another' }]
    const decision = decided(workerSaid(finished), { environment: environment(task('db-1'), ...others) })
    expect(decision.changes[0]?.patch['data']).toEqual({ [taskKey]: JSON.stringify(others) })
  })

  it('that is still loading is said to be so', () => {
    const decision = decided(workerSaid({ message: '40 %' }))
    expect(decision).toMatchObject({ reason: 'TaskProgress', sentence: 'db-1: newReplica goes on: 40 %' })
    expect(decision.changes.map(({ key }) => key.name)).toEqual(['db'])
    expect(statusAfter(decision)).toEqual({
      replicas: 3,
      status: [{ ...rest, provisioned: true, dataLoaded: false, message: '40 %' }],
    })
  })

  it('whose data could not be loaded keeps what was so, with the reason, and stays in the record', () => {
    const before = { replicas: 3, status: [{ ...rest, provisioned: false, dataLoaded: false }], other: 1 }
    const owner = anOwner({ [marks.replicasStatus]: JSON.stringify(before) })
    const decision = decided(workerSaid({ ...finished, code: -1, message: 'no route' }), { owner })
    expect(decision).toMatchObject({
      weight: 'warning',
      reason: 'TaskFailed',
      sentence: 'db-1: newReplica failed with code -1: no route',
    })
    expect(decision.changes.map(({ key }) => key.name)).toEqual(['db'])
    expect(statusAfter(decision)).toEqual({
      ...before,
      status: [{ ...before.status[0], provisioned: true, message: 'no route' }],
    })
  })

  it('leaves other replicas, and fields that are not known, as they are', () => {
    const other = { name: 'db-0', generation: '1', creationTimestamp: zero, memberJoined: true, another: 'x' }
    const owner = anOwner({ [marks.replicasStatus]: JSON.stringify({ replicas: 2, status: [other, rest] }) })
    expect(statusAfter(decided(workerSaid(finished), { owner }))).toEqual({
      replicas: 2,
      status: [other, { ...rest, provisioned: true, dataLoaded: true }],
    })
  })

  it('is the first of an owner whose status has none yet, as Go writes an empty list', () => {
    const owner = anOwner({ [marks.replicasStatus]: '{"replicas":3,"status":null}' })
    const decision = decided(workerSaid(finished), { owner })
    expect(decision.changes.map(({ key }) => key.name)).toEqual(['db-env', 'db'])
    expect(statusAfter(decision)).toEqual({
      replicas: 3,
      status: [{ ...rest, provisioned: true, dataLoaded: true }],
    })
  })

  it('of which the same is said again changes nothing', () => {
    const done = { replicas: 3, status: [{ ...rest, provisioned: true, dataLoaded: true }] }
    const owner = anOwner({ [marks.replicasStatus]: JSON.stringify(done) })
    expect(decided(workerSaid(finished), { owner, environment: environment(task('db-2')) }).changes).toEqual([])
  })

  it.each([{}, { ...finished, code: -1 }])('is not unmade by what is heard after its end: %j', (late) => {
    expect(decided(workerSaid(late), { environment: environment(task('db-2')) })).toMatchObject({
      changes: [],
      reason: 'TaskOver',
    })
  })

  it('is said to be loaded also where no record is left', () => {
    expect(decided(workerSaid(finished), { environment: undefined }).changes.map(({ key }) => key.name)).toEqual(['db'])
  })

  it('changes no ConfigMap that its pod does not take its environment from', () => {
    const decision = decided(workerSaid(finished), { pod: aWorkersPod('another-env') })
    expect(decision.changes.map(({ key }) => key.name)).toEqual(['db'])
  })

  it('may take the record by a key of its own', () => {
    const valueFrom = { configMapKeyRef: { name: 'db-env', key: taskKey } }
    const spec = { containers: [{ name: 'worker', env: [{ name: taskKey, valueFrom }] }] }
    const decision = decided(workerSaid(finished), { pod: { ...aMember(1), spec } })
    expect(decision.changes.map(({ key }) => key.name)).toEqual(['db-env', 'db'])
  })
})

describe('Nothing changes', () => {
  it.each<[string, PodEvent, Partial<TaskQuestion>, string]>([
    ['by what is no JSON', workerSaid({}, { event: { message: 'x' } }), {}, 'TaskNotUnderstood'],
    ['by a task that nobody knows', workerSaid({ task: 'dance' }), {}, 'TaskNotUnderstood'],
    ['by who speaks for another', workerSaid({ replica: 'db-2' }), {}, 'TaskNotUnderstood'],
    ['by a pod of another uid', workerSaid(finished, { uid: 'uid-old' }), {}, 'PodGone'],
    ['by a pod that is gone', workerSaid(finished), { pod: undefined }, 'PodGone'],
    [
      'of a pod that Regent governs',
      workerSaid(finished),
      { pod: { ...aMember(1, { metadata: { labels: { [labels.cluster]: 'shop' } } }) } },
      'TaskGoverned',
    ],
    ['without a known owner', workerSaid(finished), { owner: undefined }, 'OwnerUnknown'],
    [
      'where the record is no JSON',
      workerSaid(finished),
      { environment: { ...environment(), data: { [taskKey]: '[' } } },
      'TaskNotUnderstood',
    ],
    [
      'where the record is no list',
      workerSaid(finished),
      { environment: { ...environment(), data: { [taskKey]: '{}' } } },
      'TaskNotUnderstood',
    ],
    [
      'where the status of replicas is no JSON',
      workerSaid(finished),
      { owner: anOwner({ [marks.replicasStatus]: 'x' }) },
      'TaskNotUnderstood',
    ],
    [
      'where the record is a list of something else',
      workerSaid(finished),
      { environment: { ...environment(), data: { [taskKey]: '[null]' } } },
      'TaskNotUnderstood',
    ],
    [
      'where the status of replicas is a list of something else',
      workerSaid(finished),
      { owner: anOwner({ [marks.replicasStatus]: '{"status":[null]}' }) },
      'TaskNotUnderstood',
    ],
  ])('%s', (_what, event, known, reason) => {
    expect(decided(event, known)).toMatchObject({ changes: [], reason })
  })
})
