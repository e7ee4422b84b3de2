import type { Decision } from '../protocol/decision.ts'
import { decide } from '../decide.ts'
import { aSituation, deadPrimary, type SituationOverrides } from '../testing.ts'

/** What is decided once the primary's mysqld is dead and its agent says so. */
export function afterDeath(given: SituationOverrides = {}): Decision {
  return decide(aSituation({ ...given, views: { 'shop-0': deadPrimary, ...given.views } }))
}

/** An instance that nobody hears, and that hears nobody. */
export const lost = { reachable: false, server: { channel: { ioRunning: 'connecting' } } } as const
