import { join } from 'node:path'
import { readTokenFile } from '#common/http/bearer-token.ts'
import type { Logger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { aborted, toldToStop } from '#common/process/signals.ts'
import type { Sentence } from '#common/sentence/sentence.ts'
import type { ClientTls } from '#common/tls/tls.ts'
import type { RouterSettings } from '#failover/protocol/router-settings.ts'
import { seldom } from '#common/log/repeats.ts'
import { createHttpFeed } from '#manager/clusters/http-feed.ts'
import { drain } from './drain.ts'
import { EpochFile } from './epoch-memory.ts'
import { haproxyConfig, haproxyScript, type RouterAddress } from './haproxy-config.ts'
import { Haproxy } from './haproxy.ts'
import { Router } from './router.ts'

export interface ServedRouter {
  readonly cluster: string
  readonly settings: RouterSettings
  /** The folder of HAProxy's configuration, script and socket. */
  readonly folder: string
  readonly haproxy: readonly string[]
  readonly address: RouterAddress
  /** The token for the agents. */
  readonly tokenFile: string
  readonly tls?: ClientTls
  readonly log: Logger
  /** The time that sessions may go on after the router is told to stop. */
  readonly endsWithinMs: number
  /** Tells the router of instances and of the record until the signal aborts, and then resolves. */
  readonly source: (router: Router, until: AbortSignal, warn: (sentence: Sentence) => void) => Promise<void>
  /** Called with each new sentence, beside the log. */
  readonly stated?: (sentence: string) => void
  /** Answers questions about the router until the signal aborts. */
  readonly show?: (router: Router, until: AbortSignal, haproxy: Pick<Haproxy, 'tell'>) => Promise<void>
}

/** The time between two looks whether HAProxy is still led rightly. */
const lookEveryMs = 1_000

/** Runs a router until SIGTERM or SIGINT, and HAProxy with it. */
export async function serve(served: ServedRouter): Promise<void> {
  const { cluster, settings, folder, address, log } = served
  const files = {
    config: join(folder, 'haproxy.cfg'),
    script: join(folder, 'waiting.lua'),
    socket: join(folder, 'haproxy.sock'),
  }
  const inform = (sentence: Sentence): void => log.info(String(sentence))
  const haproxy = new Haproxy({
    argv: served.haproxy,
    files,
    config: haproxyConfig(files, address, settings),
    script: haproxyScript(cluster, settings.waitMs),
    log: inform,
    failed: (sentence) => router.notStarted(sentence),
    began: () => router.look(),
  })
  const token = await readTokenFile(served.tokenFile)
  const warn = seldom(realWorld.clock, (line) => log.warn(line))
  const router: Router = new Router({
    cluster,
    settings,
    feed: createHttpFeed({ token, tls: served.tls, follower: 'router' }),
    proxy: haproxy,
    // Each cluster has a token of its own.
    memory: await EpochFile.open({ path: join(folder, 'epoch.json'), secret: token, warn }),
    nowMs: () => realWorld.clock.monotonicMs(),
    warn,
    told: (sentence) => {
      inform(sentence)
      served.stated?.(String(sentence))
    },
  })
  const stop = toldToStop()
  const ended = new AbortController()
  const helpers = [
    (async () => served.source(router, ended.signal, warn))(),
    (async () => served.show?.(router, ended.signal, haproxy))(),
  ]
  // An HAProxy that does not start is tried again until the router is told to stop.
  await Promise.race([haproxy.start(), aborted(stop)])
  const looks = setInterval(() => {
    void haproxy.keep()
    router.look()
  }, lookEveryMs)
  await aborted(stop)
  await drain({ haproxy, withinMs: served.endsWithinMs, world: realWorld, inform })
  log.info('router stops, and its sessions end')
  clearInterval(looks)
  router.stop()
  ended.abort()
  await haproxy.stop()
  await Promise.all(helpers)
}
