import { describe, expect, it } from 'vitest'
import type { ViewOverrides } from '#topology/testing.ts'
import { decide } from '../decide.ts'
import { noLoss } from '../protocol/notes.ts'
import { committed, lossIn, ordersOf, promised, shop0, shop1 } from '../testing.ts'
import { whyNeverForms, whyNoReboot } from './reboot.ts'
import { aGroupSituation, nobodyIn, type GroupSituation, askedFor } from './testing-group.ts'

/** It was admitted, and an order that came late began to seed it: it holds nothing that counts. */
const seeded: ViewOverrides = { process: 'dead', server: null, stored: { seeding: true } }

const given = (more: GroupSituation = {}) =>
  aGroupSituation({
    sees: nobodyIn,
    nowMs: 10_000,
    ...more,
    views: { 'shop-0': promised(), 'shop-1': promised(), 'shop-2': seeded, ...more.views },
  })

describe('After a full outage a member that began to be seeded', () => {
  it.each([
    ['before it promised', seeded],
    ['after it promised', { ...promised(), ...seeded, stored: { promise: 2, seeding: true } }],
  ] as const)('%s is not waited for: it has nothing to say', (_, view) => {
    for (const request of [{}, askedFor(null)]) {
      const decision = decide(given({ ...request, views: { 'shop-2': view } }))
      expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop0, syncSet: [shop1] })
      expect(lossIn(decision)).toEqual(noLoss)
    }
  })

  it('is asked for nothing, while the others are asked', () => {
    const decision = decide(given({ views: { 'shop-0': {}, 'shop-1': {} } }))
    expect(ordersOf(decision)).toEqual(['promise shop-0 2@5', 'promise shop-1 2@5'])
    expect(whyNoReboot(given())).toBeNull()
  })

  it('may not form the group', () => {
    expect(String(whyNeverForms(given(), 'shop-2'))).toBe('shop-2 began to be seeded and holds nothing that counts')
    expect(whyNeverForms(given(), 'shop-1')).toBeNull()
  })

  it('and is the primary of the record is given up by a person alone', () => {
    const views = { 'shop-0': seeded, 'shop-2': promised() }
    expect(decide(given({ views }))).toMatchObject({
      actions: [],
      sentence:
        'no instance is in the group. shop-0 led and began to be seeded: let that copy end, or give those up: regent failover --accept-loss',
    })
    expect(committed(decide(given({ views, ...askedFor(null) })))).toMatchObject({ epoch: 2, primary: shop1 })
  })

  it('and is all that is left leads nobody, and nothing is asked again and again', () => {
    const decision = decide(given({ views: { 'shop-0': { reachable: false }, 'shop-1': seeded }, ...askedFor(null) }))
    expect(ordersOf(decision)).toEqual([])
    expect(decision).toMatchObject({ blocked: true })
    expect(decision.sentence).toContain('The last writes may be on shop-0 alone: bring it back')
  })
})
