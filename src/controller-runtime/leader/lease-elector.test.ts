import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import type { World } from '#common/ports/ports.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { createKubeClient } from '../client/http-kube-client.ts'
import { refusalIn } from '../client/kube-refusal.ts'
import type { Leadership } from './leadership.ts'
import { defaultLeaseDurations, LeaseElector, type LeaseDurations } from './lease-elector.ts'
import { leases, type Lease, type LeaseSpec } from '../objects/lease.ts'
import { FakeApiServer } from '../testing-api-server.ts'
import { ScriptedClient } from '../testing-kube-client.ts'
import { virtualWorld, type VirtualWorld } from '#common/ports/testing-world.ts'

const key = { namespace: 'regent', name: 'manager' }
const unreachable = new Error('connection refused')

/** A process: its own client to the same API server, and a view of time that can be frozen. */
class Candidate {
  readonly client = new ScriptedClient()
  readonly stop = new AbortController()
  readonly elector: LeaseElector
  readonly holders: string[] = []
  readonly lines: string[] = []
  leadership: Leadership | undefined
  outcome: string | undefined
  /** The leader's work ends when this is called, or when leadership is lost. */
  finish: () => void = () => undefined
  #frozen: (() => void)[] | undefined

  constructor(
    identity: string,
    world: VirtualWorld,
    options: { shared?: Candidate; durations?: LeaseDurations; wallAheadMs?: number; at?: string } = {},
  ) {
    if (options.shared !== undefined)
      Object.defineProperty(this.client, 'state', { value: options.shared.client.state })
    const durations = options.durations === undefined ? {} : { durations: options.durations }
    const own = this.#freezable(world, options.wallAheadMs ?? 0)
    this.elector = new LeaseElector({
      client: this.client,
      lease: key,
      identity,
      world: own,
      logger: pino({ level: 'warn' }, { write: (line) => void this.lines.push(line) }),
      onHolder: (holder) => void this.holders.push(holder),
      ...durations,
      ...(options.at !== undefined && { annotations: { at: options.at } }),
    })
  }

  get leads(): boolean {
    return this.leadership?.holds() ?? false
  }

  start(): void {
    const lead = async (leadership: Leadership): Promise<void> => {
      this.leadership = leadership
      await new Promise<void>((resolve) => {
        this.finish = resolve
        leadership.lost.addEventListener('abort', () => resolve())
      })
    }
    void this.elector.run(this.stop.signal, lead).then(
      (outcome) => (this.outcome = outcome),
      (error: unknown) => (this.outcome = String(error)),
    )
  }

  freeze(): void {
    this.#frozen = []
  }

