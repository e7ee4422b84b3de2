import { oneAfterOther } from '#common/one-after-other.ts'
import { describeError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Logger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import { replaceJson } from '#local/files/durable-file.ts'
import { readJsonIfThere } from '#local/files/input-file.ts'
import type { Store } from '#store/store.ts'
import { timelinePath, watchedFiles, type AdoptedFolder } from '../adopted-folder.ts'
import { readAdoption } from '../adoption.ts'
import { loginOf } from '../watch/login.ts'
import { WatchedCluster } from '../watch/watched-cluster.ts'

export interface WatchingParts {
  readonly log: Logger
  /** What people say of clusters is kept there. */
  readonly store: Pick<Store, 'readNotes' | 'updateNotes'>
  readonly wantsMore: () => boolean
}

/** Clusters that the folder names and nobody manages: begun, exchanged and ended as their files come, change and go. */
export class WatchedClusters {
  readonly #folder: AdoptedFolder
  readonly #parts: WatchingParts
  readonly #running = new Map<string, { readonly version: string; readonly cluster: WatchedCluster | undefined }>()

  readonly #inOrder = oneAfterOther()
  /** Why a file was left out when that was said last. */
  readonly #told = new Map<string, string>()

  constructor(folder: AdoptedFolder, parts: WatchingParts) {
    this.#folder = folder
    this.#parts = parts
  }

  get list(): readonly WatchedCluster[] {
    return [...this.#running.values()].map(({ cluster }) => cluster).filter((one) => one !== undefined)
  }

  /** Calls follow one another: two at once would both begin the cluster of a new file, and one of these never ended. */
  follow(): Promise<void> {
    return this.#inOrder(() => this.#follow())
  }

  async #follow(): Promise<void> {
    const files = await watchedFiles(this.#folder)
    for (const [file, { cluster }] of this.#running) {
      if (files.has(file)) continue
      cluster?.stop()
      this.#running.delete(file)
      this.#told.delete(file)
      cluster?.tellGone()
    }
    for (const [file, version] of files) {
      const before = this.#running.get(file)
      // What kept a cluster from being begun, such as notes that could not be read, may be over by now.
      const isBegun = before?.version === version && before.cluster !== undefined
      if (!isBegun) await this.#exchange(file, version, before?.cluster)
    }
  }

  /** The old one is listed until then: whoever is in the middle of a recovery finds the cluster all the time. */
  async #exchange(file: string, version: string, before: WatchedCluster | undefined): Promise<void> {
    before?.stop()
    this.#running.set(file, { version, cluster: await this.#begin(file) })
    before?.tellGone()
  }

  stop(): void {
    for (const cluster of this.list) cluster.stop()
  }

  /** A file that cannot be read is told of, and its cluster left out until that can be. */
  async #begin(file: string): Promise<WatchedCluster | undefined> {
    const { log, store, wantsMore } = this.#parts
    try {
      const adoption = await readAdoption(file)
      const { cluster: name } = adoption
      const timeline = timelinePath(this.#folder, name)
      // Timelines are written one after the other: an older one never takes the place of a newer one.
      let kept: Promise<unknown> = Promise.resolve()
      const cluster = new WatchedCluster(adoption, {
        ...{ world: realWorld, log, login: loginOf, wantsMore },
        recoveries: await recoveriesIn(timeline),
        keep(recoveries) {
          kept = kept
            .then(async () => replaceJson(timeline, { version: 1, recoveries }))
            .catch((error: unknown) => log.warn(`the timeline of ${name} cannot be written: ${describeError(error)}`))
        },
        notes: await store.readNotes(name),
        changeNotes: (change) => store.updateNotes(name, change),
      })
      cluster.start()
      this.#told.delete(file)
      return cluster
    } catch (error) {
      const why = describeError(error)
      if (this.#told.get(file) !== why) log.error(`${file} is left out: ${why}`)
      this.#told.set(file, why)
      return undefined
    }
  }
}

/** A timeline that cannot be read only saves people from asking elsewhere. */
async function recoveriesIn(path: string): Promise<readonly Recovery[]> {
  const value = await readJsonIfThere(path, say`the timeline`).catch(() => undefined)
  const found = typeof value === 'object' && value !== null && 'recoveries' in value ? value.recoveries : []
  return Array.isArray(found) ? (found as readonly Recovery[]) : []
}
