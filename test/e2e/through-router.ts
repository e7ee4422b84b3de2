import { apps } from '#kube/app/app.ts'
import { namesOf } from '#kube/names/names.ts'
import { mysqlPort, services } from '#kube/objects/services.ts'
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

export async function routersReady(cluster: KubeCluster): Promise<void> {
  const key = { namespace: cluster.namespace, name: namesOf(cluster.name).router }
  let said: string | undefined
  await cluster.until(
    () => `the routers are ready; ${said}`,
    async () => {
      const { status } = (await cluster.client.get(apps, key)) ?? {}
      said = status?.sentence
      return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')
    },
    180_000,
  )
}
