import { isReady } from '#controller-runtime/objects/conditions.ts'
import { apps } from '#kube/app/app.ts'
import { manager } from '#kube/names/manager-names.ts'
import { namesOf } from '#kube/names/names.ts'
import { mysqlPort, services } from '#kube/objects/services.ts'
import { pods, type Pod } from '#kube/pods/stateful-set.ts'
import type { WrittenCluster } from '../support/written-cluster.ts'
import { found, type KubeCluster } from './kube-cluster.ts'

/** The Service of the routers, by its address, as clients' resolvers keep it. */
export async function routerHost(cluster: KubeCluster): Promise<string> {
  const key = { namespace: cluster.namespace, name: namesOf(cluster.name).routerService }
  const service = await cluster.client.get(services, key)
  return found(service?.spec.clusterIP, 'an address of the router’s Service')
}

/** The cluster for writers that know the router's address alone, or one of its addresses. */
export function throughRouter(cluster: KubeCluster, host?: string): WrittenCluster {
  return {
    primary: () => cluster.primary(),
    replicas: () => cluster.replicas(),
    login: (user) => cluster.login(user),
    sql: (instance, statement, options) => cluster.sql(instance, statement, options),
    value: (instance, statement) => cluster.value(instance, statement),
    writerTarget: async () => ({
      ...(await cluster.writerTarget()),
      pinned: { host: host ?? (await routerHost(cluster)), port: mysqlPort },
    }),
  }
}

export async function routerPods(cluster: KubeCluster): Promise<readonly Pod[]> {
  const labelSelector = `apps.regent.dev/app=${namesOf(cluster.name).router}`
  return (await cluster.client.list(pods, { namespace: cluster.namespace, labelSelector })).items
}

/** Resolves once none is left, or once one leads and finds the cluster whole. */
export async function scaleManagers(cluster: KubeCluster, replicas: number): Promise<void> {
  await cluster.kubectl('-n', manager.namespace, 'scale', 'deployment', 'regent', '--replicas', String(replicas))
  await cluster.until(
    () => `${replicas} managers`,
    async () =>
      replicas > 0
        ? (await cluster.view()).whole
        : (await cluster.kubectl('-n', manager.namespace, 'get', 'pods', '-o', 'name')).trim() === '',
    180_000,
  )
}

/** Managers are back, and find the cluster whole, however the work ended. */
export async function withoutManagers(cluster: KubeCluster, work: () => Promise<void>): Promise<void> {
  await scaleManagers(cluster, 0)
  try {
    await work()
  } finally {
    await scaleManagers(cluster, 2)
  }
}

export async function routersReady(cluster: KubeCluster): Promise<void> {
  const key = { namespace: cluster.namespace, name: namesOf(cluster.name).router }
  let said: string | undefined
  await cluster.until(
    () => `the routers are ready; ${said}`,
    async () => {
      const app = await cluster.client.get(apps, key)
      said = app?.status?.sentence
      return isReady(app)
    },
    180_000,
  )
}
