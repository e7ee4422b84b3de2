import type { RouterView } from '#api-contract/views.ts'
import type { App } from '#kube/app/app.ts'
import { isOfCluster } from '#kube/spec/owned.ts'

/** The routers of a cluster as their App says; undefined where there is none. */
export function routerViewOf(cluster: string, app: App | undefined): RouterView | undefined {
  if (app === undefined || !isOfCluster(cluster, app)) return undefined
  const [write, read] = app.spec.ports
  if (write === undefined || read === undefined) return undefined
  const { address = 'no address yet', sentence = 'the routers are not made yet' } = app.status ?? {}
  return { host: address, writePort: write.port, readPort: read.port, sentence }
}
