import { describe, expect, it } from 'vitest'
import { aSituation, type SituationOverrides } from '../testing.ts'
import { whyNoFailover } from './asked-failover.ts'

const lostAgent = { reachable: false, heardAtMs: 100 }
const asked = { to: null, acceptLoss: false }
/** A majority is silent: nobody may be elected. */
const stuck = (last: object): SituationOverrides => ({
  nowMs: 60_000,
  views: { 'shop-0': lostAgent, 'shop-1': lostAgent, 'shop-2': last },
})

describe('A failover that is asked for and cannot begin', () => {
  it('is refused', () => {
    expect(String(whyNoFailover(aSituation(stuck({})), asked))).toMatch(/^no failover: .* must promise, none did/)
  })

  it('is refused as well while somebody is told of backups', () => {
    const told = aSituation(stuck({ backupTask: 'an older task' }))
    expect(String(whyNoFailover(told, asked))).toBe(String(whyNoFailover(aSituation(stuck({})), asked)))
  })
})
