import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Agent, fetch } from 'undici'
import { RegentError } from '#common/errors/errors.ts'
import { readTokenFile } from '#common/http/bearer-token.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { createLogger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { say } from '#common/sentence/sentence.ts'
import { followCertificateFolder } from '#common/tls/certificate-folder.ts'
import { agentTlsName } from '#common/tls/tls-names.ts'
import { ApiClient } from '#cli/connection/api-client.ts'
import { routerSettings } from '#failover/protocol/router-settings.ts'
import { manager } from '#kube/names/manager-names.ts'
import { routerFileSchema, routerPaths, routerPorts, type RouterFile } from '#kube/router/router-file.ts'
import { refuseNewer } from '#local/files/file-version.ts'
import { readJson } from '#local/files/input-file.ts'
import { haproxyOnPath } from '#local/packages/haproxy-binaries.ts'
import { plainServer } from '#manager/servers/plain.ts'
import type { Haproxy } from '../haproxy.ts'
import { statisticsIn } from '../haproxy-statistics.ts'
import { routerMetrics } from '../router-metrics.ts'
import type { Router } from '../router.ts'
import { serve } from '../serve.ts'
import { followKubernetes } from './kubernetes-source.ts'

export interface KubernetesRouterOptions {
  /** Of a ConfigMap, beside the certificate of the managers' authority. */
  readonly config: string
  readonly logLevel: string
}

/** HAProxy is looked at each second: whoever is not led for so long is not ready. */
const unledMs = 5_000

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
  const host = process.env['POD_IP'] ?? '0.0.0.0'
  await serve({
    cluster,
    settings,
    folder: routerPaths.run,
    haproxy: await haproxyOnPath(),
    address: { host, writePort: routerPorts.write, readPort: routerPorts.read },
    tokenFile,
    tls: { servername: agentTlsName(cluster, namespace), certificates },
    log,
    endsWithinMs: settings.drainMs,
    source: (router, until) =>
      followKubernetes(
        router,
        { file: () => readRouterFile(config).catch(() => file), openManager: managersOf(config, tokenFile) },
        until,
      ),
    show: (router, until, haproxy) => {
      const routes = routesOf(cluster, router, haproxy)
      const address = { host, port: routerPorts.probes }
      return plainServer({ name: 'probes', address, option: '--config', routes, log }).run(until)
    },
  })
  certificates.close()
}

async function readRouterFile(path: string): Promise<RouterFile> {
  const what = 'the file given with --config'
  const said = await readJson(path, what)
  refuseNewer(path, said, 1)
  const complaint = complaintAbout(routerFileSchema, said)
  if (complaint !== undefined) throw new RegentError('REGENT_BAD_FILE', say`${what}, ${path}: ${complaint}`)
  return said as RouterFile
}

/** A manager lets whoever has the token of a cluster's agents watch that cluster, and nothing else. */
function managersOf(config: string, tokenFile: string): () => Promise<ApiClient> {
  let before: Agent | undefined
  return async () => {
    const { manager: url } = await readRouterFile(config)
    const ca = await readFile(join(dirname(config), manager.caKey), 'utf8')
    const dispatcher = new Agent({ connect: { ca, timeout: 2_000 }, bodyTimeout: silentManagerMs })
    await before?.destroy()
    before = dispatcher
    return ApiClient.over({
      url,
      token: await readTokenFile(tokenFile),
      // Node's own fetch takes no dispatcher of this undici; the two agree on what they are given and give.
      fetch: async (at, init) => await fetch(at, { ...init, dispatcher } as Parameters<typeof fetch>[1]),
    })
  }
}

/** A manager's stream says something every 15 s. */
const silentManagerMs = 40_000

function routesOf(cluster: string, router: Router, haproxy: Pick<Haproxy, 'tell'>) {
  return {
    '/live': async () => ({ body: 'ok\n' }),
    '/ready': async () => {
      const agoMs = router.ledAgoMs()
      if (agoMs < unledMs) return { body: `${router.state.sentence}\n` }
      const since = agoMs === Infinity ? 'not led yet' : `not led for ${Math.round(agoMs / 1_000)} s`
      return { status: 503, body: `HAProxy is ${since}\n` }
    },
    '/metrics': async () => {
      const statistics = await haproxy.tell(['show stat']).then(statisticsIn, () => [])
      return {
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
        body: routerMetrics(cluster, router.state, statistics),
      }
    },
  }
}
