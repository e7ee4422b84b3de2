import { RegentError } from '#common/errors/errors.ts'
import type { Hands } from '#orchestrator/trees/hands.ts'
import { hostsOf } from '../adoption.ts'
import type { TreeHand } from '../trees/tree-hand.ts'
import type { WatchedCluster } from '../watch/watched-cluster.ts'

/** What orchestrator’s interface may do with the clusters of this manager. */
export function watchingHands(
  clusters: () => readonly WatchedCluster[],
  hand: TreeHand,
  discover: Hands['discover'],
): Hands {
  const find = (name: string): WatchedCluster => {
    const found = clusters().find(({ adoption }) => adoption.cluster === name)
    if (found !== undefined) return found
    throw new RegentError('REGENT_NOT_FOUND', `${name} is not watched any more`)
  }
  return {
    lookNow: async (name) => find(name).lookNow(),
    carryOut: async (name, steps) => hand.carryOut(name, hostsOf(find(name).adoption), steps),
    discover,
  }
}
