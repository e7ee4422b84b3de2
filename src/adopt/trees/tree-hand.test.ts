import { describe, expect, it } from 'vitest'
import { virtualWorld } from '#common/ports/testing-world.ts'
import type { Change, Step } from '#orchestrator/trees/step.ts'
import { hostsOf } from '../adoption.ts'
import { anAdoption } from '../watch/testing.ts'
import { LookFailure } from '../servers/failure.ts'
import type { Leftover, Leftovers } from './leftover.ts'
import type { OpenHand } from './servers.ts'
import { TreeHand } from './tree-hand.ts'
import { say } from '#common/sentence/sentence.ts'

const hosts = hostsOf(anAdoption())

/** Servers of which a test says who is away and who takes writes; what is done there, in order. */
function handOn(leftover: Leftover | null = null) {
  const seen = {
    ...{ away: new Set<string>(), writes: new Set<string>(), fails: new Set<string>() },
    reach: 'refused' as LookFailure['reach'],
    ...{ done: [] as string[], leftover },
  }
  const open: OpenHand = async ({ instance }) => {
    if (seen.away.has(instance)) throw new LookFailure(seen.reach, say`${instance} is away`)
    const hand = {
      isOpen: true,
      close: () => undefined,
      refuseUnready: () => Promise.resolve(),
      takesWrites: async () => seen.writes.has(instance),
      async do(step: Step) {
        if (seen.away.has(instance) || seen.fails.has(`${step.do} ${instance}`)) throw new Error(`${step.do} failed`)
        seen.done.push(`${step.do} ${instance.slice(5)}`)
        if (step.do === 'lead') seen.writes.add(instance)
        if (step.do === 'readOnly') seen.writes[step.on ? 'delete' : 'add'](instance)
      },
    }
    return hand as unknown as Awaited<ReturnType<OpenHand>>
  }
  const leftovers: Leftovers = {
    keep: async (_, kept) => void (seen.leftover = kept),
    read: async () => seen.leftover,
  }
  const { clock, timers } = virtualWorld()
  const now = { ...timers, sleep: () => Promise.resolve() }
  const log = { warn: () => undefined, error: () => undefined } as never
  const hand = new TreeHand({ clock, timers: now, log, leftovers, open })
  const finish = async (by = hosts) => {
    seen.done.length = 0
    return hand.finishOne('shop', by)
  }
  return { seen, finish, carryOut: (change: Change) => hand.carryOut('shop', hosts, change) }
}

const failover: Change = {
  steps: [
    { do: 'absent', at: 'shop-0' },
    { do: 'lead', at: 'shop-1' },
    { do: 'stop', at: 'shop-2' },
    { do: 'follow', at: 'shop-2', source: { instance: 'shop-1' }, from: 'gtids' },
    { do: 'start', at: 'shop-2' },
  ],
  undo: [{ do: 'start', at: 'shop-1' }],
}
const takeover: Change = {
  steps: [
    { do: 'readOnly', at: 'shop-0', on: true },
    { do: 'catchUp', at: 'shop-1', with: 'shop-0' },
    { do: 'lead', at: 'shop-1' },
  ],
  undo: [
    { do: 'readOnly', at: 'shop-0', on: false },
    { do: 'reset', at: 'shop-0' },
    { do: 'start', at: 'shop-1' },
  ],
}

describe('Nobody leads beside a root', () => {
  it.each(['full', 'lockedOut', 'noMysql', 'unasked'] as const)(
    'that lives, though Regent cannot log in there: %s',
    async (reach) => {
      const { seen, carryOut } = handOn()
      seen.away.add('shop-0')
      seen.reach = reach
      await expect(carryOut(failover)).rejects.toThrow(/^shop-0 is not known to be gone \(shop-0 is away\)/)
      expect(seen.done).toEqual(['start 1'])
    },
  )

  it.each(['refused', 'silent', 'unresolved'] as const)('but where nobody answers: %s', async (reach) => {
    const { seen, carryOut } = handOn()
    seen.away.add('shop-0')
    seen.reach = reach
    expect(await carryOut(failover)).toEqual([])
    expect(seen.done[0]).toBe('lead 1')
  })
})

