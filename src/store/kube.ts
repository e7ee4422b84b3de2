import { isAlreadyExists, isConflict, isNotFound } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import type { OwnerReference } from '#controller-runtime/objects/objects.ts'
import { describeError } from '#common/errors/errors.ts'
import type { Timers } from '#common/ports/ports.ts'
import { realTimers } from '#common/ports/real-world.ts'
import { cellStore, storeDeadlineMs } from './cell-store.ts'
import { kubeCells, type StoreClient } from './kube-cells.ts'
import type { Store } from './store.ts'

export interface KubeStoreOptions {
  /** Where the records of this store's clusters are: the namespace of their `MySQLCluster`. */
  readonly namespace: string
  /** Whom the records go with. */
  readonly owner?: OwnerReference
  readonly deadlineMs?: number
  readonly timers?: Timers
}

/** Records in Kubernetes, in objects of their own beside the clusters they are of. */
export function kubeStore(client: KubeClient, options: KubeStoreOptions): Store {
  const { namespace, owner, deadlineMs = storeDeadlineMs, timers = realTimers } = options
  return cellStore(kubeCells(plainFailures(client), namespace, owner), { timers, deadlineMs })
}

/**
 * Silence and refusals that are no answer about the object (403, 500) are failures of the store, as those of every
 * other store.
 */
function plainFailures(client: KubeClient): StoreClient {
  const plain = async <Result>(asked: Promise<Result>, isAnswer = isAboutObject): Promise<Result> => {
    try {
      return await asked
    } catch (error) {
      if (isAnswer(error)) throw error
      throw new Error(describeError(error), { cause: error })
    }
  }
  return {
    get: (...asked) => plain(client.get(...asked)),
    // What is not found by a create is the namespace.
    create: (...asked) => plain(client.create(...asked), isAlreadyExists),
    update: (...asked) => plain(client.update(...asked)),
    patch: (...asked) => plain(client.patch(...asked)),
    delete: (...asked) => plain(client.delete(...asked)),
  }
}

function isAboutObject(error: unknown): boolean {
  return isConflict(error) || isNotFound(error)
}
