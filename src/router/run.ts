import { join } from 'node:path'
import { described, RegentError } from '#common/errors/errors.ts'
import { readTokenFile } from '#common/http/bearer-token.ts'
import { createLogger } from '#common/log/logger.ts'
import { seldom } from '#common/log/repeats.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { aborted, toldToStop } from '#common/process/signals.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import { openLocal } from '#cli/connection/connect.ts'
import { readCluster, routerAddress } from '#local/folder/cluster-file.ts'
import { layoutOf, routerFolder } from '#local/folder/state-layout.ts'
import { localPlatform } from '#local/platform/platform.ts'
import { createHttpFeed } from '#manager/clusters/http-feed.ts'
import { haproxyConfig, haproxyScript } from './haproxy-config.ts'
import { Haproxy } from './haproxy.ts'
import { followRecord } from './manager-stream.ts'
import { Router } from './router.ts'
import { routerSettings } from '#failover/protocol/router-settings.ts'

export interface RouterOptions {
  readonly clusterDir: string
  readonly logLevel: string
}

/** Whether HAProxy is still led as it should be is looked at this often. */
const lookEveryMs = 1_000

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
  const settings = routerSettings(cluster.router.settings)
  const folder = routerFolder(layout)
  const files = {
    config: join(folder, 'haproxy.cfg'),
    script: join(folder, 'waiting.lua'),
    socket: join(folder, 'haproxy.sock'),
  }
  const platform = localPlatform(clusterDir)
  const warn = seldom(realWorld.clock, (line) => log.warn(line))
  const inform = (sentence: Sentence): void => log.info(String(sentence))
  const haproxy = new Haproxy({
    argv: cluster.router.haproxy,
    files,
    config: haproxyConfig(files, routerAddress(cluster), settings),
    script: haproxyScript(cluster.name, settings.waitMs),
    log: inform,
    began: () => router.look(),
  })
  const router = new Router({
    cluster: cluster.name,
    settings,
    feed: createHttpFeed({ token: await readTokenFile(layout.agentToken) }),
    proxy: haproxy,
    nowMs: () => realWorld.clock.monotonicMs(),
    told: inform,
  })
  const stop = toldToStop()
  const readInstances = (): void =>
    void platform.instances().then(
      (instances) => router.setInstances(instances),
      (error: unknown) => warn(say`the instances cannot be read: ${described(error)}`),
    )
  platform.onChange(readInstances)
  readInstances()
  await haproxy.start()
  const looks = setInterval(() => {
    void haproxy.keep()
    router.look()
  }, lookEveryMs)
  const following = followRecord(() => openLocal(clusterDir, cluster), cluster.name, {
    signal: stop,
    heard: (record) => router.setRecord(record),
  })
  await aborted(stop)
  log.info('router stops, and its sessions end')
  clearInterval(looks)
  router.stop()
  platform.close()
  await haproxy.stop()
  await following
}
