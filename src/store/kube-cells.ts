import { isAlreadyExists, isConflict, isNotFound } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { configMaps, type ConfigMap } from '#controller-runtime/objects/config-map.ts'
import type { ObjectKey, OwnerReference } from '#controller-runtime/objects/objects.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable, type Sentence } from '#common/sentence/sentence.ts'
import type { Cell, CellName, Cells } from './cells.ts'

const clusterLabel = 'regent.dev/cluster'

/** What a store asks of the API. */
export type StoreClient = Pick<KubeClient, 'get' | 'create' | 'update' | 'patch' | 'delete'>

/** A cell as it was last seen, to swap it without reading it again. */
interface Seen {
  readonly resourceVersion: string
  readonly revision: number
}

/**
 * Cells as ConfigMaps of one namespace, each an object of its own (`shop-record`, `shop-notes`), so that no other write
 * to a cluster costs its record a conflict. The API server swaps by `resourceVersion`, through etcd's own
 * compare-and-swap; reads ask for no version and so are never from a cache (Kubernetes API concepts, "Resource
 * versions").
 * @param owner whom the cells go with; a cell that goes with a namesake of the owner is refused as
 *   `REGENT_STORE_UNAVAILABLE`
 */
export function kubeCells(client: StoreClient, namespace: string, owner?: OwnerReference): Cells {
  const seen = new Map<CellName, Seen>()
  const keyOf = (name: CellName): ObjectKey => ({ namespace, name: objectNameOf(name) })
  const whereIs = (name: CellName) => ({
    object: `ConfigMap ${namespace}/${objectNameOf(name)}`,
    removal: `kubectl -n ${namespace} delete configmap ${objectNameOf(name)}`,
  })

  async function look(name: CellName, signal: AbortSignal): Promise<Cell | undefined> {
    const found = await client.get(configMaps, keyOf(name), { signal })
    if (found === undefined) {
      seen.delete(name)
      return undefined
    }
    if (owner !== undefined && isOfEarlier(found, owner)) {
      seen.delete(name)
      throw new RegentError('REGENT_STORE_UNAVAILABLE', whyOfEarlier(whereIs(name), owner))
    }
    const cell = cellIn(found, say`${namespace}/${objectNameOf(name)}`)
    seen.set(name, { resourceVersion: found.metadata.resourceVersion ?? '', revision: cell.revision })
    return cell
  }

  async function create(name: CellName, next: Cell, signal: AbortSignal): Promise<boolean> {
    const metadata = {
      ...keyOf(name),
      labels: { 'app.kubernetes.io/managed-by': 'regent', [clusterLabel]: clusterOf(name) },
      ...(owner && { ownerReferences: [owner] }),
    }
    try {
      const made = await client.create(
        configMaps,
        { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: dataOf(next) },
        { signal },
      )
      seen.set(name, { resourceVersion: made.metadata.resourceVersion ?? '', revision: next.revision })
      return true
    } catch (error) {
      if (isAlreadyExists(error)) return false
      throw error
    }
  }

  /**
   * Undefined where the object changed since it was seen, though perhaps not its cell: somebody may have labelled it.
   */
  async function replace(name: CellName, from: Seen, next: Cell, signal: AbortSignal): Promise<boolean | undefined> {
    // Whatever the answer, what was seen is the past now; a write whose answer is lost may have happened.
    seen.delete(name)
    try {
      const written = await client.patch(
        configMaps,
        keyOf(name),
        { metadata: { resourceVersion: from.resourceVersion }, data: dataOf(next) },
        { signal },
      )
      seen.set(name, { resourceVersion: written.metadata.resourceVersion ?? '', revision: next.revision })
      return true
    } catch (error) {
      if (isConflict(error)) return undefined
      if (isNotFound(error)) return false
      throw error
    }
  }

  return {
    place: `Kubernetes namespace ${namespace}`,
    whereIs,
    read: look,

    async swap(name, expectedRevision, next, signal) {
      if (expectedRevision === 0) return create(name, next, signal)
      for (;;) {
        if (seen.get(name)?.revision !== expectedRevision) await look(name, signal)
        const from = seen.get(name)
        if (from?.revision !== expectedRevision) return false
        const swapped = await replace(name, from, next, signal)
        if (swapped !== undefined) return swapped
      }
    },

    async remove(name, signal) {
      seen.delete(name)
      const found = await client.get(configMaps, keyOf(name), { signal })
      if (found === undefined) return true
      if (found.metadata.labels?.[clusterLabel] !== clusterOf(name)) return false
      const { uid = '' } = found.metadata
      await client.delete(configMaps, keyOf(name), { uid, signal }).catch((error: unknown) => {
        // Replaced meanwhile: another one of that name is somebody else's decision.
        if (!isNotFound(error) && !isConflict(error)) throw error
      })
      return true
    },

    close: () => Promise.resolve(),
  }
}

/**
 * What a cluster that was deleted leaves behind: the garbage collector takes a while. By such a record the cluster that
 * was made again under the same name would take volumes that are gone for its own.
 */
function isOfEarlier({ metadata: { ownerReferences = [] } }: ConfigMap, { kind, name, uid }: OwnerReference): boolean {
  const namesakes = ownerReferences.filter((one) => one.kind === kind && one.name === name)
  return namesakes.length > 0 && namesakes.every((one) => one.uid !== uid)
}

function whyOfEarlier(
  { object, removal }: ReturnType<Cells['whereIs']>,
  { kind, name, uid }: OwnerReference,
): Sentence {
  const earlier = say`${object} is of an earlier ${kind} ${name} (this one is ${uid})`
  return say`${earlier}: nothing is decided before Kubernetes removes what that one left; where that does not come: ${removal}`
}

function dataOf({ revision, text }: Cell): Readonly<Record<string, string>> {
  return { revision: String(revision), text }
}

function cellIn({ data = {} }: ConfigMap, where: Sayable): Cell {
  const revision = Number(data['revision'])
  if (data['text'] === undefined || !Number.isSafeInteger(revision) || revision < 1) {
    throw new RegentError(
      'REGENT_BAD_FILE',
      say`ConfigMap ${where} is none of Regent's: its "revision" is ${JSON.stringify(data['revision'])?.slice(0, 40) ?? say`missing`}`,
    )
  }
  return { revision, text: data['text'] }
}

function objectNameOf(name: CellName): string {
  const [kind = '', cluster = ''] = name.split('.')
  return `${cluster}-${kind}`
}

function clusterOf(name: CellName): string {
  return name.split('.')[1] ?? ''
}
