import { describe, expect, it } from 'vitest'
import type { ViewOverrides } from '#topology/testing.ts'
import { groupName } from '#topology/testing-group.ts'
import { decide } from '../decide.ts'
import { unknownLoss } from '../protocol/notes.ts'
import { committed, lossIn, promised, shop0, shop1, shop2 } from '../testing.ts'
import { lossOfReboot } from './reboot.ts'
import { aGroupSituation, nobodyIn, type GroupSituation } from './testing-group.ts'

const after = (given: GroupSituation) => decide(aGroupSituation({ sees: nobodyIn, ...given }))
/** A hand reset its GTIDs, or gave it some: it claims so many transactions of the group. */
const nameless = (last: number): ViewOverrides => promised(last, { stored: { gtidsReset: true } })
const byForce = (to: string | null) =>
  ({ requests: [{ kind: 'failover', id: 'asked', to, acceptLoss: true }] }) as const

describe('A member whose GTIDs do not tell what it holds', () => {
  const given = { 'shop-0': promised(103), 'shop-1': promised(103), 'shop-2': nameless(105) }
  const reset = { 'shop-0': nameless(3), 'shop-1': promised(102), 'shop-2': promised(102) }

  it('forms no group by what it claims, and is no member before it is a copy', () => {
    const decision = after({ views: given })
    expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop0, syncSet: [shop1] })
    expect(committed(decision).group?.name).not.toBe(groupName)
    expect(decision.sentence).toBe(
      'shop-0 forms the group anew: it holds all 103 transactions of shop-0 and shop-1; left out, since its GTIDs do not tell what it holds: 2 transactions of shop-2',
    )
  })

  it('and was the last primary, may alone have what was acknowledged: a person decides', () => {
    const decision = after({ views: reset })
    expect(decision).toMatchObject({ actions: [], blocked: true })
    expect(decision.sentence).toContain(
      'nobody can tell what shop-0 holds, since its GTIDs were changed by another hand',
    )
    const chosen = after({ views: reset, ...byForce(null) })
    expect(committed(chosen)).toMatchObject({ primary: shop1, syncSet: [shop2] })
    expect(lossIn(chosen)).toEqual(unknownLoss)
  })

  it('leads where a person names it, and nobody else counts before being a copy of it', () => {
    expect(committed(after({ views: reset, ...byForce('shop-0') }))).toMatchObject({
      primary: shop0,
      syncSet: [],
      doubted: { since: 2, members: [shop1, shop2] },
    })
    const situation = aGroupSituation({ sees: nobodyIn, views: reset })
    expect(String(lossOfReboot(situation, 'shop-0'))).toContain('nobody else would count before being seeded')
  })
})
