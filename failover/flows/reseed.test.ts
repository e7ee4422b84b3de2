import { saying } from '#test/support/said-as-text.ts'
import { expect, it } from 'vitest'
import { errant, outside } from '../semisync/testing-reseeding.ts'
import { aSituation, lostAgent, shop1, shop2, type SituationOverrides } from '../testing.ts'
import { planReseed } from './reseed.ts'

const manual: SituationOverrides = {
  spec: { reseed: 'manual' },
  record: { syncSet: [shop1] },
  views: { 'shop-2': outside(errant) },
}
const plan = (given: SituationOverrides) => planReseed(aSituation({ ...manual, ...given }), 'shop-2')

it('A copy over the data of an instance that cannot follow as it is says what becomes of them', () => {
  expect(plan({})).toEqual({
    sentence: saying('3 errant transactions'),
    steps: [
      saying('transactions that shop-2 alone has are archived'),
      saying('all data of shop-2 are replaced by a copy of shop-1'),
      saying('shop-2 follows shop-0'),
    ],
  })
})

it.each<[string, string, SituationOverrides]>([
  ['that follows', 'gives no reason', { views: { 'shop-2': outside({}) } }],
  ['that is away', 'gives no reason', { views: { 'shop-2': lostAgent } }],
  ['of a paused cluster', 'regent resume', { notes: { paused: { reason: 'maintenance', wallMs: 0 } } }],
  ['whose primary is away', 'does not answer', { views: { ...manual.views, 'shop-0': lostAgent } }],
  [
    'that nobody can be copied for',
    'there is nothing to copy',
    {
      views: {
        'shop-0': { server: { foreignTables: ['app.legacy'] } },
        'shop-1': { server: { foreignTables: ['app.legacy'] } },
        'shop-2': outside(errant),
      },
    },
  ],
])('An instance %s is refused', (_, says, given) => {
  expect(plan(given)).toEqual({ refusal: saying(says) })
})

it('An instance that is kept for what only it may hold is refused with what is wrong with it, and what helps', () => {
  const refusal = { refusal: saying('shop-2 has had a replication filter, and is in the sync set') }
  const given = { record: { syncSet: [shop2] }, views: { 'shop-2': { stored: { filterSeen: true } } } }
  expect(plan(given)).toEqual(refusal)
  expect(plan(given)).toEqual({ refusal: saying('regent local scale shop 4') })
})

it('Nobody needs to ask where the policy is automatic, or where the copy has begun', () => {
  expect(plan({ spec: { reseed: 'automatic' } })).toEqual({ needless: saying('without being asked') })
  const began = outside({ process: 'dead', server: null, stored: { seeding: true } })
  expect(plan({ views: { 'shop-2': began } })).toEqual({ needless: saying('without being asked') })
})
