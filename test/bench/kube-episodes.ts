import { isReady } from '#controller-runtime/objects/conditions.ts'
import { pods } from '#kube/pods/stateful-set.ts'
import { manager } from '#kube/names/manager-names.ts'
import type { KubeCluster } from '../e2e/kube-cluster.ts'
import { isMysqld, isOwnCluster, kube, processOf } from '../e2e/own-cluster.ts'

/** Something after which another instance is primary. */
export interface Episode {
  /** It cuts cables or power, which only the cluster that this project makes allows. */
  readonly needsOwnNodes: boolean
  /** Brings a cluster that is whole to where it can happen; may leave it less than whole for a moment. */
  readonly prepare: (cluster: KubeCluster) => Promise<void>
  /** Resolves to what puts right what it did. */
  readonly happens: (cluster: KubeCluster, primary: string) => Promise<() => Promise<void>>
}

const nothing = () => Promise.resolve()

/** Of three instances the last is scaled away, as primary. */
const scaleIn: Episode = {
  needsOwnNodes: false,
  async prepare(cluster) {
    const last = `${cluster.name}-2`
    if ((await cluster.primary()) !== last) await cluster.handOver(last)
  },
  async happens(cluster) {
    await cluster.kubectl('scale', 'mysql', cluster.name, '--replicas', '2')
    return async () => void (await cluster.kubectl('scale', 'mysql', cluster.name, '--replicas', '3'))
  },
}

export const episodes = {
  kill: {
    needsOwnNodes: false,
    prepare: nothing,
    async happens(cluster, primary) {
      if (isOwnCluster) process.kill(await processOf(primary, isMysqld), 'SIGKILL')
      else await cluster.killMysqld(primary)
      return nothing
    },
  },
  switchover: {
    needsOwnNodes: false,
    prepare: nothing,
    happens: (cluster) => cluster.regent('switchover', cluster.name).then(() => nothing),
  },
  'scale-in': scaleIn,
  'network-cut': loses('cut', 'mend', { leaderToo: false }),
  'power-cut': loses('node-kill', 'node-start', { leaderToo: false }),
  'power-cut-of-leader-too': loses('node-kill', 'node-start', { leaderToo: true }),
} as const satisfies Readonly<Record<string, Episode>>

export type EpisodeName = keyof typeof episodes

/** The primary's node is lost, with or without the manager that leads. */
function loses(verb: string, opposite: string, { leaderToo }: { readonly leaderToo: boolean }): Episode {
  return {
    needsOwnNodes: true,
    async prepare(cluster) {
      await cluster.until(
        () => 'two managers that are ready',
        () => managersReady(cluster),
      )
      const leadersNode = await nodeOfLeader(cluster)
      const primary = await cluster.primary()
      const fits = async (instance: string) => ((await cluster.nodeOf(instance)) === leadersNode) === leaderToo
      if (await fits(primary)) return
      for (const to of await cluster.replicas()) {
        if (await fits(to)) return cluster.handOver(to)
      }
      throw new Error(`no instance runs ${leaderToo ? 'beside' : 'away from'} the leading manager on ${leadersNode}`)
    },
    async happens(cluster, primary) {
      const node = await cluster.nodeOf(primary)
      await kube(verb, node)
      return () => kube(opposite, node)
    },
  }
}

async function managersReady({ client }: KubeCluster): Promise<boolean> {
  const { items } = await client.list(pods, {
    namespace: manager.namespace,
    labelSelector: 'app.kubernetes.io/name=regent',
  })
  return items.filter(isReady).length >= 2
}

async function nodeOfLeader(cluster: KubeCluster): Promise<string> {
  const name = await cluster.leader()
  const pod = await cluster.client.get(pods, { namespace: manager.namespace, name })
  if (pod?.spec?.nodeName === undefined) throw new Error(`pod ${name}, which leads, has no node`)
  return pod.spec.nodeName
}
