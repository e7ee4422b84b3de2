import { readTokenFile } from '#common/http/bearer-token.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { createLogger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { identityNow } from '#common/process/process-stat.ts'
import { aborted, toldToStop } from '#common/process/signals.ts'
import { say } from '#common/sentence/sentence.ts'
import { counted } from '#common/text/words.ts'
import { Watches } from '#common/watch/watches.ts'
import { createApi } from '#manager/api/create-api.ts'
import { createMetrics } from '#manager/clusters/metrics.ts'
import { fileStore } from '#store/file.ts'
import { adoptedFolder, writeManager } from '../adopted-folder.ts'
import { leftoversIn } from '../trees/leftover.ts'
import { TreeHand } from '../trees/tree-hand.ts'
import { watchingService } from '../watch/service.ts'
import { discoverer } from './discoverer.ts'
import { OrchestratorDoor } from './orchestrator-door.ts'
import { WatchedClusters } from './watched-clusters.ts'
import { takeUp, watchingHands } from './watching-hands.ts'

const lookAtFolderMs = 1_000
/** A server that was away when a change was finished may be back. */
const finishEveryMs = 30_000

export interface ServeOptions {
  readonly host: string
  readonly port: number
}

/** Runs the manager that watches every adopted cluster, until SIGTERM or SIGINT. */
export async function runWatching({ host, port }: ServeOptions): Promise<void> {
  const folder = adoptedFolder()
  const log = createLogger({ level: 'info', name: 'manager' })
  const token = await readTokenFile(folder.apiToken)
  const store = fileStore(folder.notes)
  const clusters = new WatchedClusters(folder, { log, store, wantsMore: () => door.isOpen })
  const service = watchingService(() => clusters.list, realWorld.clock)
  const hand = new TreeHand({ ...realWorld, log, leftovers: leftoversIn(folder.trees) })
  const discover = discoverer(folder, clusters)
  const hands = watchingHands(() => clusters.list, { hand, discover, world: realWorld })
  const door = new OrchestratorDoor(folder, { clusters: service, token, log, timers: realWorld.timers, hands })
  const app = await createApi({ clusters: service, token, log, metrics: createMetrics() })
  await app.listen({ host, port }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE'
      ? new RegentError('REGENT_ADDRESS_IN_USE', say`${host}:${port} (--port) is taken`, { cause: error })
      : error
  })
  await clusters.follow()
  for (const cluster of clusters.list)
    await takeUp(cluster, hand, (error) =>
      log.error(`${cluster.adoption.cluster}: what a change has left is not done: ${describeError(error)}`),
    )
  await door.follow().catch((error: unknown) => log.warn(`orchestrator’s interface: ${describeError(error)}`))
  const { pid } = process
  await writeManager(folder, { version: 1, host, port, ...identityNow(pid) })
  log.info(`watches ${counted(clusters.list.length, 'cluster')}; listens on ${host}:${port}`)
  const watches = new Watches(realWorld, (_, sentence) => log.warn(String(sentence)))
  const failure = { code: 'AdoptionsUnread', sentence: say`what is adopted cannot be read` }
  const doorFailure = { code: 'OrchestratorNotServed', sentence: say`orchestrator’s interface is not served` }
  watches.every(lookAtFolderMs, [
    { name: 'what is adopted', failure, look: () => clusters.follow() },
    { name: 'orchestrator’s interface', failure: doorFailure, look: () => door.follow() },
  ])
  const leftFailure = { code: 'ChangesUnfinished', sentence: say`what changes have left is not done` }
  watches.every(finishEveryMs, [
    { name: 'what changes have left', failure: leftFailure, look: () => hands.finishAll() },
  ])
  await aborted(toldToStop())
  log.info('stops watching')
  watches.stop()
  await Promise.all([app.close(), door.close()])
  clusters.stop()
}
