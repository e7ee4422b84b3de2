import { describe, expect, it } from 'vitest'
import type { AccountPassword } from '#topology/snapshot/observation.ts'
import type { ViewOverrides } from '#topology/testing.ts'
import { decide } from '../decide.ts'
import type { PasswordsWish } from '../protocol/order.ts'
import { whyNotAsWished } from './passwords.ts'
import {
  aSituation,
  deadServer,
  lostAgent,
  ordersOf,
  promised,
  switchoverIntent,
  type SituationOverrides,
} from '../testing.ts'

const passwords = (generation: string, keepsOld = false): readonly AccountPassword[] =>
  ['client', 'admin'].map((user) => ({ user, generation, keepsOld }))
const has = (generation: string, keepsOld = false): ViewOverrides => ({
  server: { passwords: passwords(generation, keepsOld) },
})
const all = (view: ViewOverrides) => ({ 'shop-0': view, 'shop-1': view, 'shop-2': view })
const rotate: PasswordsWish = { generation: 'a2', old: 'kept' }
const end: PasswordsWish = { generation: 'a2', old: 'discarded' }

const ordered = (wish: PasswordsWish, overrides: SituationOverrides) => {
  const decision = decide(aSituation({ requests: [{ kind: 'passwords', id: 'passwords', ...wish }], ...overrides }))
  return ordersOf(decision).filter((order) => order.startsWith('passwords'))
}

describe('other passwords are ordered', () => {
  it('of the primary alone', () => {
    expect(ordered(rotate, { views: all(has('')) })).toEqual(['passwords shop-0 1@1'])
    expect(ordered(end, { views: all(has('a2', true)) })).toEqual(['passwords shop-0 1@1'])
  })

  it('also where one of the accounts has them already', () => {
    expect(
      ordered(rotate, {
        views: all({
          server: { passwords: [passwords('a2')[0], passwords('')[1]].filter((one) => one !== undefined) },
        }),
      }),
    ).toHaveLength(1)
  })

  it.each<[string, PasswordsWish, SituationOverrides]>([
    ['where it has them', rotate, { views: all(has('a2', true)) }],
    ['where the old ones have ended', end, { views: all(has('a2')) }],
    ['of an agent that does not know them', rotate, { views: {} }],
    ['while the cluster is paused', rotate, { views: all(has('')), notes: { paused: { reason: 'night', wallMs: 0 } } }],
    ['while a switchover is under way', rotate, { views: all(has('')), record: { intent: switchoverIntent() } }],
    [
      'while nobody can acknowledge',
      rotate,
      { views: { ...all(has('')), 'shop-0': { server: { passwords: passwords(''), dumpThreads: [] } } } },
    ],
    ['while the primary is dead', rotate, { views: { ...all(has('')), 'shop-0': deadServer } }],
    ['while its agent is lost', rotate, { views: { ...all(has('')), 'shop-0': { ...has(''), ...lostAgent } } }],
  ])('of nobody %s', (_, wish, overrides) => {
    expect(ordered(wish, overrides)).toEqual([])
  })

  it('of nobody where they are not asked for', () => {
    expect(
      ordersOf(decide(aSituation({ views: all(has('a1', true)) }))).filter((order) => order.startsWith('passwords')),
    ).toEqual([])
  })
})

describe('passwords are as wished', () => {
  it.each<[string, string, PasswordsWish, SituationOverrides]>([
    ['once every instance has new ones', '', rotate, { views: all(has('a2', true)) }],
    [
      'not before the primary has',
      'primary shop-0 has not changed them yet',
      rotate,
      { views: { ...all(has('a2', true)), 'shop-0': has('') } },
    ],
    [
      'not before every replica that follows has new ones, or clients could not log in there',
      'shop-2 has not applied the change yet',
      rotate,
      { views: { ...all(has('a2', true)), 'shop-2': has('') } },
    ],
    [
      'without a replica that does not follow',
      '',
      rotate,
      {
        views: {
          ...all(has('a2', true)),
          'shop-2': { server: { passwords: passwords(''), channel: { ioRunning: 'no' } } },
        },
      },
    ],
    [
      'without a replica that nobody reaches',
      '',
      rotate,
      { views: { ...all(has('a2', true)), 'shop-2': { ...has(''), ...lostAgent } } },
    ],
    [
      'once the old ones have ended at the primary',
      '',
      end,
      { views: { ...all(has('a2', true)), 'shop-0': has('a2') } },
    ],
    [
      'not where the cluster takes no writes',
      'the cluster takes no writes now',
      rotate,
      { views: { ...all(has('')), 'shop-0': deadServer } },
    ],
    [
      'not in the middle of a failover',
      'the cluster takes no writes now',
      rotate,
      { views: { ...all(has('a2', true)), 'shop-0': lostAgent, 'shop-1': promised() } },
    ],
    [
      'not while the cluster is paused',
      'the cluster is paused: night',
      rotate,
      { views: all(has('')), notes: { paused: { reason: 'night', wallMs: 0 } } },
    ],
    [
      'not with an agent that cannot tell',
      'the agent of shop-1 is older than this',
      rotate,
      { views: { ...all(has('')), 'shop-1': {} } },
    ],
  ])('%s', (_, why, wish, overrides) => {
    const found = whyNotAsWished(aSituation(overrides), wish)
    if (why === '') expect(found).toBe('')
    else expect(String(found)).toContain(why)
  })
})