  /** As Node does: what fell due runs one by one, each with the promises it settles. */
  async thaw(): Promise<void> {
    const due = this.#frozen ?? []
    this.#frozen = undefined
    for (const task of due) {
      task()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #freezable(world: VirtualWorld, wallAheadMs: number): World {
    const later = (task: () => void) => () => (this.#frozen === undefined ? task() : void this.#frozen.push(task))
    return {
      clock: { monotonicMs: () => world.clock.monotonicMs(), wallMs: () => world.clock.wallMs() + wallAheadMs },
      random: { ...world.random, hex: () => '00000000' },
      timers: {
        after: (ms, task) => world.timers.after(ms, later(task)),
        every: (ms, task) => world.timers.every(ms, later(task)),
        sleep: (ms, signal) => {
          const { promise, resolve, reject } = Promise.withResolvers<void>()
          const timer = world.timers.after(ms, later(resolve))
          const abort = (): void => {
            timer.cancel()
            reject(signal?.reason as Error)
          }
          if (signal?.aborted) abort()
          else signal?.addEventListener('abort', abort, { once: true })
          return promise
        },
      },
    }
  }
}

let world: VirtualWorld
let a: Candidate

beforeEach(() => {
  world = virtualWorld()
  a = new Candidate('a', world)
})

function leaseNow(): LeaseSpec {
  const [lease] = a.client.state.all('coordination.k8s.io/v1/leases')
  return lease?.spec ?? {}
}

async function leadingWithStandby(at?: string): Promise<Candidate> {
  a.start()
  await world.settle()
  const b = new Candidate('b', world, { shared: a, ...(at !== undefined && { at }) })
  b.start()
  await world.settle()
  expect([a.leads, b.leads]).toEqual([true, false])
  return b
}

describe('acquiring', () => {
  test('the first writes the lease, with times of six digits as the API server demands', async () => {
    a.start()
    await world.settle()
    expect(leaseNow()).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0 })
    expect(leaseNow().renewTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    expect(a.client.calls).toEqual(['get', 'create'])
  })

  test('a holder writes its annotations, which whoever waits sees', async () => {
    a = new Candidate('a', world, { at: 'here' })
    const b = await leadingWithStandby('there')
    await world.advance(5_000)
    expect(b.elector.lease?.metadata.annotations).toEqual({ at: 'here' })
    a.finish()
    await world.advance(5_000)
    expect(b.elector.lease?.metadata.annotations).toEqual({ at: 'there' })
  })

  test('of two that begin at the same moment one leads', async () => {
    const b = new Candidate('b', world, { shared: a })
    a.start()
    b.start()
    await world.advance(30_000)
    expect([a.leads, b.leads].filter(Boolean)).toHaveLength(1)
  })

  test('a lease that is renewed is never taken, however long one waits and whatever its holder’s calendar says', async () => {
    a = new Candidate('a', world, { wallAheadMs: -3_600_000 })
    const b = await leadingWithStandby()
    await world.advance(600_000)
    expect([a.leads, b.leads]).toEqual([true, false])
    expect(b.holders).toEqual(['a'])
  })

  test('a lease that is renewed no more is taken 15 s after it was last seen to change, not before', async () => {
    const b = await leadingWithStandby()
    a.client.before = () => Promise.reject(unreachable)
    const brokenAtMs = world.clock.monotonicMs()
    while (!b.leads) await world.advance(100)
    // b last saw the lease change at its first look, and looks when the lease runs out, not two seconds later.
    expect(world.clock.monotonicMs() - brokenAtMs).toBeGreaterThan(15_000)
    expect(world.clock.monotonicMs() - brokenAtMs).toBeLessThanOrEqual(15_100)
    expect(a.outcome).toBe('lost')
    expect(leaseNow()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 })
  })

  test('one that comes new to an old lease waits its whole duration: it cannot know how old it is', async () => {
    a.client.state.create('coordination.k8s.io/v1/leases', key.namespace, {
      metadata: { name: key.name },
      spec: { holderIdentity: 'gone', leaseDurationSeconds: 15, renewTime: '2001-01-01T00:00:00.000000Z' },
    })
    a.start()
    await world.advance(14_900)
    expect(a.leads).toBe(false)
    await world.advance(2_000)
    expect(a.leads).toBe(true)
  })

  test('a label on the lease is no sign of life of its holder', async () => {
    const b = await leadingWithStandby()
    a.client.before = () => Promise.reject(unreachable)
    for (let second = 0; second < 18; second++) {
      a.client.state.mergePatch(
        { kind: 'coordination.k8s.io/v1/leases', ...key, subresource: undefined },
        { metadata: { labels: { touched: String(second) } } },
      )
      await world.advance(1_000)
    }
    expect(b.leads).toBe(true)
  })

  test('tries go on while the API server refuses, each period or up to 2.2 of them later, and one line a minute tells', async () => {
    a.client.before = () => Promise.reject(refusalIn('a lease', { statusCode: 500, headers: {}, text: '' }))
    a.start()
    await world.advance(60_000)
    expect(a.client.calls).toHaveLength(31)
    expect(a.lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      expect.stringMatching(/^cannot acquire lease regent\/manager: /),
      expect.stringMatching(/\(29 times more since this was last said\)$/),
    ])
    a.client.before = () => undefined
    await world.advance(2_000)
    expect(a.leads).toBe(true)
  })

  test('who is told to stop while waiting stops, and never leads', async () => {
    const b = await leadingWithStandby()
    b.stop.abort(new Error('stop'))
    await world.settle()
    expect([b.outcome, b.leadership]).toEqual(['stopped', undefined])
  })
})

