import type { Mutation } from '../mutation.ts'

const heading = 'Mode async'

/** What keeps acknowledged writes where no replica acknowledges. */
export const salvages: readonly Mutation[] = [
  {
    id: 'volume-of-the-dead-counts',
    rule: 'In mode async nobody leads without what the binlog of the dead primary holds.',
    heading,
    file: 'failover/judge/durability.ts',
    find: 'const primaryCounts = byPrimary && (unsettled || !bySyncSet)',
    replace: 'const primaryCounts = byPrimary && unsettled',
    family: 'async',
    shownBy: 'test/simulation/scenarios/salvage.test.ts',
  },
  {
    id: 'volume-gives-what-is-lacking',
    rule: 'Who is elected in mode async fetches what the volume of the dead primary alone has.',
    heading,
    file: 'agents/orders/fetching.ts',
    find: 'return salvage(parts, order, order.salvage)',
    replace: 'return undefined',
    family: 'async',
    shownBy: 'test/simulation/scenarios/salvage.test.ts',
  },
  {
    id: 'lease-before-loss',
    rule: 'Where a loss is accepted ahead of time, nobody leads before the lease of the silent primary has run out.',
    heading,
    file: 'failover/judge/lease-out.ts',
    find: 'return Math.max(0, sinceMs + leaseSurelyOutMs(timings) - nowMs)',
    replace: 'return Math.max(0, sinceMs - nowMs - leaseSurelyOutMs(timings))',
    family: 'leases',
    shownBy: 'test/simulation/scenarios/salvage.test.ts',
  },
  {
    id: 'lease-ends-the-server',
    rule: 'In mode async a primary whose lease ran out ends its server.',
    heading,
    file: 'agents/guard/lease.ts',
    find: 'if ((waiting > 0 || this.#isFence) && process',
    replace: 'if (waiting > 0 && process',
    family: 'leases',
    shownBy: 'agents/guard/lease.test.ts',
  },
  {
    id: 'no-confirmation-before-a-loss',
    rule: 'No manager confirms a lease while the successor of that primary is to fetch.',
    heading,
    file: 'src/manager/loop/lease-desk.ts',
    find: " && intent?.kind !== 'fetch'",
    replace: '',
    family: 'leases',
    shownBy: 'src/manager/loop/lease-desk.test.ts',
  },
]
