import { described, RegentError } from '#common/errors/errors.ts'
import { createLogger } from '#common/log/logger.ts'
import { seldom } from '#common/log/repeats.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { identityNow } from '#common/process/process-stat.ts'
import { say } from '#common/sentence/sentence.ts'
import { ApiReader, tokenOf } from '#cli/connection/api-reader.ts'
import { localManager } from '#cli/connection/local-manager.ts'
import { routerSettings } from '#failover/protocol/router-settings.ts'
import { readCluster, routerAddress } from '#local/folder/cluster-file.ts'
import { replaceDerivedJson } from '#local/files/durable-file.ts'
import { layoutOf, routerFolder, routerStatePath } from '#local/folder/state-layout.ts'
import { localInstances } from '#local/platform/instances.ts'
import { askManager } from './ask-manager.ts'
import { followRecord } from './manager-stream.ts'
import { newest } from './newest.ts'
import { readsInstances } from './read-instances.ts'
import { serve } from './serve.ts'

export interface RouterOptions {
  readonly clusterDir: string
  readonly logLevel: string
}

/** Runs the router of a local cluster until SIGTERM or SIGINT, and HAProxy with it. */
export async function runRouter({ clusterDir, logLevel }: RouterOptions): Promise<void> {
  const log = createLogger({ level: logLevel, name: 'router' })
  const layout = layoutOf(clusterDir)
  const cluster = await readCluster(clusterDir)
  if (cluster.router === undefined)
    throw new RegentError(
      'REGENT_REFUSED',
      say`${cluster.name} was made without a router; "regent local up ${cluster.name} --router" gives it one`,
      { remedy: '' },
    )
  const { host, ...ports } = routerAddress(cluster)
  const { instances, onChange, close } = localInstances(clusterDir)
  const warn = seldom(realWorld.clock, (line) => log.warn(line))
  const warnOf = (error: unknown): void => warn(say`where the router leads is not written down: ${described(error)}`)
  await serve({
    cluster: cluster.name,
    settings: routerSettings(cluster.router.settings),
    folder: routerFolder(layout),
    haproxy: cluster.router.haproxy,
    address: { hosts: [host], ...ports },
    tokenFile: layout.agentToken,
    log,
    endsWithinMs: 0,
    // The manager shows this file. A sentence that cannot be written is in the log all the same.
    stated: newest((sentence) =>
      replaceDerivedJson(routerStatePath(layout), { sentence, process: identityNow(process.pid) }).catch(warnOf),
    ),
    source: async (router, until) => {
      const readInstances = readsInstances({
        instances,
        set: (found) => router.setInstances(found),
        warn,
      })
      onChange(readInstances)
      readInstances()
      const openManager = async (): Promise<ApiReader> => {
        const target = await localManager(clusterDir, cluster)
        return new ApiReader({ url: target.url, token: await tokenOf(target), fetch: askManager })
      }
      await followRecord(openManager, cluster.name, {
        signal: until,
        heard: (word) => router.setRecord(word),
        warn,
      })
      close()
    },
  })
}
