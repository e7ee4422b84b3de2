import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { realClock } from '#common/ports/real-world.ts'
import { findKubeConnection } from '#controller-runtime/kube-config/kube-config.ts'
import { manager } from '#kube/names/manager-names.ts'
import type { ClusterView } from '#api-contract/views.ts'
import { ApiClient } from './api-client.ts'
import { clusterId, clusterName, refuseOtherNamespace } from './cluster-reference.ts'
import type { KubernetesOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'
import type { Connection, Place } from './place.ts'
import { ManagerRoute } from './manager-route.ts'

/**
 * The clusters of a manager on Kubernetes. Names without a namespace are those of --namespace, else of the kubeconfig's
 * context.
 */
export async function kubernetesPlace(io: Io, options: KubernetesOptions): Promise<Place> {
  const connection = await findKubeConnection({
    clock: realClock,
    env: io.env,
    kubeconfig: options.kubeconfig,
    context: options.context,
  })
  const namespace = options.namespace ?? connection.namespace
  const route = await ManagerRoute.find(connection, options.managerNamespace ?? manager.namespace)
  const client = new ApiClient(route)

  async function ids(): Promise<readonly string[]> {
    return (await client.get<readonly ClusterView[]>('/clusters')).map(({ name }) => name)
  }

  async function only(): Promise<string> {
    const all = await ids()
    const here = all.filter((id) => id.startsWith(`${namespace}.`))
    const [first] = here
    if (first !== undefined && here.length === 1) return first
    const names = (here.length === 0 ? all : here).map(clusterName).join(', ')
    if (here.length > 0)
      throw new RegentError(
        'REGENT_NOT_FOUND',
        say`namespace ${namespace} has several clusters, so name one of them: ${names}`,
      )
    throw new RegentError(
      'REGENT_NOT_FOUND',
      say`namespace ${namespace} has no cluster; ${names === '' ? say`neither has any other` : say`there is: ${names}`}`,
    )
  }

  return {
    isCluster: async (word) => (await ids()).includes(clusterId(word, namespace)),
    async connect(wanted): Promise<Connection> {
      if (wanted !== undefined && options.namespace !== undefined) refuseOtherNamespace(wanted, options.namespace)
      const id = wanted === undefined ? await only() : clusterId(wanted, namespace)
      return { client, cluster: clusterName(id), path: `/clusters/${encodeURIComponent(id)}` }
    },
    [Symbol.asyncDispose]: () => route[Symbol.asyncDispose](),
  }
}
