import { describe, expect, it, test } from 'vitest'
import { gtids, type ViewOverrides } from '#topology/testing.ts'
import { decide } from '#failover/decide.ts'
import {
  aSituation,
  committed,
  deadServer,
  ordersOf,
  promised,
  promisedAsPrimary,
  shop0,
  type SituationOverrides,
} from '#failover/testing.ts'
import { whyNeverTo } from '#failover/semisync/failover-target.ts'
import { revocation } from '../election/durability.ts'
import { lostByPrimary } from './lost-by-primary.ts'

const silent: ViewOverrides = { reachable: false }

function dead(last: number): ViewOverrides {
  return { ...deadServer, binlogSet: gtids('shop-0', last) }
}

function holding(executed: string): ViewOverrides {
  return { server: { executed } }
}

/** Shop-1 alone is heard of the sync set: S alone cannot revoke. */
function afterDeath(binlog: number | null, shop1: ViewOverrides, more: SituationOverrides = {}) {
  const primary = binlog === null ? deadServer : dead(binlog)
  return aSituation({ ...more, views: { 'shop-0': primary, 'shop-1': shop1, 'shop-2': silent, ...more.views } })
}

describe('a dead primary whose binlog lacks what a member of the sync set received from it', () => {
  const goneBack = afterDeath(97, holding(gtids('shop-0', 100)))

  it('has lost that', () => {
    const found = lostByPrimary(goneBack)
    expect(found?.heldBy).toBe('shop-1')
    expect(found?.lost.toString()).toBe(`${gtids('shop-0', 1).slice(0, -3)}98-100`)
  })

  it('is not started again, and it is said who must come back', () => {
    const decision = decide(goneBack)
    expect(ordersOf(decision)).toEqual([])
    expect(decision).toMatchObject({ blocked: true })
    expect(decision.sentence).toBe(
      'no automatic failover: mysqld of shop-0 is dead; shop-0 lacks 3 transactions that shop-1 received from it, and is not started again; 2 members of the sync set must promise, none did; bring back the volume of shop-0 as it was, shop-2, or give up what they hold: regent failover --accept-loss (with --to shop-0 it is taken as it is now)',
    )
  })

  it('is not started again where automatic failover is off', () => {
    const off = { spec: { failover: { automatic: false } } }
    expect(ordersOf(decide(afterDeath(97, holding(gtids('shop-0', 100)), off)))).toEqual([])
    expect(ordersOf(decide(afterDeath(100, holding(gtids('shop-0', 100)), off)))[0]).toMatch(/may restart/)
  })

  it('is not given the next epoch back', () => {
    const views = { 'shop-0': promisedAsPrimary(97, dead(97)) }
    expect(decide(afterDeath(97, holding(gtids('shop-0', 100)), { views })).actions).toEqual([])
  })

  it('is taken as it is where a person accepts the loss: whoever holds more counts no more, and it is started', () => {
    const forced = { kind: 'failover', id: 'one', to: 'shop-0', acceptLoss: true } as const
    expect(whyNeverTo(goneBack, 'shop-0', true)).toBeNull()
    expect(String(whyNeverTo(goneBack, 'shop-0', false))).toContain('is the primary that is to be replaced')
    const decision = decide({ ...goneBack, requests: [forced] })
    const record = committed(decision)
    expect(record).toMatchObject({ epoch: 2, revision: 2, primary: shop0, syncSet: [], acks: 1 })
    expect(decision.sentence).toBe(
      'forced failover to shop-0, which is taken as it is: 3 transactions that shop-1 received from it are given up',
    )
    expect(ordersOf(decide({ ...goneBack, record }))[0]).toMatch(/^primary shop-0 .* may restart/)
  })

  it('revokes nothing by its own promise; the sync set alone does', () => {
    const primary = promisedAsPrimary(97, dead(97))
    const alone = { 'shop-0': primary, 'shop-1': promised(100), 'shop-2': silent }
    expect(revocation(aSituation({ views: alone }), 2).revoked).toBe(false)
    const both = revocation(aSituation({ views: { ...alone, 'shop-2': promised(98) } }), 2)
    expect(both.revoked).toBe(true)
    expect(both.union.toString()).toBe(gtids('shop-0', 100))
  })
})

describe('nothing is lost', () => {
  test.each<[string, number, ViewOverrides]>([
    ['where the binlog has a tail that nobody received', 103, holding(gtids('shop-0', 100))],
    ['where both hold the same', 100, holding(gtids('shop-0', 100))],
    ['by what a hand wrote at the member', 100, holding(`${gtids('shop-0', 100)},${gtids('shop-1', 3)}`)],
    ['by what another primary issued', 100, holding(`${gtids('shop-0', 100)},${gtids('shop-2', 9)}`)],
    [
      'by a member that is connected to another server',
      97,
      { server: { executed: gtids('shop-0', 100), channel: { sourceHost: '127.24.1.9' } } },
    ],
    [
      'by a member that was connected to no server yet',
      97,
      { server: { executed: gtids('shop-0', 100), channel: { sourceUuid: '' } } },
    ],
  ])('%s', (_why, binlog, view) => {
    const situation = afterDeath(binlog, view)
    expect(lostByPrimary(situation)).toBeNull()
    expect(ordersOf(decide(situation))[0]).toMatch(/^primary shop-0 .* may restart/)
  })

  it('by a primary that runs: its replicas may have received something since', () => {
    const views = { 'shop-0': { binlogSet: gtids('shop-0', 90) }, 'shop-1': holding(gtids('shop-0', 100)) }
    expect(lostByPrimary(aSituation({ views }))).toBeNull()
  })
})

describe('a dead primary whose binlog was not read yet', () => {
  it('is not started again before that', () => {
    const decision = decide(afterDeath(null, holding(gtids('shop-0', 100))))
    expect(ordersOf(decision)).toEqual([])
    expect(decision.sentence).toMatch(
      /^restarting shop-0 in place once its binlog is read: mysqld of shop-0 is dead, and /,
    )
  })

  it('is started again where no member of the sync set could know of more', () => {
    expect(ordersOf(decide(afterDeath(null, silent)))[0]).toMatch(/^primary shop-0 .* may restart/)
  })
})
