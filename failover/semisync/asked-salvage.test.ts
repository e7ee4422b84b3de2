import { describe, expect, it } from 'vitest'
import { gtids, type ViewOverrides } from '#topology/testing.ts'
import { decide } from '../decide.ts'
import { fetchKey } from '../protocol/order.ts'
import {
  aSituation,
  committed,
  deadServer,
  fetchIntent,
  lossIn,
  ordersOf,
  promised,
  promisedAsPrimary,
  shop0,
  shop1,
  type SituationOverrides,
} from '../testing.ts'
import { unknownLoss } from '../protocol/notes.ts'

/** In mode async, two instances: the volume of the dead primary could not be read. */
function asked(to: string | null, acceptLoss: boolean, given: SituationOverrides) {
  return decide(
    aSituation({
      spec: { mode: 'async' },
      shape: { instances: 2 },
      requests: [{ kind: 'failover', id: 'request-1', to, acceptLoss }],
      failedRequests: new Map([[fetchKey(shop1, shop0), { why: 'the binlog is encrypted', timedOut: false }]]),
      ...given,
      record: { acks: 0, acksWanted: 0, syncSet: [shop1], ...given.record },
    }),
  )
}

const dead = (more: ViewOverrides): ViewOverrides => ({ ...deadServer, ...more, binlogSet: gtids('shop-0', 110) })

describe('A person’s failover in mode async, where the volume of the dead primary cannot be read,', () => {
  const views = { 'shop-0': dead(promisedAsPrimary(110)), 'shop-1': promised(100) }
  const afterFetch = { views, record: { intent: fetchIntent() } }

  it.each([[null], ['shop-1']])(
    'gives up what that has once a loss is accepted, and does not go round for ever: to %s',
    (to) => {
      const decision = asked(to, true, afterFetch)
      expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop1, intent: null })
      expect(lossIn(decision)).toEqual(unknownLoss)
      expect(decision.sentence).toContain('forced failover to shop-1: writes that only shop-0 holds are given up')
    },
  )

  it('without that gives the epoch back, and then has the primary started instead of asking for promises again', () => {
    expect(committed(asked(null, false, afterFetch))).toMatchObject({ epoch: 2, primary: shop0 })
    const at = { promise: 2, revision: 2 }
    const back = asked(null, false, {
      record: { epoch: 2, revision: 2 },
      views: { 'shop-0': dead(promisedAsPrimary(110, { stored: at })), 'shop-1': promised(100, { stored: at }) },
    })
    expect(back.condition).toBe('primaryToBeStarted')
    expect(ordersOf(back)[0]).toMatch(/^primary shop-0 .* may restart 2@2$/)
  })
})