describe('renewing', () => {
  test('is one write each 2 s without a reading before it', async () => {
    a.start()
    await world.advance(60_000)
    expect(a.client.calls).toEqual(['get', 'create', ...Array.from({ length: 30 }, () => 'update')])
    expect(leaseNow()).toMatchObject({
      leaseTransitions: 0,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:01:00.000000Z',
    })
  })

  test('goes on after somebody else wrote into the lease without taking it', async () => {
    a.start()
    await world.settle()
    a.client.state.mergePatch(
      { kind: 'coordination.k8s.io/v1/leases', ...key, subresource: undefined },
      { metadata: { labels: { touched: 'yes' } } },
    )
    await world.advance(20_000)
    expect([a.leads, a.client.calls.slice(2, 5)]).toEqual([true, ['update', 'get', 'update']])
  })

  test('survives almost 8 s without an API server', async () => {
    a.start()
    await world.advance(2_000)
    a.client.before = () => Promise.reject(unreachable)
    // Tries at 4, 6 and 8 s fail, the one at 10 s is in time: the deadline is at 12 s.
    await world.advance(7_900)
    a.client.before = () => undefined
    await world.advance(60_000)
    expect([a.leads, a.outcome]).toEqual([true, undefined])
  })

  test('that fails for 10 s since the last success was sent loses leadership, before anybody else has it', async () => {
    const b = await leadingWithStandby()
    await world.advance(4_000)
    a.client.before = () => Promise.reject(unreachable)
    await world.advance(9_999)
    expect([a.leadership?.lost.aborted, b.leads]).toEqual([false, false])
    await world.advance(1)
    expect([a.leadership?.lost.aborted, a.outcome, b.leads]).toEqual([true, 'lost', false])
    expect(a.leadership?.lost.reason).toMatchObject({
      code: 'REGENT_NOT_LEADER',
      message: expect.stringContaining('10000 ms') as string,
    })
  })

  test('counts from when a renewal was sent, not from when its slow answer came', async () => {
    a.start()
    await world.settle()
    a.client.before = () => world.timers.sleep(4_000)
    await world.advance(6_000)
    // Sent at 2 s, answered at 6 s; from now on nothing comes through.
    a.client.before = () => Promise.reject(unreachable)
    await world.advance(5_999)
    expect(a.leads).toBe(true)
    await world.advance(1)
    expect(a.leadership?.lost.aborted).toBe(true)
  })

  test('that hangs does not hold up the end', async () => {
    a.start()
    await world.settle()
    a.client.before = () => new Promise(() => undefined)
    await world.advance(10_000)
    expect(a.leadership?.lost.aborted).toBe(true)
  })

  test.each(['', 'somebody'])(
    'that finds the lease with %j as its holder loses leadership at once',
    async (holderIdentity) => {
      a.start()
      await world.settle()
      a.client.state.mergePatch(
        { kind: 'coordination.k8s.io/v1/leases', ...key, subresource: undefined },
        { spec: { holderIdentity } },
      )
      await world.advance(2_000)
      expect([a.leadership?.lost.aborted, leaseNow().holderIdentity]).toEqual([true, holderIdentity])
    },
  )

  test('makes a deleted lease anew', async () => {
    a.start()
    await world.settle()
    a.client.state.delete({ kind: 'coordination.k8s.io/v1/leases', ...key, subresource: undefined })
    await world.advance(4_000)
    expect([a.leads, leaseNow().holderIdentity]).toEqual([true, 'a'])
  })
})

describe('a holder that was frozen for a minute', () => {
  test('knows on waking that it leads no longer, before any of its timers has run, and another leads', async () => {
    const b = await leadingWithStandby()
    a.freeze()
    await world.advance(60_000)
    expect([b.leads, leaseNow().holderIdentity]).toEqual([true, 'b'])
    expect(a.leadership?.lost.aborted).toBe(false)
    expect(a.leads).toBe(false)
    expect(a.leadership?.lost.aborted).toBe(true)
    await a.thaw()
    await world.advance(30_000)
    expect([a.outcome, b.leads, leaseNow().holderIdentity]).toEqual(['lost', true, 'b'])
  })

  test('does not write to the lease again, even where nobody took it', async () => {
    a.start()
    await world.advance(2_000)
    a.freeze()
    await world.advance(60_000)
    const before = a.client.calls.length
    await a.thaw()
    await world.advance(30_000)
    expect([a.outcome, a.client.calls.length]).toEqual(['lost', before])
  })
})

