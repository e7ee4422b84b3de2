import { watch, watchFile, unwatchFile, type FSWatcher } from 'node:fs'
import { basename, dirname } from 'node:path'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { PrimaryRoute } from '#common/ports/platform.ts'
import { replaceDerivedJson } from '../files/durable-file.ts'
import { refuseNewer } from '../files/file-version.ts'
import { readJsonIfThere } from '../files/input-file.ts'

const routesVersion = 1
const routesSchema = Type.Object({
  version: Type.Literal(1),
  primary: Type.Object({
    epoch: Type.Integer({ minimum: 0 }),
    instance: Type.String(),
    host: Type.String(),
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  }),
})

/**
 * Where the primary is, as it was published last; undefined before the first time. Throws `REGENT_BAD_FILE` where a
 * hand damaged the file.
 */
export async function readRoute(path: string): Promise<PrimaryRoute | undefined> {
  const value = await readJsonIfThere(path, say`the published routes`)
  if (value === undefined) return undefined
  refuseNewer(path, value, routesVersion)
  if (!Value.Check(routesSchema, value))
    throw new RegentError(
      'REGENT_BAD_FILE',
      say`${path} is damaged; it holds {version, primary: {epoch, instance, host, port}}`,
    )
  return value.primary
}

/** The epoch of the record, read anew and never from a cache; undefined where there is none. */
export type CommittedEpoch = () => Promise<number | undefined>

const beforeTheFirst: CommittedEpoch = async () => undefined

/** How often the file is looked at where the kernel tells nothing of changes. */
const lookEveryMs = 500

/** A listener for what other hands did to the file. */
export interface Meddling {
  /** The file does not say any more what this process published: it must be looked at. */
  found(): void
  /** What was wrong with the file, after it was written again. */
  mended(sentence: string): void
}

/**
 * The file that says where the primary is. The file is derived from the record, so that a file that was removed,
 * damaged or changed by hand counts for nothing: what stands in it is written again.
 */
export class RoutesFile {
  readonly #path: string
  readonly #committedEpoch: CommittedEpoch
  /** What is to stand in the file: what this process published last, or believed before it published anything. */
  #right: PrimaryRoute | undefined
  /** Reading, comparing and writing is one step: two calls of this process cannot pass each other. */
  #working: Promise<unknown> = Promise.resolve()
  #watcher: FSWatcher | undefined
  #meddling: Meddling | undefined

  constructor(path: string, committedEpoch: CommittedEpoch = beforeTheFirst) {
    this.#path = path
    this.#committedEpoch = committedEpoch
  }

  /** What is published; undefined where that is nothing, or nothing that can be believed. */
  published(): Promise<PrimaryRoute | undefined> {
    return this.#inTurn(async () => {
      const believed = await this.#believed(await this.#found())
      this.#right ??= believed
      return believed
    })
  }

  /**
   * Moves the route to the primary in one rename (safety rule 7). Clients wait for that, so nobody waits for the disk.
   * False, and nothing written, when a newer epoch is published.
   */
  publish(route: PrimaryRoute): Promise<boolean> {
    return this.#inTurn(async () => {
      const found = await this.#found()
      const before = await this.#believed(found)
      if (before !== undefined && before.epoch > route.epoch) return false
      const wrong = this.#whatIsWrong(found, route)
      if (before === undefined || !Value.Equal(before, route))
        await replaceDerivedJson(this.#path, { version: routesVersion, primary: route })
      this.#right = route
      if (wrong !== undefined) this.#meddling?.mended(`${this.#path} ${wrong}; it was written again: ${inWords(route)}`)
      return true
    })
  }

  /** Follows what other hands do to the file, until `close`. */
  watch(meddling: Meddling): void {
    this.#meddling = meddling
    const look = (): void => void this.#inTurn(() => this.#look()).catch(() => meddling.found())
    const poll = (): void => void watchFile(this.#path, { interval: lookEveryMs, persistent: false }, look)
    try {
      // The folder, not the file: each change renames a new file into place.
      this.#watcher = watch(dirname(this.#path), (_event, name) => void (name === basename(this.#path) && look()))
      this.#watcher.on('error', poll)
    } catch {
      // The kernel has no watch left to give (fs.inotify.max_user_watches).
      poll()
    }
  }

  close(): void {
    this.#watcher?.close()
    unwatchFile(this.#path)
  }

  async #look(): Promise<void> {
    if (this.#right !== undefined && !Value.Equal(await this.#found(), this.#right)) this.#meddling?.found()
  }

  /** What the file says, or what is wrong with it. */
  async #found(): Promise<PrimaryRoute | string | undefined> {
    try {
      return await readRoute(this.#path)
    } catch (error) {
      if (error instanceof RegentError) return 'was damaged by another hand'
      throw error
    }
  }

  /**
   * Epochs are committed before a route carries them, so that a higher one than the record's, read after the file, was
   * written by nobody who leads. Such an epoch would stand in the way of every failover to come.
   */
  async #believed(found: PrimaryRoute | string | undefined): Promise<PrimaryRoute | undefined> {
    if (found === undefined || typeof found === 'string') return undefined
    if (this.#right !== undefined && found.epoch <= this.#right.epoch) return found
    const committed = await this.#committedEpoch()
    return committed !== undefined && found.epoch > committed ? undefined : found
  }

  #whatIsWrong(found: PrimaryRoute | string | undefined, route: PrimaryRoute): string | undefined {
    if (typeof found === 'string') return found
    if (found === undefined) return this.#right === undefined ? undefined : 'was removed by another hand'
    const isChanged = Value.Equal(this.#right, route) && !Value.Equal(found, route)
    return found.epoch > route.epoch || isChanged ? `was changed by another hand: it said ${inWords(found)}` : undefined
  }

  #inTurn<Result>(task: () => Promise<Result>): Promise<Result> {
    const done = this.#working.then(task)
    this.#working = done.catch(() => undefined)
    return done
  }
}

function inWords({ epoch, instance, host, port }: PrimaryRoute): string {
  return `${instance} at ${host}:${port}, epoch ${epoch}`
}
