import type { CertificateSource } from '#common/tls/tls.ts'
import type { InformerPort } from '#controller-runtime/informers/informer-port.ts'
import { keyOf, type ObjectKey } from '#controller-runtime/objects/objects.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'

/**
 * Asks for a look at each cluster with routers when the managers' authority is another: nothing of the cluster changes
 * then, and its routers know the managers by what the cluster's ConfigMap says.
 */
export function tellRoutersWhomToTrust(
  certificates: CertificateSource,
  clusters: Pick<InformerPort<MySQLCluster>, 'list'>,
  look: (key: ObjectKey) => void,
): () => void {
  let told = certificates.current()?.ca
  return certificates.onChange(({ ca }) => {
    if (ca === told) return
    told = ca
    for (const cluster of clusters.list()) if (cluster.spec.router !== undefined) look(keyOf(cluster))
  })
}
