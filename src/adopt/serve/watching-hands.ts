import { describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { World } from '#common/ports/ports.ts'
import type { Hands, RecoveryUnderWay } from '#orchestrator/trees/hands.ts'
import { hostsOf } from '../adoption.ts'
import { addressesOf, otherThan, type Finished, type TreeHand } from '../trees/tree-hand.ts'
import { AskedRecovery, type Now } from '../watch/asked-recovery.ts'
import type { WatchedCluster } from '../watch/watched-cluster.ts'

export interface WatchingHands extends Hands {
  /** What changes have left behind is done where that can be done by now: a server may have been away. */
  finishAll(): Promise<void>
}

/** What orchestrator’s interface may do with the clusters of this manager. */
export function watchingHands(
  clusters: () => readonly WatchedCluster[],
  { hand, discover, world }: { readonly hand: TreeHand; readonly discover: Hands['discover']; readonly world: World },
): WatchingHands {
  const recovering = new Set<string>()
  const find = (name: string): WatchedCluster => {
    const found = clusters().find(({ adoption }) => adoption.cluster === name)
    if (found !== undefined) return found
    throw new RegentError('REGENT_NOT_FOUND', say`${name} is not watched any more`)
  }
  const refuseRecovering = (name: string): void => {
    if (recovering.has(name))
      throw new RegentError('REGENT_REFUSED', say`${name} is being recovered just now; ask again later`)
  }
  /** A recovery keeps what puts everything right again, and is not to be undone in the middle. */
  const finish = async (cluster: WatchedCluster): Promise<void> => {
    const { cluster: name } = cluster.adoption
    if (recovering.has(name)) return
    noteFinished(cluster, await hand.finishOne(name, hostsOf(cluster.adoption)))
  }
  return {
    async lookNow(name) {
      await finish(find(name))
      await find(name).lookNow()
    },
    async finishAll() {
      const failed: string[] = []
      for (const cluster of clusters())
        await finish(cluster).catch((error: unknown) =>
          failed.push(`${cluster.adoption.cluster}: ${describeError(error)}`),
        )
      if (failed.length > 0) throw new RegentError('REGENT_REFUSED', say`${failed.join('; ')}`)
    },
    async carryOut(name, change) {
      refuseRecovering(name)
      await hand.carryOut(name, hostsOf(find(name).adoption), change)
    },
    begin(name, begun): RecoveryUnderWay {
      refuseRecovering(name)
      const servers = addressesOf(hostsOf(find(name).adoption))
      const now = (): Now => ({ monotonicMs: world.clock.monotonicMs(), wallMs: world.clock.wallMs() })
      const asked = new AskedRecovery(world.random.hex(8), begun, now())
      // A cluster that is not watched any more has no list; what goes on at its servers ends as it must.
      const note = (): void =>
        clusters()
          .find(({ adoption }) => adoption.cluster === name)
          ?.noteRecovery(asked.recovery)
      note()
      recovering.add(name)
      return {
        id: asked.recovery.id,
        async carryOut(change) {
          const hosts = hostsOf(find(name).adoption)
          const other = otherThan(servers, hosts)
          if (other === undefined) return hand.carryOut(name, hosts, change)
          throw new RegentError('REGENT_REFUSED', say`${other} is another server since ${name} was adopted anew`)
        },
        tell(what) {
          asked.tell(what, now())
          note()
        },
        end(ended) {
          recovering.delete(name)
          asked.end(ended, now())
          note()
        },
      }
    },
    discover,
  }
}

/**
 * What a manager before has begun at a cluster is finished, and its recoveries have an end, too. A cluster where that
 * cannot be is told of, and tried again like every one: it keeps nobody from watching.
 */
export async function takeUp(
  cluster: WatchedCluster,
  hand: Pick<TreeHand, 'finishOne'>,
  tell: (error: unknown) => void,
): Promise<void> {
  const { adoption } = cluster
  const finished = await hand.finishOne(adoption.cluster, hostsOf(adoption)).catch(tell)
  if (finished?.isPending === true) return
  noteFinished(cluster, finished ?? undefined)
  cluster.endRecoveries({
    outcome: 'abandoned',
    sentence: 'ended in the middle: its manager died',
    to: null,
    lost: [],
  })
}

function noteFinished(cluster: WatchedCluster, finished: Finished | undefined): void {
  if (finished === undefined || finished.isPending === true) return
  const { leads, failed } = finished
  const rest = failed.length === 0 ? '' : `; not done: ${failed.join('; ')}`
  const sentence =
    leads === null
      ? `ended in the middle, and undone by the next manager`
      : `${leads} leads: finished by the next manager`
  const outcome = leads === null ? 'undone' : 'succeeded'
  cluster.endRecoveries({ outcome, sentence: `${sentence}${rest}`, to: leads, lost: [] })
}
