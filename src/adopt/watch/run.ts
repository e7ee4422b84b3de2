import { readTokenFile } from '#common/http/bearer-token.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { createLogger, type Logger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { readProcessStat } from '#common/process/process-stat.ts'
import { aborted, toldToStop } from '#common/process/signals.ts'
import { say } from '#common/sentence/sentence.ts'
import { counted } from '#common/text/words.ts'
import { Watches } from '#common/watch/watches.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import { replaceJson } from '#local/files/durable-file.ts'
import { readJsonIfThere } from '#local/files/input-file.ts'
import { createApi } from '#manager/api/create-api.ts'
import { createMetrics } from '#manager/clusters/metrics.ts'
import { adoptedFiles, adoptedFolder, timelinePath, writeManager, type AdoptedFolder } from '../adopted-folder.ts'
import { readAdoption } from '../adoption.ts'
import { loginOf } from './login.ts'
import { watchingService } from './service.ts'
import { WatchedCluster } from './watched-cluster.ts'

const lookAtFolderMs = 1_000

export interface ServeOptions {
  readonly host: string
  readonly port: number
}

/** Runs the manager that watches every adopted cluster, until SIGTERM or SIGINT. */
export async function runWatching({ host, port }: ServeOptions): Promise<void> {
  const folder = adoptedFolder()
  const log = createLogger({ level: 'info', name: 'manager' })
  const clusters = new WatchedClusters(folder, log)
  const service = watchingService(() => clusters.list)
  const app = await createApi({
    ...{ clusters: service, token: await readTokenFile(folder.apiToken), log, metrics: createMetrics() },
  })
  await app.listen({ host, port }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EADDRINUSE'
      ? new RegentError('REGENT_ADDRESS_IN_USE', `${host}:${port} (--port) is taken`, { cause: error })
      : error
  })
  await clusters.follow()
  const { pid } = process
  await writeManager(folder, { version: 1, host, port, pid, startTicks: readProcessStat(pid)?.startTicks ?? 0 })
  log.info(`watches ${counted(clusters.list.length, 'cluster')}; listens on ${host}:${port}`)
  const watches = new Watches(realWorld, (_, sentence) => log.warn(String(sentence)))
  const failure = { code: 'AdoptionsUnread', sentence: say`what is adopted cannot be read` }
  watches.every(lookAtFolderMs, [{ name: 'what is adopted', failure, look: () => clusters.follow() }])
  await aborted(toldToStop())
  log.info('stops watching')
  watches.stop()
  await app.close()
  clusters.stop()
}

/** Those that the folder names: begun, exchanged and ended as its files come, change and go. */
export class WatchedClusters {
  readonly #folder: AdoptedFolder
  readonly #log: Logger
  readonly #running = new Map<string, { readonly version: string; readonly cluster: WatchedCluster | undefined }>()

  constructor(folder: AdoptedFolder, log: Logger) {
    this.#folder = folder
    this.#log = log
  }

  get list(): readonly WatchedCluster[] {
    return [...this.#running.values()].map(({ cluster }) => cluster).filter((one) => one !== undefined)
  }

  async follow(): Promise<void> {
    const files = await adoptedFiles(this.#folder)
    for (const [file, { version, cluster }] of this.#running) {
      if (files.get(file) === version) continue
      cluster?.stop()
      this.#running.delete(file)
    }
    for (const [file, version] of files)
      if (!this.#running.has(file)) this.#running.set(file, { version, cluster: await this.#begin(file) })
  }

  stop(): void {
    for (const cluster of this.list) cluster.stop()
  }

  /** One that cannot be read is told of, and left out until its file changes. */
  async #begin(file: string): Promise<WatchedCluster | undefined> {
    try {
      const adoption = await readAdoption(file)
      const timeline = timelinePath(this.#folder, adoption.cluster)
      const cluster = new WatchedCluster(adoption, {
        ...{ world: realWorld, log: this.#log, login: loginOf },
        recoveries: await recoveriesIn(timeline),
        keep: (recoveries) =>
          void replaceJson(timeline, { version: 1, recoveries }).catch((error: unknown) =>
            this.#log.warn(`the timeline of ${adoption.cluster} cannot be written: ${describeError(error)}`),
          ),
      })
      cluster.start()
      return cluster
    } catch (error) {
      this.#log.error(`${file} is left out: ${describeError(error)}`)
      return undefined
    }
  }
}

/** A timeline that cannot be read only saves people from asking elsewhere. */
async function recoveriesIn(path: string): Promise<readonly Recovery[]> {
  const value = await readJsonIfThere(path, 'the timeline').catch(() => undefined)
  const found = typeof value === 'object' && value !== null && 'recoveries' in value ? value.recoveries : []
  return Array.isArray(found) ? (found as readonly Recovery[]) : []
}
