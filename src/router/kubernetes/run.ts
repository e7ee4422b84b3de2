import { dirname, join } from 'node:path'
import { createLogger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { listeningHosts, ownAddresses } from '#common/process/pod-addresses.ts'
import { followCertificateFolder } from '#common/tls/certificate-folder.ts'
import { agentTlsName } from '#common/tls/tls-names.ts'
import { routerSettings } from '#failover/protocol/router-settings.ts'
import { routerPaths, routerPorts } from '#kube/router/router-file.ts'
import { haproxyOnPath } from '#local/packages/haproxy-binaries.ts'
import { plainServer } from '#manager/servers/plain.ts'
import type { Haproxy } from '../haproxy.ts'
import { statisticsIn } from '../haproxy-statistics.ts'
import { routerMetrics } from '../router-metrics.ts'
import type { Router } from '../router.ts'
import { serve } from '../serve.ts'
import { followKubernetes } from './kubernetes-source.ts'
import { managersOf } from './managers.ts'
import { readRouterFile } from './read-router-file.ts'
import { readinessOf } from './readiness.ts'

export interface KubernetesRouterOptions {
  /** The file of a ConfigMap, beside the certificate of the managers' authority. */
  readonly config: string
  readonly logLevel: string
}

/** Runs one router of a cluster on Kubernetes until SIGTERM, and HAProxy with it. */
export async function runKubernetesRouter({ config, logLevel }: KubernetesRouterOptions): Promise<void> {
  const log = createLogger({ level: logLevel, name: 'router' })
  const file = await readRouterFile(config)
  const { cluster, namespace } = file
  const tokenFile = join(routerPaths.secrets, 'agent-token')
  const certificates = await followCertificateFolder({
    folder: routerPaths.certificates,
    world: realWorld,
    log,
    checksPeers: true,
  })
  const settings = routerSettings(file.settings)
  const hosts = listeningHosts(process.env['POD_IPS'] ?? '', ownAddresses())
  await serve({
    cluster,
    settings,
    folder: routerPaths.run,
    haproxy: await haproxyOnPath(),
    address: { hosts, writePort: routerPorts.write, readPort: routerPorts.read },
    tokenFile,
    tls: { servername: agentTlsName(cluster, namespace), certificates },
    log,
    endsWithinMs: settings.drainMs,
    source: (router, until, warn) => {
      const url = async (): Promise<string> => (await readRouterFile(config)).manager
      const openManager = managersOf({ url, folder: dirname(config), tokenFile })
      const parts = { file: () => readRouterFile(config).catch(() => file), openManager, warn }
      return followKubernetes(router, parts, until)
    },
    show: (router, until, haproxy) => {
      const routes = routesOf(cluster, router, haproxy)
      // Kubernetes asks at the first address.
      const address = { host: hosts[0], port: routerPorts.probes }
      return plainServer({ name: 'probes', address, option: '--config', routes, log }).run(until)
    },
  })
  certificates.close()
}

function routesOf(cluster: string, router: Router, haproxy: Pick<Haproxy, 'tell'>) {
  return {
    '/live': async () => ({ body: 'ok\n' }),
    '/ready': async () => readinessOf(router),
    '/metrics': async () => {
      const statistics = await haproxy.tell(['show stat']).then(statisticsIn, () => [])
      return {
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
        body: routerMetrics(cluster, router.state, statistics),
      }
    },
  }
}
