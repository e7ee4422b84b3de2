import { readTokenFile } from '#common/http/bearer-token.ts'
import { described, RegentError } from '#common/errors/errors.ts'
import { seldom } from '#common/log/repeats.ts'
import { createHttpTransport } from '#common/http/http-transport.ts'
import { createLogger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { aborted, toldToStop } from '#common/process/signals.ts'
import { say } from '#common/sentence/sentence.ts'
import { readCluster } from '#local/folder/cluster-file.ts'
import { localPlatform } from '#local/platform/platform.ts'
import { readSpec } from '#local/folder/spec-file.ts'
import { watchSpec } from '#local/folder/spec-watch.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import { openStore } from '#store/open.ts'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import { contradictionIn, defaultTimings } from '#failover/protocol/timings.ts'
import { openOrchestrator, type OrchestratorAddress } from '#orchestrator/open-orchestrator.ts'
import { createApi } from './api/create-api.ts'
import { createHttpFeed } from './clusters/http-feed.ts'
import { Leader } from './clusters/leader.ts'
import { ManagedCluster } from './clusters/managed-cluster.ts'
import { createMetrics } from './clusters/metrics.ts'
import { serviceFor } from './clusters/service.ts'
import { realHooks } from './hooks/real-hooks.ts'
import { localRouter } from './local-router.ts'

export interface ManagerOptions {
  readonly clusterDir: string
  readonly storeUrl: string
  readonly allowVolatileStore: boolean
  readonly host: string
  readonly port: number
  readonly tokenFile: string
  readonly agentTokenFile: string
  readonly logLevel: string
  readonly orchestrator?: OrchestratorAddress
}

/** Runs a manager of a local cluster until SIGTERM or SIGINT: follows its agents, leads when it may, serves the API. */
export async function runManager(options: ManagerOptions): Promise<void> {
  const contradiction = contradictionIn(defaultTimings)
  if (contradiction) throw new RegentError('REGENT_BAD_FILE', say`timings: ${contradiction}`)
  const world = realWorld
  const log = createLogger({ level: options.logLevel, name: 'manager' })
  const metrics = createMetrics()
  const local = await readCluster(options.clusterDir)
  const { name } = local
  const layout = layoutOf(options.clusterDir)
  const spec = await readSpec(layout, name)
  const token = await readTokenFile(options.tokenFile)
  const agentToken = await readTokenFile(options.agentTokenFile)
  const store = await openStore(options.storeUrl === 'file' ? layout.records : options.storeUrl, {
    allowVolatile: options.allowVolatileStore,
    leadershipScope: name,
  })
  const transport = createHttpTransport({ token: agentToken })
  const platform = localPlatform(options.clusterDir, async () => (await store.readRecord(name))?.epoch)
  const manager = world.random.hex(16)
  const hooks = realHooks(world, async ({ secretFile }) => (secretFile ? readTokenFile(secretFile) : null))
  const cluster = new ManagedCluster(
    { world, transport, store, platform, hooks, feed: createHttpFeed({ token: agentToken }) },
    { cluster: name, spec, timings: defaultTimings, manager },
    { log, metrics, router: () => localRouter(layout, local) },
  )
  const warn = seldom(world.clock, (line) => log.warn(line))
  const leader = new Leader({
    store,
    world,
    manager,
    leadershipMs: defaultTimings.leadershipMs,
    changed: (leads) => cluster.loop.lead(leads),
    failed: (error) => warn(say`leadership: ${described(error)}`),
    storeSaid: (trouble) => cluster.loop.storeSaid(trouble),
  })
  const clusters = serviceFor(
    () => [cluster],
    () => leader.leads,
  )
  const app = await createApi({
    clusters,
    token,
    log,
    metrics,
  })
  await app.listen({ host: options.host, port: options.port }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE'
      ? new RegentError('REGENT_ADDRESS_IN_USE', say`${options.host}:${options.port} (--port) is taken`, {
          cause: error,
        })
      : error
  })
  log.info({ manager }, `manager of ${name} listens on ${options.host}:${options.port}`)
  const orchestrator =
    options.orchestrator &&
    (await openOrchestrator(options.orchestrator, { clusters, token, log, timers: world.timers }))
  platform.onMeddling({ found: () => void cluster.lookAgain(), mended: (sentence) => cluster.remark(sentence) })
  await cluster.loop.start()
  leader.start()
  const specs = watchSpec(layout, name, {
    world,
    known: spec,
    // The rest is taken at a start.
    changed: (next) => cluster.loop.changeSpec(withWhatIsTaken(cluster.loop.spec, next)),
    failed: warn,
  })
  await aborted(toldToStop())
  log.info('manager stops; primaries stay writable')
  specs.stop()
  await Promise.all([app.close(), orchestrator?.close()])
  await cluster.loop.finish()
  await leader.stop()
  platform.close()
  transport.close()
  await store.close()
}

/** What of a spec is taken up by a manager that runs. */
function withWhatIsTaken({ hooks: _hooks, ...spec }: ClusterSpec, { group, hooks }: ClusterSpec): ClusterSpec {
  return { ...spec, group, ...(hooks && { hooks }) }
}
