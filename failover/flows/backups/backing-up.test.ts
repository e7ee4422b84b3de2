import { describe, expect, it } from 'vitest'
import { aSituation, deadServer, lostAgent, type SituationOverrides } from '#failover/testing.ts'
import { planBackup } from './backing-up.ts'

function planned(given: SituationOverrides = {}, asked?: string): readonly [string, boolean] | string {
  const plan = planBackup(aSituation(given), asked)
  return 'refusal' in plan ? String(plan.refusal) : [plan.view.name, plan.isPrimary]
}

const seeding = { seedingProgress: { stage: 'copying', percent: 1, donor: 'shop-0' } }

describe('A backup is made of', () => {
  it('a replica, the one that is not preferred as primary', () => expect(planned()).toEqual(['shop-2', false]))
  it('another replica where that one does not answer', () =>
    expect(planned({ views: { 'shop-2': lostAgent } })).toEqual(['shop-1', false]))
  it('whom a person asks for, the primary too', () => expect(planned({}, 'shop-0')).toEqual(['shop-0', true]))
  it('the primary where no replica can be copied', () =>
    expect(planned({ views: { 'shop-1': deadServer, 'shop-2': seeding } })).toEqual(['shop-0', true]))
  it('none that is in downtime', () =>
    expect(
      planned({ notes: { downtimes: [{ instance: 'shop-2', untilWallMs: 9e15, reason: 'disk', owner: '' }] } }),
    ).toEqual(['shop-1', false]))
  it.each([
    ['lets no client in yet', { offlineMode: true }],
    ['has rows that no CLONE copies', { foreignTables: ['shop.visits'] }],
  ])('none that %s: its agent would refuse, and the next try is 10 min later', (_, server) =>
    expect(planned({ views: { 'shop-2': { server } } })).toEqual(['shop-1', false]),
  )
  it('nobody where nobody can be copied, and it is said why of each', () =>
    expect(planned({ views: { 'shop-1': { stored: { opened: true } } } }, 'shop-1')).toBe(
      'no instance can be copied now: shop-1 has data that are in doubt',
    ))
})
