import { gtids, type ViewOverrides } from '#topology/testing.ts'
import { decide } from '../decide.ts'
import type { Decision } from '../protocol/decision.ts'
import { aSituation, shop1, type SituationOverrides } from '../testing.ts'

/** An instance that is not in the sync set and is told so. */
export const outside = (more: ViewOverrides): ViewOverrides => ({
  ...more,
  stored: {
    assignment: { epoch: 1, revision: 1, role: 'replica', counted: false, fenced: false, source: 'shop-0' },
    ...more.stored,
  },
})

/** What is decided where shop-2 looks like `view`. Only shop-1 is in the sync set, unless `given` says otherwise. */
export function decisionFor(view: ViewOverrides, given: SituationOverrides = {}): Decision {
  return decide(
    aSituation({
      ...given,
      record: { syncSet: [shop1], ...given.record },
      views: {
        'shop-0': { server: { openGates: ['shop-1', 'shop-2'], ...given.views?.['shop-0']?.server } },
        ...given.views,
        'shop-2': outside(view),
      },
    }),
  )
}

/** The transactions of shop-0, which everybody has. */
export const own = gtids('shop-0', 100)
/** What shop-2 shows that has three transactions of its own besides. */
export const errant = { server: { executed: `${own},${gtids('shop-2', 3)}`, received: own } }
