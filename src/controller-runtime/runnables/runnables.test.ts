import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { LeaseElector } from '../leader/lease-elector.ts'
import { leases } from '../objects/lease.ts'
import type { Leadership } from '../leader/leadership.ts'
import {
  runAll,
  type Election,
  type LeaderRunnable,
  type RunParts,
  type Runnable,
  type RunnableGroups,
} from './runnables.ts'
import { ScriptedClient } from '../testing-kube-client.ts'
import { virtualWorld, type VirtualWorld } from '#common/ports/testing-world.ts'

let world: VirtualWorld
/** What happened, in its order. */
let told: string[]
let stop: AbortController

beforeEach(() => {
  world = virtualWorld()
  told = []
  stop = new AbortController()
})

/** A runnable that ends `endsAfterMs` after it is told to. */
function part(name: string, { endsAfterMs = 0, readyAfterMs = 0 } = {}): Runnable {
  return {
    name,
    ready: async () => {
      if (readyAfterMs > 0) await world.timers.sleep(readyAfterMs)
      told.push(`${name} ready`)
    },
    run: async (signal) => {
      told.push(`${name} begins`)
      await ended(signal)
      told.push(`${name} told`)
      if (endsAfterMs > 0) await world.timers.sleep(endsAfterMs)
      told.push(`${name} ended`)
    },
  }
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())))
}

/** An election that is won after `afterMs`, and lost when a test says so. */
function election(afterMs = 0) {
  const lost = new AbortController()
  const leadership: Leadership = { lost: lost.signal, holds: () => !lost.signal.aborted }
  const run: Election['run'] = async (signal, lead) => {
    await Promise.race([world.timers.sleep(afterMs), ended(signal)])
    if (signal.aborted) return 'stopped'
    told.push('leads')
    await lead(leadership)
    told.push(lost.signal.aborted ? 'lost' : 'gave leadership back')
    return lost.signal.aborted ? 'lost' : 'stopped'
  }
  return { run, lose: (why: string) => lost.abort(new Error(why)) }
}

/** Starts everything; `outcome` is what it came to. */
function start(groups: RunnableGroups, parts: Partial<RunParts> = {}) {
  const state: { outcome?: unknown } = {}
  void runAll({ groups, election: election(), world, ...parts }, stop.signal).then(
    () => (state.outcome = 'stopped'),
    (error: unknown) => (state.outcome = error),
  )
  return state
}

const everybody = (): RunnableGroups => ({
  leaders: [part('controller', { endsAfterMs: 50 })],
  others: [part('poller', { endsAfterMs: 50 })],
  informers: [part('informer', { readyAfterMs: 30, endsAfterMs: 50 })],
  webhooks: [part('webhook', { readyAfterMs: 30, endsAfterMs: 50 })],
  http: [part('metrics', { readyAfterMs: 30, endsAfterMs: 50 })],
})

describe('Starting', () => {
  it('goes from servers to webhooks, informers, others and leaders, each group once the one before is ready', async () => {
    start(everybody())
    await world.advance(1_000)
    expect(told).toEqual([
      ...['metrics begins', 'metrics ready', 'webhook begins', 'webhook ready', 'informer begins', 'informer ready'],
      ...['poller begins', 'poller ready', 'leads', 'controller begins'],
    ])
  })

  it('gives all but the leaders to a process that does not lead yet', async () => {
    start(everybody(), { election: election(10_000) })
    await world.advance(9_000)
    expect(told).not.toContain('controller begins')
    expect(told).toContain('poller begins')
    await world.advance(2_000)
    expect(told).toContain('controller begins')
  })

  it('gives up with a sentence, stopping what was started, when something is not ready in two minutes', async () => {
    const slow: Runnable = { ...part('widgets.example.org'), ready: () => new Promise(() => {}) }
    const state = start({ http: [part('metrics')], informers: [slow], others: [part('poller')] })
    await world.advance(119_999)
    expect(state.outcome).toBeUndefined()
    await world.advance(1)
    expect(state.outcome).toMatchObject({
      code: 'REGENT_TIMED_OUT',
      message: 'widgets.example.org: it was not ready after 120000 ms',
    })
    expect(told.slice(2)).toEqual([
      'widgets.example.org begins',
      'widgets.example.org told',
      'widgets.example.org ended',
      'metrics told',
      'metrics ended',
    ])
  })

  it('ends where it is when the word to stop comes first', async () => {
    const state = start(everybody())
    await world.advance(45)
    stop.abort()
    await world.advance(1_000)
    expect(state.outcome).toBe('stopped')
    expect(told).not.toContain('informer begins')
    expect(told.at(-1)).toBe('metrics ended')
  })

  it('begins nothing when the word to stop was given before', async () => {
    stop.abort()
    const state = start(everybody())
    await world.settle()
    expect([state.outcome, told]).toEqual(['stopped', []])
  })
})

