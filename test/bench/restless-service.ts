import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '#common/errors/errors.ts'
import { endpointSlices, type EndpointSlice } from '#kube/primary/primary-endpoints.ts'
import { services, type Service } from '#kube/objects/services.ts'
import type { KubeCluster } from '../e2e/kube-cluster.ts'

export const restlessEveryMs = 200

/**
 * Another Service in the cluster's namespace whose endpoint changes all the time, as those of a busy cluster do:
 * kube-proxy programs one round of changes a second at most, so that a change of the primary's Service waits for the
 * next one.
 */
export class RestlessService {
  readonly #cluster: KubeCluster
  readonly #key: { readonly namespace: string; readonly name: string }
  readonly #over = new AbortController()
  #changing: Promise<void> = Promise.resolve()

  private constructor(cluster: KubeCluster) {
    this.#cluster = cluster
    this.#key = { namespace: cluster.namespace, name: 'restless' }
  }

  static async start(cluster: KubeCluster): Promise<RestlessService> {
    const restless = new RestlessService(cluster)
    await restless.#remove()
    const ports = [{ name: 'mysql', port: 3306, protocol: 'TCP' as const }]
    const service: Service = { apiVersion: 'v1', kind: 'Service', metadata: restless.#key, spec: { ports } }
    const slice: EndpointSlice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...restless.#key, labels: { 'kubernetes.io/service-name': restless.#key.name } },
      addressType: 'IPv4',
      ports,
      endpoints: [],
    }
    await cluster.client.create(services, service)
    await cluster.client.create(endpointSlices, slice)
    restless.#changing = restless.#change()
    return restless
  }

  async #change(): Promise<void> {
    const { client } = this.#cluster
    for (let round = 0; !this.#over.signal.aborted; round++) {
      const endpoints = [
        { addresses: [`192.0.2.${1 + (round % 200)}`], conditions: { ready: true, serving: true, terminating: false } },
      ]
      await client
        .patch(endpointSlices, this.#key, { endpoints })
        .catch((error: unknown) => console.error(`Service ${this.#key.name} rests: ${describeError(error)}`))
      await sleep(restlessEveryMs, undefined, { signal: this.#over.signal }).catch(() => undefined)
    }
  }

  async #remove(): Promise<void> {
    const { name } = this.#key
    await this.#cluster.kubectl('delete', `service/${name}`, `endpointslice/${name}`, '--ignore-not-found')
  }

  async stop(): Promise<void> {
    this.#over.abort()
    await this.#changing
    await this.#remove()
  }
}
