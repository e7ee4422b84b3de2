import { describe, expect, it } from 'vitest'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { silentLog } from '../testing.ts'
import type { Task } from '../wire/definitions.ts'
import type { Loaded } from './load-copy.ts'
import { runTasks } from './run-tasks.ts'

const newReplica = { remote: '10.0.0.1', port: 3502 }
const task: Task = {
  instance: 'shop-mysql',
  task: 'newReplica',
  UID: 'u',
  replicas: 'shop-mysql-1, shop-mysql-2',
  newReplica,
}

/** A worker whose loads end when the test says so. */
function aWorker(tasks: readonly Task[], tell: () => Promise<void> = async () => undefined) {
  const world = virtualWorld()
  const told: Readonly<Record<string, unknown>>[] = []
  const loads: { readonly end: (loaded: Loaded) => void; readonly fail: (error: Error) => void }[] = []
  const done = runTasks(tasks, {
    pod: 'shop-mysql-2',
    world,
    log: silentLog(),
    signal: new AbortController().signal,
    load: (_task, progress) =>
      new Promise((end, fail) => {
        progress(() => 77)
        loads.push({ end, fail })
      }),
    tell: (reason, text) => {
      told.push({ reason, ...(JSON.parse(text) as object) })
      return tell()
    },
  })
  done.catch(() => undefined)
  return { world, told, loads, done }
}

const loaded = { bytes: 77, checked: 'all' as const }
const told = {
  reason: 'task',
  instance: 'shop-mysql',
  task: 'newReplica',
  UID: 'u',
  replica: 'shop-mysql-2',
  startTime: '2026-01-01T00:00:00.000Z',
  endTime: '2026-01-01T00:00:00.000Z',
  code: 0,
}

describe('a worker', () => {
  it('does the tasks of its pod, one after the other, and no others', async () => {
    const worker = aWorker([{ ...task, replicas: 'shop-mysql-1,shop-mysql-22' }, task, task])
    await worker.world.settle()
    expect(worker.loads).toHaveLength(1)
    worker.loads[0]?.end(loaded)
    await worker.world.settle()
    expect(worker.loads).toHaveLength(2)
    worker.loads[1]?.end(loaded)
    await worker.done
    expect(worker.told).toEqual([])
  })

  it('tells the end of a task that wants that', async () => {
    const worker = aWorker([{ ...task, notifyAtFinish: true }])
    await worker.world.settle()
    worker.loads[0]?.end(loaded)
    await worker.done
    expect(worker.told).toEqual([told])
  })

  it('fails with its task, tells why, and does no other', async () => {
    const worker = aWorker([{ ...task, notifyAtFinish: true }, task])
    await worker.world.settle()
    worker.loads[0]?.fail(new Error('disk full'))
    await expect(worker.done).rejects.toMatchObject({
      code: 'REGENT_TASK_FAILED',
      message: 'task newReplica (u): disk full',
    })
    expect(worker.told).toEqual([{ ...told, code: -1, message: 'disk full' }])
    expect(worker.loads).toHaveLength(1)
  })

  it('fails where the end of its task could not be told', async () => {
    const worker = aWorker([{ ...task, notifyAtFinish: true }], () => Promise.reject(new Error('refused')))
    await worker.world.settle()
    worker.loads[0]?.end(loaded)
    await expect(worker.done).rejects.toThrow('task newReplica (u): its end could not be told: refused')
  })

  it('tells how far it is each report period, which is 15 s at least, until its end', async () => {
    const worker = aWorker([{ ...task, reportPeriodSeconds: 1 }])
    await worker.world.advance(31_000)
    const progress = { ...told, endTime: '0001-01-01T00:00:00Z', message: '77 bytes were received' }
    expect(worker.told).toEqual([progress, progress])
    worker.loads[0]?.end(loaded)
    await worker.done
    await worker.world.advance(60_000)
    expect([worker.told.length, worker.world.pending]).toEqual([2, 0])
  })

  it.each([
    [{ ...task, task: 'other' }, 'task other (u): other is no task that is known; newReplica is'],
    [{ instance: 'i', task: 'newReplica', UID: 'u', replicas: 'shop-mysql-2' }, /it has no newReplica/],
  ])('refuses a task that it does not understand: %j', async (unknown, message) => {
    await expect(aWorker([unknown]).done).rejects.toThrow(message)
  })
})