describe('stopping', () => {
  test('keeps renewing until the leader’s work has ended, then releases, and the next one leads at its next look', async () => {
    const b = await leadingWithStandby()
    a.stop.abort(new Error('stop'))
    await world.advance(60_000)
    expect([a.leads, b.leads]).toEqual([true, false])
    a.finish()
    await world.settle()
    expect([a.outcome, a.leads]).toEqual(['stopped', false])
    expect(leaseNow()).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 })
    await world.advance(2_000)
    expect([b.leads, leaseNow().leaseTransitions]).toEqual([true, 1])
  })

  test('releases also where the leader’s work failed, and tells why', async () => {
    const failing = a.elector.run(a.stop.signal, () => Promise.reject(new Error('out of ideas')))
    await expect(failing).rejects.toThrow('out of ideas')
    expect(leaseNow().holderIdentity).toBe('')
  })

  test('ends although the release fails, and leads no longer', async () => {
    a.start()
    await world.settle()
    a.client.before = () => Promise.reject(unreachable)
    a.finish()
    await world.settle()
    expect([a.outcome, a.leads, leaseNow().holderIdentity]).toEqual(['stopped', false, 'a'])
  })

  test('a term that is over stays over when the same process leads again', async () => {
    a.start()
    await world.settle()
    const first = a.leadership
    a.finish()
    await world.settle()
    a.start()
    await world.settle()
    expect([first?.holds(), a.leads]).toEqual([false, true])
  })
})

test.each([
  ['a lease of broken seconds', { leaseMs: 1_500 }],
  ['a renew deadline that is not shorter than the lease', { renewDeadlineMs: 15_000 }],
  ['a retry period too long for the renew deadline', { retryMs: 8_334 }],
])('%s is refused', (_, durations) => {
  expect(() => new Candidate('a', world, { durations: { ...defaultLeaseDurations, ...durations } })).toThrow(
    expect.objectContaining({ code: 'REGENT_BAD_REQUEST' }),
  )
})

/** Every 40 s one of the two is cut off for 30 s; every 70 s one is frozen for 25 s. */
async function suffer(both: readonly Candidate[], step: number): Promise<void> {
  const [cut, frozen] = [both[Math.floor(step / 80) % 2], both[Math.floor(step / 140) % 2]]
  if (cut && step % 80 === 0) cut.client.before = () => Promise.reject(unreachable)
  if (cut && step % 80 === 60) cut.client.before = () => undefined
  if (step % 140 === 70) frozen?.freeze()
  if (step % 140 === 120) await frozen?.thaw()
}

test('at no moment of a long bad day do two hold leadership', async () => {
  const b = new Candidate('b', world, { shared: a })
  const both = [a, b]
  for (const one of both) one.start()
  let terms = 0
  for (let step = 0; step < 2_000; step++) {
    await suffer(both, step)
    await world.advance(500)
    expect(both.filter(({ leads }) => leads).length).toBeLessThanOrEqual(1)
    for (const one of both) {
      if (one.outcome === undefined) continue
      one.outcome = undefined
      terms += 1
      one.start()
    }
  }
  expect(terms).toBeGreaterThan(10)
})

test('over a real connection the lease is made, renewed and released as a Lease of coordination.k8s.io/v1', async () => {
  await using server = await FakeApiServer.start()
  const client = createKubeClient({
    connection: server.connection,
    world: realWorld,
    userAgent: 'regent/test',
    throttle: { qps: 0, burst: 0 },
  })
  const durations = { leaseMs: 60_000, renewDeadlineMs: 40_000, retryMs: 20 }
  const elector = new LeaseElector({
    client,
    lease: key,
    identity: 'a',
    world: realWorld,
    logger: pino({ level: 'silent' }),
    durations,
  })
  const renewals = (): number => server.requests.filter(({ method }) => method === 'PUT').length
  const outcome = await elector.run(new AbortController().signal, async () => {
    while (renewals() < 2) await realWorld.timers.sleep(10)
  })
  expect(outcome).toBe('stopped')
  const lease: Lease | undefined = await client.get(leases, key)
  expect([lease?.apiVersion, lease?.kind, lease?.spec?.holderIdentity]).toEqual(['coordination.k8s.io/v1', 'Lease', ''])
  expect(server.requests[1]).toMatchObject({
    method: 'POST',
    path: '/apis/coordination.k8s.io/v1/namespaces/regent/leases',
  })
  await client.close()
})