describe('Stopping', () => {
  it('goes from others to leaders, gives leadership back, then informers, webhooks and servers, each told when the one before has ended', async () => {
    const state = start(everybody())
    await world.advance(1_000)
    told.length = 0
    stop.abort()
    await world.advance(249)
    expect(state.outcome).toBeUndefined()
    await world.advance(1)
    expect(state.outcome).toBe('stopped')
    expect(told).toEqual([
      ...['poller told', 'poller ended', 'controller told', 'controller ended', 'gave leadership back'],
      ...['informer told', 'informer ended', 'webhook told', 'webhook ended', 'metrics told', 'metrics ended'],
    ])
    expect(world.pending).toBe(0)
  })

  it('waits 30 seconds in all, then tells everybody and names those who have not ended', async () => {
    const state = start({
      ...everybody(),
      others: [part('poller', { endsAfterMs: 20_000 })],
      informers: [part('informer', { endsAfterMs: 20_000 })],
    })
    await world.advance(1_000)
    stop.abort()
    await world.advance(29_999)
    expect(state.outcome).toBeUndefined()
    expect(told).not.toContain('webhook told')
    await world.advance(1)
    expect(state.outcome).toMatchObject({
      code: 'REGENT_TIMED_OUT',
      message: 'informer: still running 30000 ms after the word to stop',
    })
    expect(told).toContain('webhook told')
    expect(told).toContain('metrics told')
  })

  it('does not give leadership back while a leader has not ended', async () => {
    const state = start({ leaders: [part('controller', { endsAfterMs: 60_000 })] })
    await world.advance(1_000)
    stop.abort()
    await world.advance(40_000)
    expect(String(state.outcome)).toContain('controller: still running')
    expect(told).not.toContain('gave leadership back')
  })

  it('does not give leadership back while another that acts has not ended', async () => {
    const state = start({ others: [part('poller', { endsAfterMs: 60_000 })] })
    await world.advance(1_000)
    stop.abort()
    await world.advance(40_000)
    expect(String(state.outcome)).toContain('poller: still running')
    expect(told).not.toContain('gave leadership back')
  })
})

