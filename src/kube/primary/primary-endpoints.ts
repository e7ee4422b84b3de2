import { isIPv6 } from 'node:net'
import { RegentError } from '#common/errors/errors.ts'
import type { PrimaryRoute } from '#common/ports/platform.ts'
import { say } from '#common/sentence/sentence.ts'
import { isAlreadyExists, isConflict, isNotFound } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import type { KubeObject, ObjectKey, OwnerReference, Resource } from '#controller-runtime/objects/objects.ts'
import { epochOf, withinRecord, type CommittedEpoch } from './epoch.ts'
import { annotations, commonLabels, fieldManager, namesOf } from '../names/names.ts'
import { services } from '../objects/services.ts'
import { foreign, isOfCluster } from '../spec/owned.ts'

export interface EndpointSlice extends KubeObject {
  readonly addressType: 'IPv4' | 'IPv6'
  readonly endpoints: readonly Endpoint[] | null
  readonly ports?: readonly { readonly name: string; readonly port: number; readonly protocol: 'TCP' }[]
}

interface Endpoint {
  readonly addresses: readonly string[]
  readonly conditions: { readonly ready: boolean; readonly serving: boolean; readonly terminating: boolean }
  readonly nodeName?: string
  readonly targetRef?: { readonly kind: 'Pod'; readonly namespace: string; readonly name: string }
}

export const endpointSlices: Resource<EndpointSlice> = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
}

/** Labels of a slice: the Service that it is of, and who writes it. */
export const serviceName = 'kubernetes.io/service-name'
export const managedBy = 'endpointslice.kubernetes.io/managed-by'

/**
 * A slice that others changed so often in a row, and whose epoch did not grow, is fought over: the API server is not
 * asked again at once.
 */
const publishAttempts = 5

/** What is not in a route: fixed for a cluster. */
export interface EndpointsOf {
  readonly cluster: string
  readonly namespace: string
  /** The `MySQLCluster`, so that the slice goes with it. */
  readonly owner: OwnerReference
  readonly committedEpoch: CommittedEpoch
}

/**
 * The one EndpointSlice of Service `<cluster>-primary`, which has no selector. A failover is one write of it:
 * kube-proxy programs a node's rules at once for the first change within a second and lets further ones wait (safety
 * rule 7). The slice carries the epoch, and whoever knows only an older one loses, also by `resourceVersion`.
 */
export class PrimaryEndpoints {
  readonly #client: KubeClient
  readonly #of: EndpointsOf
  readonly #key: ObjectKey
  /** As last seen or written, to write the next one without reading. */
  #seen: EndpointSlice | undefined

  constructor(client: KubeClient, of: EndpointsOf) {
    this.#client = client
    this.#of = of
    this.#key = { namespace: of.namespace, name: namesOf(of.cluster).primary }
  }

