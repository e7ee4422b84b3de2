import { keyOf, keyText, type ObjectKey } from '#controller-runtime/objects/objects.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'

export interface Progress {
  /** The generation of the spec of which everything is applied; undefined before the first. */
  readonly generation: number | undefined
  /** Why the spec cannot be followed; '' where it can. */
  readonly trouble: string
}

/**
 * How far the specs of clusters are followed. What is applied whole is kept in the status (`observedGeneration`), so
 * that the next manager knows what is still to be done; what this manager did since, and what stands in its way, is
 * here.
 */
export class SpecProgress {
  readonly #known = new Map<string, Progress & { readonly uid: string | undefined }>()

  of(cluster: MySQLCluster): Progress {
    const known = this.#known.get(keyText(keyOf(cluster)))
    const isOfIt = known !== undefined && known.uid === cluster.metadata.uid
    // Another manager may have applied more since.
    const generation = Math.max((isOfIt && known.generation) || 0, cluster.status?.observedGeneration ?? 0)
    return { generation: generation === 0 ? undefined : generation, trouble: isOfIt ? known.trouble : '' }
  }

  /** What stood in the way may still do: that it does not is told by `stuck`. */
  applied(cluster: MySQLCluster): void {
    this.#set(cluster, { ...this.of(cluster), generation: cluster.metadata.generation })
  }

  /** @param trouble '' where nothing stands in the way any more */
  stuck(cluster: MySQLCluster, trouble: string): void {
    this.#set(cluster, { ...this.of(cluster), trouble })
  }

  forget(key: ObjectKey): void {
    this.#known.delete(keyText(key))
  }

  #set(cluster: MySQLCluster, progress: Progress): void {
    this.#known.set(keyText(keyOf(cluster)), { ...progress, uid: cluster.metadata.uid })
  }
}