describe('When something fails', () => {
  it('everything is stopped in order, and the failure names it', async () => {
    const cause = new Error('address in use')
    const failing: LeaderRunnable = {
      name: 'controller widget',
      run: () => world.timers.sleep(5_000).then(() => Promise.reject(cause)),
    }
    const state = start({ ...everybody(), leaders: [failing] })
    await world.advance(10_000)
    expect(state.outcome).toMatchObject({
      code: 'REGENT_INTERNAL',
      message: 'controller widget: address in use',
      cause,
    })
    expect(told.slice(-7)).toEqual([
      'gave leadership back',
      'informer told',
      'informer ended',
      'webhook told',
      'webhook ended',
      'metrics told',
      'metrics ended',
    ])
  })

  it('that throws at once, too', async () => {
    const failing: Runnable = {
      name: 'poller',
      run: () => {
        throw new TypeError('no such thing')
      },
    }
    const state = start({ others: [failing] })
    await world.settle()
    expect(state.outcome).toMatchObject({ message: 'poller: no such thing' })
  })

  it('the first failure is told, not those that follow from it', async () => {
    const sulking: Runnable = {
      name: 'informer',
      run: (signal) => ended(signal).then(() => Promise.reject(new Error('stream closed'))),
    }
    const failing: Runnable = { name: 'poller', run: () => Promise.reject(new Error('out of memory')) }
    const state = start({ informers: [sulking], others: [failing] })
    await world.settle()
    expect(state.outcome).toMatchObject({ message: 'poller: out of memory' })
  })

  it('a part that ends by itself, or rejects with the reason it was told to stop for, is no failure', async () => {
    const brief: Runnable = { name: 'brief', run: async () => {} }
    const abrupt: Runnable = {
      name: 'abrupt',
      run: (signal) => ended(signal).then(() => Promise.reject(signal.reason as Error)),
    }
    const state = start({ others: [brief, abrupt] })
    await world.settle()
    expect(state.outcome).toBeUndefined()
    stop.abort()
    await world.settle()
    expect(state.outcome).toBe('stopped')
  })

  it('an election that fails is a failure', async () => {
    const state = start({}, { election: { run: () => Promise.reject(new Error('the lease cannot be read')) } })
    await world.settle()
    expect(state.outcome).toMatchObject({ message: 'leader election: the lease cannot be read' })
  })
})

describe('When leadership is lost', () => {
  it('everybody is told at once, and nobody is waited for', async () => {
    const { run, lose } = election()
    const state = start(everybody(), { election: { run } })
    await world.advance(1_000)
    told.length = 0
    lose('the lease could not be renewed for 10000 ms')
    await world.settle()
    expect(state.outcome).toMatchObject({
      code: 'REGENT_NOT_LEADER',
      message: 'leadership was lost: the lease could not be renewed for 10000 ms',
    })
    expect(told.sort()).toEqual(['controller told', 'informer told', 'metrics told', 'poller told', 'webhook told'])
  })

  it('while everything stops already, the process still ends at once', async () => {
    const { run, lose } = election()
    const state = start({ leaders: [part('controller', { endsAfterMs: 20_000 })] }, { election: { run } })
    await world.advance(1_000)
    stop.abort()
    await world.advance(1_000)
    lose('another holds the lease')
    await world.settle()
    expect(state.outcome).toMatchObject({ code: 'REGENT_NOT_LEADER' })
  })
})

describe('With a lease', () => {
  const key = { namespace: 'regent', name: 'manager' }
  const client = () => new ScriptedClient()
  const elector = (api: ScriptedClient) =>
    new LeaseElector({ client: api, lease: key, identity: 'm1', world, logger: pino({ level: 'silent' }) })

  it('leaders are given the leadership, and the lease is released after they have ended and before the informers are told', async () => {
    const api = client()
    const held: boolean[] = []
    const leader: LeaderRunnable = {
      name: 'controller',
      run: (signal, leadership) => (
        held.push(leadership.holds()),
        part('controller', { endsAfterMs: 5_000 }).run(signal)
      ),
    }
    api.before = (verb) => {
      if (verb === 'update') told.push('update')
    }
    const state = start({ leaders: [leader], informers: [part('informer')] }, { election: elector(api) })
    await world.advance(1_000)
    expect(held).toEqual([true])
    told.length = 0
    stop.abort()
    await world.advance(30_000)
    expect(state.outcome).toBe('stopped')
    // Renewed while the controller ended its work, then released.
    expect(told).toEqual([
      'controller told',
      'update',
      'update',
      'controller ended',
      'update',
      'informer told',
      'informer ended',
    ])
    expect((await api.get(leases, key))?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 })
  })

  it('that can no longer be renewed, the process gives up within the renew deadline', async () => {
    const api = client()
    const state = start({ leaders: [part('controller')] }, { election: elector(api) })
    await world.advance(1_000)
    api.before = () => Promise.reject(new Error('connection refused'))
    await world.advance(10_000)
    expect(state.outcome).toMatchObject({ code: 'REGENT_NOT_LEADER' })
    expect(told).toContain('controller told')
  })
})
