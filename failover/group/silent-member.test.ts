import { describe, expect, it } from 'vitest'
import { viewId, type GroupShape } from '#topology/testing-group.ts'
import { decide } from '../decide.ts'
import { ordersOf } from '../testing.ts'
import { aGroupSituation, type GroupSituation } from './testing-group.ts'

const gone = { reachable: false } as const
const unheard = (...ordinals: number[]) => ({ silentMembers: ordinals.map((ordinal) => `shop-${ordinal}`) })
const after = (given: GroupSituation = {}) => decide(aGroupSituation(given))
const expulsions = (given: GroupSituation) => ordersOf(after(given)).filter((order) => order.startsWith('expel'))

/** Everybody's view is as before: the group has not noticed anything. */
const machineGone: GroupSituation = { views: { 'shop-0': gone, 'shop-1': unheard(0), 'shop-2': unheard(0) } }

describe('A member that neither this manager nor the others hear', () => {
  it('is removed by the group, as one of the others is told', () => {
    const decision = after(machineGone)
    expect(decision.actions).toContainEqual(
      expect.objectContaining({
        kind: 'expel',
        to: 'shop-1',
        order: expect.objectContaining({ silent: expect.objectContaining({ instance: 'shop-0' }) as object }) as object,
      }),
    )
    expect(decision.sentence).toMatch(
      /^shop-0 is unreachable for this manager, and shop-1 and shop-2 do not hear its server: the group removes it; /,
    )
  })

  it('is the primary first, and then another: one at a time', () => {
    const all = { 'shop-0': gone, 'shop-3': gone }
    const shape = { instances: 5 }
    const both = unheard(0, 3)
    const views = { ...all, 'shop-1': both, 'shop-2': both, 'shop-4': both }
    const { actions } = after({ shape, views })
    expect(actions.filter(({ kind }) => kind === 'expel')).toMatchObject([
      { order: { silent: { instance: 'shop-0' } } },
    ])
  })
})

describe('Nobody is removed', () => {
  it.each<[string, GroupSituation]>([
    ['whom this manager hears', { views: { 'shop-1': unheard(0), 'shop-2': unheard(0) } }],
    ['whom one of the others hears', { views: { 'shop-0': gone, 'shop-1': unheard(0) } }],
    ['where those who say so are no majority', { views: { 'shop-0': gone, 'shop-1': gone, 'shop-2': unheard(0, 1) } }],
    ['while a person has paused the cluster', { ...machineGone, notes: { paused: { reason: 'work', wallMs: 0 } } }],
  ])('%s', (_whom, given) => {
    expect(expulsions(given)).toEqual([])
  })

  it('by members of an older view, nor who is in the group no more', () => {
    const old: GroupShape = {
      members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' },
      viewId: viewId(4),
    }
    expect(expulsions({ ...machineGone, sees: { 'shop-1': old } })).toEqual([])
    const without0: GroupShape = {
      members: { 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' },
      primary: 'shop-1',
      viewId: viewId(6),
    }
    expect(expulsions({ ...machineGone, sees: { 'shop-1': without0, 'shop-2': without0 } })).toEqual([])
  })
})
