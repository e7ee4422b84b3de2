import type { ClusterSpec } from '#failover/protocol/spec.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { Reach } from './host.ts'

const falls = [
  'the primary falls, and others are struck at their steps',
  'the primary falls, and so does the elected one',
]
const roads = ['a road of the agents is cut', 'both roads to the primary are cut', 'a host is cut off from everybody']
const back = 'the primary is cut off, and its successor dies once it is back'
const salvaged = 'the primary dies with a tail, and the salvage is struck'

/** Servers beside which nothing of Regent runs, in mode async: reached by SSH and SQL, or by SQL alone. */
export const farFamilies = {
  /** Of all their faults. */
  far: {
    mode: 'async',
    far: true,
    kinds: [
      ...['the machine of the agents dies', 'the agents stand still', 'a host loses its power', 'mysqld hangs'],
      ...['a switchover is asked for', 'the applier stands still', 'the network is slow', 'mysqld is killed'],
      ...['the agent dies', 'mysqld freezes', 'the network is cut', 'a manager dies', 'a stranger stops mysqld'],
      ...[...roads, ...roads, ...falls, back, back, salvaged, salvaged],
    ],
    instances: [2, 3, 3, 3, 4],
    lastsMs: 12_000,
    acceptsLoss: 'drawn',
  },
  /** What is no death: roads that only the agents have lost. */
  farRoads: {
    mode: 'async',
    far: true,
    kinds: [...roads, ...roads, 'the agents stand still', 'the network is slow', 'mysqld hangs', 'a manager dies'],
    instances: [2, 3, 3, 4],
    lastsMs: 14_000,
    acceptsLoss: 'drawn',
  },
  /** What an old primary alone has, and whom that meets. */
  farErrant: {
    mode: 'async',
    far: true,
    kinds: [back, back, back, 'a host is cut off from everybody', 'a host loses its power', 'mysqld is killed'],
    instances: [2, 3, 3, 3],
    lastsMs: 20_000,
    acceptsLoss: true,
  },
  /** The tail of a dead primary, and whoever is struck while that is brought. */
  farSalvages: {
    mode: 'async',
    far: true,
    kinds: [salvaged, salvaged, 'a road of the agents is cut', 'the machine of the agents dies', ...falls],
    instances: [2, 3, 3, 4],
    lastsMs: 8_000,
  },
} as const

/** By what each server is reached: all alike, or each as chance has it. */
export function drawReach(random: SeededRandom, instances: number): readonly Reach[] {
  const all = random.pick<Reach | 'mixed'>(['ssh', 'ssh', 'sql', 'mixed'])
  return Array.from({ length: instances }, () => (all === 'mixed' ? random.pick<Reach>(['ssh', 'sql']) : all))
}

/** What is lost, a person may have accepted ahead of time. */
export function drawAcceptedLoss(
  random: SeededRandom,
  accepts: true | 'drawn' | undefined,
): Partial<ClusterSpec['failover']> {
  if (accepts !== 'drawn') return accepts === true ? { acceptLoss: 'always' } : {}
  return random.pick<Partial<ClusterSpec['failover']>>([
    {},
    {},
    { acceptLoss: 'always' },
    { acceptLoss: 'upTo', acceptLossUpTo: { seconds: 5, transactions: 20 } },
    { acceptLoss: 'upTo', acceptLossUpTo: { seconds: 30, transactions: 1_000 } },
  ])
}
