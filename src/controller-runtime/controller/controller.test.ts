import { describe, expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { watchFor } from './controller-sources.ts'
import {
  Controller,
  TerminalError,
  type ControllerOptions,
  type Reconcile,
  type ReconcileFailure,
} from './controller.ts'
import { keyText, type ObjectKey } from '../objects/objects.ts'
import { testingInformer, type TestingInformer } from '../testing-informer.ts'
import { widget } from '../testing-objects.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { say } from '#common/sentence/sentence.ts'

const a: ObjectKey = { namespace: 'shop', name: 'a' }

interface Rig {
  readonly world: ReturnType<typeof virtualWorld>
  readonly informer: TestingInformer
  readonly controller: Controller
  /** When each run began, and of which key. */
  readonly runs: readonly { readonly key: string; readonly atMs: number }[]
  readonly failures: readonly ReconcileFailure[]
  stop(): Promise<void>
  readonly ended: Promise<unknown>
}

async function running(
  reconcile: Reconcile,
  options: Partial<ControllerOptions> = {},
  informer = testingInformer('widgets'),
): Promise<Rig> {
  const world = virtualWorld()
  const runs: { key: string; atMs: number }[] = []
  const failures: ReconcileFailure[] = []
  const stopped = new AbortController()
  const controller = new Controller({
    name: 'widget',
    sources: [watchFor(informer)],
    reconcile: (key, signal) => {
      runs.push({ key: keyText(key), atMs: world.clock.monotonicMs() })
      return reconcile(key, signal)
    },
    world,
    failed: (failure) => failures.push(failure),
    ...options,
  })
  const ended = controller.run(stopped.signal).catch((error: unknown) => error)
  await world.settle()
  return {
    world,
    informer,
    controller,
    runs,
    failures,
    ended,
    stop: () => (stopped.abort(new Error('stop')), world.settle()),
  }
}

const timesOf = (rig: Rig) => rig.runs.map((run) => run.atMs)

describe('A run', () => {
  it('is given the key of a changed object, in its namespace or of the whole cluster', async () => {
    const rig = await running(async () => {})
    rig.informer.put(widget('a'))
    rig.controller.enqueue({ namespace: '', name: 'worker-1' })
    await rig.world.settle()
    expect(rig.runs.map((run) => run.key)).toEqual(['shop/a', 'worker-1'])
  })

  it('comes once for one update, though the update names the object as it was and as it is', async () => {
    const rig = await running(async () => {}, {}, testingInformer('widgets', [widget('a')]))
    rig.informer.put(widget('a', { generation: 2 }))
    await rig.world.settle()
    expect(rig.runs).toHaveLength(2)
  })

  it('that is asked for within a time comes once for all who ask meanwhile, also beside a later time of its own', async () => {
    const rig = await running(async () => ({ requeueAfterMs: 30_000 }))
    rig.controller.enqueue(a)
    await rig.world.settle()
    for (let asked = 0; asked < 10; asked += 1) {
      rig.controller.enqueueWithin(a, 2_000)
      await rig.world.advance(100)
    }
    await rig.world.advance(3_000)
    expect(timesOf(rig)).toEqual([0, 2_000])
  })

  it('that ends with nothing is not repeated, and its earlier failures are forgotten', async () => {
    let outcomes = ['fail', 'fail', 'ok', 'fail', 'ok']
    const rig = await running(async () => {
      const [now, ...rest] = outcomes
      outcomes = rest
      if (now === 'fail') throw new Error('not yet')
    })
    rig.controller.enqueue(a)
    await rig.world.advance(1_000)
    expect(timesOf(rig)).toEqual([0, 5, 15])
    rig.controller.enqueue(a)
    await rig.world.advance(1_000)
    expect(timesOf(rig).slice(3)).toEqual([1_000, 1_005])
    expect(rig.failures.map((failure) => failure.failures)).toEqual([1, 2, 1])
  })

  it('that throws is tried again, later each time up to the cap, and every failure is told', async () => {
    const rig = await running(() => Promise.reject(new Error('no')), { backOff: { baseMs: 5, capMs: 30 } })
    rig.controller.enqueue(a)
    await rig.world.advance(100)
    expect(timesOf(rig)).toEqual([0, 5, 15, 35, 65, 95])
    expect(rig.failures[0]).toMatchObject({ key: a, failures: 1, willRetry: true, error: new Error('no') })
  })

  it('that throws before it gives a promise ends neither its worker nor the controller', async () => {
    const rig = await running((key) => {
      if (key.name === 'bad') throw new TypeError('undefined is not a function')
      return Promise.resolve()
    })
    rig.controller.enqueue({ namespace: 'shop', name: 'bad' })
    rig.controller.enqueue(a)
    await rig.world.advance(5)
    expect(rig.runs.map((run) => run.key)).toEqual(['shop/bad', 'shop/a', 'shop/bad'])
  })

  it('that throws a TerminalError is not tried again until its object changes', async () => {
    const rig = await running(() =>
      Promise.reject(new TerminalError('REGENT_REFUSED', say`the specification contradicts itself`)),
    )
    rig.controller.enqueue(a)
    await rig.world.advance(10_000_000)
    expect(rig.runs).toHaveLength(1)
    expect(rig.failures).toMatchObject([{ willRetry: false, failures: 1 }])
    rig.informer.put(widget('a'))
    await rig.world.settle()
    expect(rig.runs).toHaveLength(2)
  })

  it('that asks to come again does after that time, and its earlier failures are forgotten', async () => {
    let fails = 3
    const rig = await running(async () => {
      if (fails-- > 0) throw new Error('no')
      if (fails === -1) return { requeueAfterMs: 1_000 }
      if (fails === -2) throw new Error('once more')
    })
    rig.controller.enqueue(a)
    await rig.world.advance(5_000)
    expect(timesOf(rig)).toEqual([0, 5, 15, 35, 1_035, 1_040])
  })

  it('that asks to come again at a time that is no number is a failure, not a loop', async () => {
    let times = 0
    const rig = await running(async () => ({ requeueAfterMs: times++ < 10 ? Number.NaN : 0 }))
    rig.controller.enqueue(a)
    await rig.world.advance(15)
    expect(timesOf(rig)).toEqual([0, 5, 15])
    expect(String(rig.failures[0]?.error)).toContain('requeueAfterMs of shop/a is not a number')
  })

  it('is told to end when its deadline has passed, and its key is with nobody else before it has', async () => {
    let release = () => {}
    const reasons: string[] = []
    const rig = await running(
      (_key, signal) => {
        signal.addEventListener('abort', () => reasons.push(String(signal.reason)))
        return new Promise((resolve) => (release = resolve))
      },
      { reconcileDeadlineMs: 100, workers: 2 },
    )
    rig.controller.enqueue(a)
    await rig.world.advance(99)
    expect(reasons).toEqual([])
    await rig.world.advance(1)
    expect(reasons).toEqual(['RegentError: widget has worked on shop/a for 100 ms'])
    rig.controller.enqueue(a)
    await rig.world.advance(1_000)
    expect(rig.runs).toHaveLength(1)
    release()
    await rig.world.settle()
    expect(rig.runs).toHaveLength(2)
    // That of the second run; the first one's, had it ended in time, would be gone.
    release()
    await rig.world.settle()
    expect(rig.world.pending).toBe(0)
  })
})

it('As many keys are worked on at once as there are workers, one without a word about it', async () => {
  for (const workers of [undefined, 3]) {
    const rig = await running(() => new Promise(() => {}), workers === undefined ? {} : { workers })
    for (const name of ['a', 'b', 'c', 'd', 'e']) rig.controller.enqueue({ namespace: 'shop', name })
    await rig.world.advance(1_000)
    expect(rig.runs).toHaveLength(workers ?? 1)
  }
})

it('Many keys that only cost computing time do not keep timers from running', async () => {
  const { clock, timers } = realWorld
  const stop = new AbortController()
  let runs = 0
  const compute = async () => {
    for (const began = clock.monotonicMs(); clock.monotonicMs() - began < 2;);
    if (++runs === 100) stop.abort()
  }
  const controller = new Controller({
    name: 'widget',
    sources: [],
    reconcile: compute,
    world: realWorld,
    failed: () => {},
  })
  for (let n = 0; n < 100; n++) controller.enqueue({ namespace: 'shop', name: `${n}` })
  let runsBefore = 0
  timers.after(5, () => (runsBefore = runs))
  await controller.run(stop.signal)
  expect(runsBefore).toBeGreaterThan(0)
  expect(runsBefore).toBeLessThan(100)
})

describe('A controller that starts', () => {
  it('works on nothing before its informers have synced', async () => {
    const informer = testingInformer('widgets', [widget('a')], false)
    const rig = await running(async () => {}, {}, informer)
    await rig.world.advance(60_000)
    expect(rig.runs).toEqual([])
    informer.finishFirstList()
    await rig.world.advance(1_000)
    expect(rig.runs.map((run) => run.key)).toEqual(['shop/a'])
  })

  it('gives up with a sentence when an informer has not synced after 2 minutes, and leaves no handler behind', async () => {
    const informer = testingInformer('widgets.example.org', [], false)
    const rig = await running(async () => {}, {}, informer)
    await rig.world.advance(119_900)
    expect(informer.handlers).toBe(1)
    await rig.world.advance(200)
    expect(await rig.ended).toMatchObject({
      code: 'REGENT_TIMED_OUT',
      message:
        'controller widget has waited 120000 ms for widgets.example.org to be listed: look whether it may list and watch them',
    })
    expect(informer.handlers).toBe(0)
  })

  it('ends at once when it is stopped while it waits', async () => {
    const rig = await running(async () => {}, {}, testingInformer('widgets', [widget('a')], false))
    await rig.stop()
    expect(await rig.ended).toBeUndefined()
    expect(rig.runs).toEqual([])
  })
})

describe('A controller that is stopped', () => {
  it('tells its runs, waits for them to end, begins no other, and hears of no change any more', async () => {
    let release = () => {}
    let told = false
    const rig = await running((_key, signal) => {
      signal.addEventListener('abort', () => (told = true))
      return new Promise((resolve) => (release = resolve))
    })
    for (const name of ['a', 'b']) rig.controller.enqueue({ namespace: 'shop', name })
    await rig.world.settle()
    let ended = false
    void rig.ended.then(() => (ended = true))
    await rig.stop()
    await rig.world.advance(10_000)
    expect([told, ended]).toEqual([true, false])
    release()
    await rig.world.settle()
    expect([ended, rig.runs.length, rig.informer.handlers]).toEqual([true, 1, 0])
  })

  it('reports no failure of a run that it told to end', async () => {
    const rig = await running(
      (_key, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    )
    rig.controller.enqueue(a)
    await rig.world.settle()
    await rig.stop()
    await rig.ended
    expect(rig.failures).toEqual([])
  })
})
