import { expect, it } from 'vitest'
import { decide } from '../../../failover/decide.ts'
import { aSituation, deadServer } from '../../../failover/testing.ts'
import { clusterView } from './cluster-views.ts'

it('An instance in downtime is shown with until when, by whom and why, and with what is wrong all the same', () => {
  const downtime = { untilWallMs: 1_060_000, reason: 'new disk', owner: 'ann' }
  const shown = (wallMs: number) => {
    const situation = aSituation({
      views: { 'shop-2': deadServer },
      notes: { downtimes: [{ instance: 'shop-2', ...downtime }] },
      wallMs,
    })
    return clusterView(situation, decide(situation)).instances
  }
  const [, other, expected] = shown(1_000_000)
  expect(other).not.toHaveProperty('downtime')
  expect(expected?.downtime).toEqual(downtime)
  expect(expected?.problems[0]).toMatch(
    /^replica shop-2 is dead: .*\(expected: downtime until 1970-01-01 00:17:40 UTC by ann: new disk\)$/,
  )
  const [, , unexpected] = shown(1_060_000)
  expect(unexpected).not.toHaveProperty('downtime')
  expect(unexpected?.problems[0]).toMatch(/^replica shop-2 is dead: [^(]*$/)
})
