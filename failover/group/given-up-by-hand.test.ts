import { saying } from '#test/support/said-as-text.ts'
import { describe, expect, it } from 'vitest'
import { planReplace } from '../flows/replace.ts'
import { planReseed } from '../flows/reseed.ts'
import { decide } from '../decide.ts'
import { committed, lostAgent, shop2 } from '../testing.ts'
import { outsideGroup } from '#topology/testing-group.ts'
import { group } from './decide-group.ts'
import { aGroupSituation, type GroupSituation } from './testing-group.ts'

const two = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE' } } as const

describe('A member of a group that is lost', () => {
  const lost: GroupSituation = { sees: { 'shop-0': two, 'shop-1': two }, views: { 'shop-2': lostAgent } }

  it('is given up at once: the primary has on its disk all that was acknowledged, and nothing is waited for', () => {
    expect(planReplace(aGroupSituation(lost), 'shop-2', false, group)).toMatchObject({ isSilent: true, loss: '' })
  })

  it('is given up only with the loss accepted where the primary would be all there is', () => {
    const alone = { members: { 'shop-0': 'ONLINE' } } as const
    const situation = aGroupSituation({
      record: { syncSet: [shop2] },
      sees: { 'shop-0': alone, 'shop-1': outsideGroup() },
      views: lost.views ?? {},
    })
    expect(planReplace(situation, 'shop-2', false, group)).toEqual({ refusal: saying('on shop-0 alone') })
  })
})

describe('A member in doubt, where a person decides about copies', () => {
  const opened: GroupSituation = { spec: { reseed: 'manual' }, views: { 'shop-2': { stored: { opened: true } } } }

  it('stays a member, and leaves the group once a person wants it seeded', () => {
    expect(decide(aGroupSituation(opened)).actions.filter(({ kind }) => kind === 'commit')).toEqual([])
    expect(planReseed(aGroupSituation(opened), 'shop-2')).toMatchObject({ sentence: saying('was open for writes') })
    const notes = { reseedConsents: [{ instance: 'shop-2', untilWallMs: 2_000_000 }] }
    expect(committed(decide(aGroupSituation({ ...opened, notes }))).leaving).toEqual([shop2])
    const other = { reseedConsents: [{ instance: 'shop-1', untilWallMs: 2_000_000 }] }
    const decision = decide(aGroupSituation({ ...opened, notes: other }))
    expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
  })

  it('is seeded without being asked where the policy is automatic', () => {
    const given = aGroupSituation({ ...opened, spec: { reseed: 'automatic' } })
    expect(planReseed(given, 'shop-2')).toEqual({ needless: saying('without being asked; shop-2 leaves the group') })
  })
})
