import { describe, expect, it } from 'vitest'
import { uuidOf, type ViewOverrides } from '#topology/testing.ts'
import { assignmentOrders } from '#failover/steps/assignments.ts'
import { aSituation, deadServer, memberElsewhere, shop1, type SituationOverrides } from '#failover/testing.ts'

type Uuids = Readonly<Record<string, string>>

/** What the primary is told of its replicas; null when it is told nothing. */
function toldBy(given: SituationOverrides): Uuids | undefined | null {
  const order = assignmentOrders(aSituation(given)).flatMap((action) =>
    action.kind === 'assign' && action.order.role === 'primary' ? [action.order] : [],
  )[0]
  return order === undefined ? null : order.countedUuids
}

const both = { 'shop-1': uuidOf('shop-1'), 'shop-2': uuidOf('shop-2') }
const told = (countedUuids: Uuids): ViewOverrides => ({ stored: { countedUuids } })
const renewed: ViewOverrides = { server: { uuid: 'new-uuid' } }

describe('a primary is told which server_uuid a counted replica has', () => {
  const cases: Readonly<Record<string, readonly [given: SituationOverrides, told: Uuids | undefined | null]>> = {
    'with every new revision': [{ record: { revision: 2 }, views: { 'shop-0': told({}) } }, both],
    'once, and not again while nothing changes': [{ views: { 'shop-0': told(both) } }, null],
    'at once when one is seen with another than it was told': [
      { views: { 'shop-0': told(both), 'shop-2': renewed } },
      { ...both, 'shop-2': 'new-uuid' },
    ],
    'as it was told before while that replica is down': [
      { record: { revision: 2 }, views: { 'shop-0': told(both), 'shop-2': deadServer } },
      both,
    ],
    'as it was told before while that replica is out of reach, whatever was seen of it earlier': [
      { record: { revision: 2 }, views: { 'shop-0': told(both), 'shop-2': { ...renewed, reachable: false } } },
      both,
    ],
    'as unknown where it was never seen': [
      { record: { revision: 2 }, views: { 'shop-0': told({}), 'shop-2': { unheard: true } } },
      { ...both, 'shop-2': '' },
    ],
    'and not that of another volume of the same instance': [
      { record: { revision: 2 }, views: { 'shop-0': told(both), 'shop-2': { ...renewed, member: memberElsewhere } } },
      both,
    ],
    'only of those who count': [
      { record: { revision: 2, syncSet: [shop1] }, views: { 'shop-0': told(both), 'shop-2': { reachable: false } } },
      { 'shop-1': uuidOf('shop-1') },
    ],
    'unless its agent is older and would refuse such an order': [{ record: { revision: 2 } }, undefined],
  }
  it.each(Object.entries(cases))('%s', (_, [given, expected]) => {
    expect(toldBy(given)).toEqual(expected)
  })
})