describe('A change that has ended in the middle', () => {
  it('is gone on with where nobody else takes writes', async () => {
    const { seen, finish } = handOn({ steps: failover.steps.slice(1), undo: failover.undo ?? [] })
    seen.away.add('shop-0')
    expect(await finish()).toEqual({ leads: 'shop-1', failed: [] })
    expect([seen.done, seen.leftover]).toEqual([['lead 1', 'stop 2', 'follow 2', 'start 2'], null])
  })

  it('has nobody lead beside the root of before, which is back and takes writes', async () => {
    const { seen, finish, carryOut } = handOn()
    seen.away.add('shop-0')
    seen.fails.add('lead shop-1')
    await expect(carryOut(failover)).rejects.toThrow('lead failed')
    seen.fails.clear()
    seen.away.clear()
    seen.writes.add('shop-0')
    expect(await finish()).toEqual({
      leads: null,
      failed: ['shop-1 is not opened any more: shop-0 takes writes by now'],
    })
    expect([seen.done, [...seen.writes], seen.leftover]).toEqual([['start 1'], ['shop-0'], null])
    expect(await finish()).toBeUndefined()
  })

  it.each(['full', 'lockedOut', 'unasked'] as const)(
    'has nobody lead beside the root of before, which is back and cannot be asked whether it takes writes: %s',
    async (reach) => {
      const { seen, finish, carryOut } = handOn()
      seen.away.add('shop-0')
      seen.fails.add('lead shop-1')
      await expect(carryOut(failover)).rejects.toThrow('lead failed')
      seen.fails.clear()
      seen.reach = reach
      const finished = await finish()
      expect(finished).toEqual({ leads: null, failed: [expect.stringContaining('shop-0 is not known to be gone')] })
      expect([seen.done, seen.leftover]).toEqual([['start 1'], null])
    },
  )

  it('goes on below the one that leads already, though nobody can ask the root of before', async () => {
    const { seen, finish } = handOn({ steps: failover.steps.slice(1), undo: failover.undo ?? [], gone: ['shop-0'] })
    seen.away.add('shop-0')
    seen.reach = 'full'
    seen.writes.add('shop-1')
    expect(await finish()).toEqual({ leads: 'shop-1', failed: [] })
  })

  it('is no end of it where the one that was to lead is away, and is gone on with later', async () => {
    const { seen, finish } = handOn({ steps: failover.steps.slice(1), undo: failover.undo ?? [] })
    seen.away.add('shop-1')
    expect(await finish()).toEqual({ leads: null, failed: ['shop-1 is away'], isPending: true })
    seen.away.clear()
    expect(await finish()).toEqual({ leads: 'shop-1', failed: [] })
  })

  it('goes on below the one that leads already, though the root of before is back', async () => {
    const { seen, finish } = handOn({ steps: failover.steps.slice(1), undo: failover.undo ?? [] })
    seen.writes.add('shop-0').add('shop-1')
    expect(await finish()).toMatchObject({ leads: 'shop-1', failed: [] })
    expect(seen.done).toContain('follow 2')
  })

  it('is done at no server that has its name only since it was adopted anew', async () => {
    const { seen, finish, carryOut } = handOn()
    seen.away.add('shop-0')
    seen.fails.add('lead shop-1')
    await expect(carryOut(failover)).rejects.toThrow('lead failed')
    seen.fails.clear()
    // The person leaves out the server that is lost.
    const { hosts: all, ...rest } = anAdoption()
    const finished = await finish(hostsOf({ ...rest, hosts: all.slice(1) }))
    expect(finished?.failed.join()).toContain('shop-0 is another server by now, or none')
    expect([seen.done, seen.leftover]).toEqual([[], null])
  })

  it('is gone on with where servers were added meanwhile', async () => {
    const { seen, finish, carryOut } = handOn()
    seen.away.add('shop-0')
    seen.fails.add('lead shop-1')
    await expect(carryOut(failover)).rejects.toThrow('lead failed')
    seen.fails.clear()
    const { hosts: all, ...rest } = anAdoption()
    const more = all.slice(0, 1).map((host) => ({ ...host, host: '10.9.9.9' }))
    expect(await finish(hostsOf({ ...rest, hosts: [...all, ...more] }))).toMatchObject({ leads: 'shop-1' })
  })

  it('leaves to be done what failed, and nothing that was done', async () => {
    const { seen, finish, carryOut } = handOn()
    seen.writes.add('shop-0')
    seen.fails.add('catchUp shop-1').add('start shop-1')
    await expect(carryOut(takeover)).rejects.toThrow('catchUp failed')
    expect([seen.done, seen.leftover]).toMatchObject([
      ['readOnly 0', 'readOnly 0', 'reset 0'],
      { steps: [{ do: 'start', at: 'shop-1' }] },
    ])
    // Meanwhile a person has another one lead, and the root of before follows that.
    seen.writes = new Set(['shop-2'])
    seen.fails.clear()
    expect(await finish()).toEqual({ leads: null, failed: [] })
    expect([seen.done, seen.leftover]).toEqual([['start 1'], null])
  })

  it('does not open the root of before, nor end what it follows, once another one takes writes', async () => {
    const { seen, finish } = handOn({ steps: takeover.undo ?? [] })
    seen.writes.add('shop-2')
    expect(await finish()).toEqual({
      leads: null,
      failed: ['shop-0 is not opened any more: shop-2 takes writes by now'],
    })
    expect([seen.done, seen.leftover]).toEqual([['start 1'], null])
  })

  it('leaves no replica deaf that was to stand once it had applied everything, and could not', async () => {
    const { seen, carryOut } = handOn()
    seen.fails.add('drain shop-1')
    const nicely = (['stopReceiving', 'drain', 'stop'] as const).map((each) => ({ do: each, at: 'shop-1' }))
    await expect(carryOut({ steps: nicely })).rejects.toThrow('drain failed')
    expect([seen.done, seen.leftover]).toEqual([['stopReceiving 1', 'startReceiving 1'], null])
    seen.fails.add('startReceiving shop-1')
    await expect(carryOut({ steps: nicely })).rejects.toThrow('drain failed')
    expect(seen.leftover).toMatchObject({ steps: [{ do: 'startReceiving', at: 'shop-1' }] })
  })

  it('is put right at each server for itself: one that is away keeps nobody else from receiving', async () => {
    const { seen, carryOut, finish } = handOn()
    const undo: Change['steps'] = [
      { do: 'startReceiving', at: 'shop-1' },
      { do: 'startReceiving', at: 'shop-2' },
    ]
    seen.away.add('shop-1')
    expect(await carryOut({ steps: [], undo })).toEqual(['shop-1: shop-1 is away'])
    expect([seen.done, seen.leftover]).toMatchObject([['startReceiving 2'], { steps: [undo[0]] }])
    seen.away.clear()
    await finish()
    expect([seen.done, seen.leftover]).toEqual([['startReceiving 1'], null])
  })
})

it('What a change has left is done once, and not beside another change, however many look at once', async () => {
  const steps = ['shop-1', 'shop-2'].map((at): Step => ({ do: 'start', at }))
  const twice = handOn({ steps })
  await Promise.all([twice.finish(), twice.finish()])
  expect(twice.seen.done).toEqual(['start 1', 'start 2'])
  const beside = handOn({ steps })
  const [finished] = await Promise.all([beside.finish(), beside.carryOut({ steps: [{ do: 'stop', at: 'shop-1' }] })])
  expect([finished, beside.seen.done]).toEqual([undefined, ['stop 1']])
})
