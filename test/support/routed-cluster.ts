import { readCluster, routerAddress } from '#local/folder/cluster-file.ts'
import type { TestCluster } from './cluster.ts'
import type { WrittenCluster } from './written-cluster.ts'

export interface Routed {
  /** Writers say which instance took a write, as those without a router do. */
  readonly asksServer?: true
}

/** A cluster whose writers know the router's address alone. */
export function routedCluster(cluster: TestCluster, routed: Routed = {}): WrittenCluster {
  return {
    primary: () => cluster.primary(),
    replicas: () => cluster.replicas(),
    login: (user) => cluster.login(user),
    sql: (instance, statement, options) => cluster.sql(instance, statement, options),
    value: (instance, statement) => cluster.value(instance, statement),
    writerTarget: async () => {
      const { host, writePort } = routerAddress(await readCluster(cluster.layout.dir))
      return { ...(await cluster.writerTarget()), pinned: { host, port: writePort, ...routed } }
    },
  }
}
