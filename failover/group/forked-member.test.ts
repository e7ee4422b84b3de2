import { describe, expect, it } from 'vitest'
import type { ViewOverrides } from '#topology/testing.ts'
import { groupName } from '#topology/testing-group.ts'
import { decide } from '../decide.ts'
import { committed, promised, shop0, shop1, shop2 } from '../testing.ts'
import { aGroupSituation, nobodyIn, type GroupSituation, askedFor } from './testing-group.ts'

const after = (given: GroupSituation) => decide(aGroupSituation({ sees: nobodyIn, ...given }))
/** It was in a group that another hand formed, and holds so many transactions by the names of the group. */
const forked = (last: number): ViewOverrides => promised(last, { stored: { opened: true, forked: true } })

describe('A member that was in a group that another hand formed', () => {
  const views = { 'shop-0': promised(103), 'shop-1': promised(102), 'shop-2': forked(105) }

  it('does not lead by what it holds: by the same names the group may have acknowledged something else', () => {
    const decision = after({ views })
    expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop0, syncSet: [shop1] })
    expect(decision.sentence).toBe(
      'shop-0 forms the group anew: it holds all 103 transactions of shop-0 and shop-1; left out, of a group that another hand formed: 2 transactions of shop-2',
    )
  })

  it('leaves the name of the group to nobody: what it alone holds would have the names of what comes next', () => {
    expect(committed(after({ views })).group?.name).not.toBe(groupName)
  })

  it('is no member before it is a copy, also where it holds no more than others by name', () => {
    const next = committed(after({ views: { ...views, 'shop-2': forked(102) } }))
    expect(next).toMatchObject({ primary: shop0, syncSet: [shop1], group: { name: groupName } })
  })

  it('is in nobody’s way where the others hold all that it names, the last primary as well', () => {
    const given = { 'shop-0': forked(101), 'shop-1': promised(102), 'shop-2': promised(102) }
    expect(committed(after({ views: given }))).toMatchObject({ primary: shop1, syncSet: [shop2] })
  })

  it('and was the last primary, is compared by a person: what it holds may be acknowledged', () => {
    const decision = after({ views: { 'shop-0': forked(103), 'shop-1': promised(102), 'shop-2': promised(101) } })
    expect(decision).toMatchObject({ actions: [], blocked: true })
    expect(decision.sentence).toBe(
      'what shop-0 wrote in a group that another hand formed may have the names of what this group acknowledged: shop-0 alone has 1 transaction, lacks 0, shop-1 alone has 0 transactions, lacks 1 and shop-2 alone has 0 transactions, lacks 2. Choose who leads: regent failover --accept-loss --to <instance>',
    )
  })

  it('leads where a person says so', () => {
    const next = committed(after({ views, ...askedFor('shop-2') }))
    expect(next).toMatchObject({ primary: shop2 })
    expect(committed(after({ views, ...askedFor(null) })).primary).toBe(shop0)
  })
})
