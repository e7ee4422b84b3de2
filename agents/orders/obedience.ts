import type { Order, OrderName } from '#failover/protocol/order.ts'
import type { Converger } from '../converge/converger.ts'
import type { Parts } from '../instance/parts.ts'
import type { Restoring } from '../backup/rebuild/restoring.ts'
import { obeyAssignment } from './assigning.ts'
import {
  assignChecks,
  demoteChecks,
  expelChecks,
  fetchChecks,
  promiseChecks,
  renounceChecks,
  requireAllowed,
  requireCurrent,
  reseedChecks,
  restoreChecks,
  writeChecks,
  type Check,
  type OrderState,
} from './checks.ts'
import { beginEmptying } from './emptying.ts'
import { fetchMissing } from './fetching.ts'
import { beginPasswords } from './change-passwords.ts'
import { renounce } from './renouncing.ts'
import type { Seeding } from './reseeding.ts'

/** Parts of an agent that carry orders out. */
export interface Hands {
  readonly parts: Parts
  readonly converger: Converger
  readonly seeding: Seeding
  readonly restoring: Pick<Restoring, 'begin'>
}

interface Obedience<T> {
  /** Beside those of every order (`requireCurrent`), before anything is written or done. */
  checks(order: T, state: OrderState): readonly Check[]
  /**
   * Writes to disk, then does. What waits for acknowledgements, or for the group, only begins: that shows in the
   * observation or in a notice.
   */
  obey(hands: Hands, order: T): void | Promise<void>
  /** What goes on in the background once the order is obeyed. */
  goOn?(hands: Hands, order: T): void
}

/** What an agent does on each order of `failover/protocol/order.ts`. */
export const obedience: { readonly [N in OrderName]: Obedience<Order<N>> } = {
  assign: {
    checks: assignChecks,
    obey: ({ parts, converger }, order) => obeyAssignment(parts, converger, order),
  },
  promise: {
    checks: promiseChecks,
    obey: async ({ converger }, order) => {
      await converger.mode.promise(order)
      await converger.keepPromise()
    },
    goOn: ({ converger }, { prepare }) => {
      if (prepare === true) void converger.alone(() => converger.mode.prepareToLead())
    },
  },
  demote: {
    checks: demoteChecks,
    obey: ({ converger }, order) => converger.mode.demote(order),
  },
  fetch: {
    checks: fetchChecks,
    obey: async ({ parts, converger }, order) => {
      await fetchMissing(parts, order)
      await converger.keepPromise()
    },
  },
  reseed: {
    checks: reseedChecks,
    obey: ({ seeding }, order) => seeding.begin(order),
  },
  restore: {
    checks: (_, state) => restoreChecks(state),
    obey: ({ restoring }, order) => restoring.begin(order),
  },
  renounce: {
    checks: renounceChecks,
    obey: async ({ parts, converger }, order) => {
      await renounce(parts, order)
      await converger.pass()
    },
  },
  passwords: {
    checks: writeChecks,
    obey: ({ parts }, order) => beginPasswords(parts, order),
  },
  empty: {
    checks: writeChecks,
    obey: ({ parts }, order) => beginEmptying(parts, order),
  },
  expel: {
    checks: expelChecks,
    obey: ({ converger }, order) => converger.mode.expel(order),
  },
}

/** Throws `REGENT_WRONG_MEMBER`, `REGENT_STALE_ORDER` or `REGENT_ORDER_NOT_ALLOWED` with the rule that failed. */
export function checkOrder<N extends OrderName>(name: N, order: Order<N>, state: OrderState): void {
  requireCurrent(name, order, state)
  requireAllowed(name, order, obedience[name].checks(order, state), state)
}