  /**
   * Resolves to false where a newer epoch is published. Idempotent.
   * @throws RegentError `REGENT_STORE_CONFLICT` where each write met another one, other than a manager's of an epoch
   *   before this one: whoever decides tries again later
   */
  async publish(route: PrimaryRoute): Promise<boolean> {
    let newest = 0
    for (let attempt = 0; attempt < publishAttempts; attempt++) {
      const before = this.#seen ?? (await this.#look())
      await this.#refuseForeign(before)
      const epoch = before === undefined ? 0 : epochOf(before)
      // What was seen may be old, but epochs only grow.
      if (epoch > route.epoch) return false
      if (epoch > newest) {
        newest = epoch
        attempt = 0
      }
      if (this.#leadsBy(before, route)) return true
      if (await this.#write(before, route)) return true
    }
    const { namespace, name } = this.#key
    const slice = say`EndpointSlice ${namespace ?? ''}/${name}`
    throw new RegentError('REGENT_STORE_CONFLICT', say`others changed ${slice} again and again`)
  }

  async published(): Promise<PrimaryRoute | undefined> {
    const slice = await this.#look()
    const isOurs = slice !== undefined && isOfCluster(this.#of.cluster, slice) && this.#leads(slice)
    return isOurs ? routeIn(slice) : undefined
  }

  /**
   * Whether this was written here, as far as can be told: while a write is under way, or before anything was looked at,
   * everything is.
   */
  isOwn({ metadata }: EndpointSlice): boolean {
    return this.#seen === undefined || this.#seen.metadata.resourceVersion === metadata.resourceVersion
  }

  async #look(): Promise<EndpointSlice | undefined> {
    const slice = await this.#client.get(endpointSlices, this.#key)
    this.#seen = slice && withinRecord(slice, await this.#of.committedEpoch())
    return this.#seen
  }

  /** Neither a slice of somebody else is written, nor one for a Service of somebody else: its clients came for that. */
  async #refuseForeign(slice: EndpointSlice | undefined): Promise<void> {
    const { cluster } = this.#of
    const found = slice ?? (await this.#client.get(services, this.#key))
    if (found === undefined || isOfCluster(cluster, found)) return
    this.#seen = undefined
    throw foreign(cluster, [found])
  }

  /**
   * False where somebody wrote meanwhile. A write whose answer is lost may have happened: what was seen is forgotten.
   */
  async #write(before: EndpointSlice | undefined, route: PrimaryRoute): Promise<boolean> {
    this.#seen = undefined
    try {
      if (before !== undefined && before.addressType !== addressTypeOf(route.host)) {
        // The type of address is fixed for a slice's life. A writer that comes between the two writes is met again in
        // `publish`.
        await this.#remove(before)
        return await this.#write(undefined, route)
      }
      const next = this.#slice(before, route)
      this.#seen =
        before === undefined
          ? await this.#client.create(endpointSlices, next, { fieldManager })
          : await this.#client.update(endpointSlices, next, { fieldManager })
      return true
    } catch (error) {
      // What is not found by a create is the namespace: to try again would never end.
      if (isConflict(error) || isAlreadyExists(error) || (before !== undefined && isNotFound(error))) return false
      throw error
    }
  }

  async #remove({ metadata: { uid = '', resourceVersion = '' } }: EndpointSlice): Promise<void> {
    await this.#client.delete(endpointSlices, this.#key, { uid, resourceVersion })
  }

  #labels(): Readonly<Record<string, string>> {
    const { cluster } = this.#of
    return { ...commonLabels(cluster), [serviceName]: namesOf(cluster).primary, [managedBy]: 'regent.dev' }
  }

  /** Whether clients are led by it: without its labels it is of no Service, and who is not ready is not reached. */
  #leads({ metadata, endpoints, ports = [] }: EndpointSlice): boolean {
    const isLabelled = Object.entries(this.#labels()).every(([name, value]) => metadata.labels?.[name] === value)
    const [endpoint, ...others] = endpoints ?? []
    return isLabelled && ports.length === 1 && others.length === 0 && endpoint?.conditions.ready !== false
  }

  #leadsBy(slice: EndpointSlice | undefined, route: PrimaryRoute): boolean {
    return slice !== undefined && says(slice, route) && this.#leads(slice)
  }

  #slice(before: EndpointSlice | undefined, { epoch, instance, host, port }: PrimaryRoute): EndpointSlice {
    const { namespace, owner } = this.#of
    return {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        ...before?.metadata,
        ...this.#key,
        labels: { ...before?.metadata.labels, ...this.#labels() },
        annotations: { ...before?.metadata.annotations, [annotations.epoch]: String(epoch) },
        ownerReferences: [owner],
      },
      addressType: addressTypeOf(host),
      endpoints: [
        {
          addresses: [host],
          conditions: { ready: true, serving: true, terminating: false },
          targetRef: { kind: 'Pod', namespace, name: instance },
        },
      ],
      ports: [{ name: 'mysql', port, protocol: 'TCP' }],
    }
  }
}

function addressTypeOf(host: string): EndpointSlice['addressType'] {
  return isIPv6(host) ? 'IPv6' : 'IPv4'
}

function says(slice: EndpointSlice, { epoch, instance, host, port }: PrimaryRoute): boolean {
  const [endpoint, ...more] = slice.endpoints ?? []
  return (
    epochOf(slice) === epoch &&
    more.length === 0 &&
    endpoint?.addresses[0] === host &&
    endpoint.targetRef?.name === instance &&
    slice.ports?.[0]?.port === port
  )
}

function routeIn(slice: EndpointSlice): PrimaryRoute | undefined {
  const [endpoint] = slice.endpoints ?? []
  const [port] = slice.ports ?? []
  if (endpoint === undefined) return undefined
  const { targetRef, addresses } = endpoint
  return { epoch: epochOf(slice), instance: targetRef?.name ?? '', host: addresses[0] ?? '', port: port?.port ?? 3306 }
}
