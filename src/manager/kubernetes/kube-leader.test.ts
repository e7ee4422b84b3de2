import { describe, expect, it, onTestFinished } from 'vitest'
import type { Sentence } from '#common/sentence/sentence.ts'
import type { Leadership } from '#controller-runtime/leader/leadership.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { KubeLeader } from './kube-leader.ts'

interface Term extends Leadership {
  holding: boolean
  lose(): void
}

/** An elector whose terms a test gives and takes. */
function leader() {
  const world = virtualWorld()
  const told: (boolean | string)[] = []
  const waiting: { lead: (term: Leadership) => Promise<void>; fail: (error: Error) => void }[] = []
  const stop = new AbortController()
  const run = (signal: AbortSignal, lead: (term: Leadership) => Promise<void>): Promise<never> =>
    new Promise((resolve, reject) => {
      const end = (): void => resolve(undefined as never)
      signal.addEventListener('abort', end, { once: true })
      waiting.push({ lead: (term) => lead(term).then(end), fail: reject })
    })
  const made = new KubeLeader()
  const election = {
    elector: { run },
    timers: world.timers,
    changed: (leads: boolean) => told.push(leads),
    failed: (sentence: Sentence) => told.push(String(sentence)),
  }
  const running = made.run(election, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
  })
  return {
    world,
    told,
    leader: made,
    stop,
    running,
    next: () => waiting.shift() ?? expect.fail('nobody waits to lead'),
  }
}

function aTerm(): Term {
  const lost = new AbortController()
  const term: Term = {
    holding: true,
    lost: lost.signal,
    holds: () => term.holding,
    lose: () => ((term.holding = false), lost.abort()),
  }
  return term
}

describe('leading on Kubernetes', () => {
  it('begins with the lease, ends with it, and begins again without a start of the process', async () => {
    const { world, told, leader: claim, next } = leader()
    expect([claim.holds(), claim.lost.aborted]).toEqual([false, true])
    for (const term of [aTerm(), aTerm()]) {
      void next().lead(term)
      await world.settle()
      expect([claim.holds(), claim.lost.aborted]).toEqual([true, false])
      term.lose()
      await world.settle()
      expect([claim.holds(), claim.lost.aborted]).toEqual([false, true])
    }
    expect(told).toEqual([true, false, true, false])
  })

  it('is over for whoever asks once the lease has run out, also in a process that was frozen and has not heard of it', async () => {
    const { world, told, leader: claim, next } = leader()
    const term = aTerm()
    void next().lead(term)
    await world.settle()
    term.holding = false
    expect(claim.holds()).toBe(false)
    expect(told).toEqual([true])
  })

  it('is tried for again, after a pause, where the election itself failed', async () => {
    const { world, told, next } = leader()
    next().fail(new Error('leases are forbidden'))
    await world.settle()
    expect(told).toEqual(['leader election: leases are forbidden'])
    expect(next).toThrow('nobody waits')
    await world.advance(1_000)
    void next().lead(aTerm())
    await world.settle()
    expect(told.at(-1)).toBe(true)
  })

  it('ends when the process is told to stop', async () => {
    const { world, told, leader: claim, next, stop, running } = leader()
    void next().lead(aTerm())
    await world.settle()
    stop.abort()
    await running
    expect(told).toEqual([true, false])
    expect(claim.holds()).toBe(false)
  })
})
