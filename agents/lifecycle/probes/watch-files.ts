import { statSync, watch, type FSWatcher } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { describeError } from '#common/errors/errors.ts'
import type { Timer, Timers } from '#common/ports/ports.ts'

/** Changes come in bursts: the kubelet replaces a folder in several steps. */
const quietMs = 200
/** How often what cannot be watched is looked for again. */
const againMs = 5_000

interface WatchParts {
  readonly timers: Timers
  readonly log: (sentence: string) => void
}

/**
 * Calls `changed` after files or folders changed, once for a burst. In a folder only a file that is made, removed or
 * renamed directly there counts; in a file every change does. A missing file is waited for, and its coming is a change.
 * The result ends the watch.
 */
export function watchFiles(paths: readonly string[], parts: WatchParts, changed: () => void): () => void {
  let quiet: Timer | undefined
  const touched = (): void => {
    quiet?.cancel()
    quiet = parts.timers.after(quietMs, changed)
  }
  const watches = paths.map((path) => new PathWatch(resolve(path), parts, touched))
  return () => {
    quiet?.cancel()
    for (const each of watches) each.end()
  }
}

/**
 * Watches one path, and the folder that it is in: what is not there yet can only be seen to come there. The path itself
 * is watched too, since a link of a ConfigMap leads elsewhere without any change of the link's folder.
 */
class PathWatch {
  readonly #path: string
  readonly #parts: WatchParts
  readonly #touched: () => void
  #parent: FSWatcher | undefined
  #own: FSWatcher | undefined
  #again: Timer | undefined
  #wasMissing = false

  constructor(path: string, parts: WatchParts, touched: () => void) {
    this.#path = path
    this.#parts = parts
    this.#touched = touched
    this.#begin()
  }

  end(): void {
    this.#parent?.close()
    this.#own?.close()
    this.#again?.cancel()
  }

  /** Everything anew. */
  #begin(): void {
    this.end()
    const folder = dirname(this.#path)
    try {
      this.#parent = watch(folder, (kind, name) => {
        if (kind === 'rename' && name === basename(this.#path)) this.#came()
        // The folder itself was removed.
        else if (kind === 'rename' && name === basename(folder)) this.#begin()
      })
      this.#parent.on('error', (error) => this.#later(error))
    } catch (error) {
      return this.#later(error)
    }
    this.#look()
  }

  /** The path was made, removed or renamed. */
  #came(): void {
    this.#touched()
    // Told already: its coming is one change.
    this.#wasMissing = false
    this.#look()
  }

  #look(): void {
    this.#own?.close()
    this.#own = undefined
    try {
      const isFolder = statSync(this.#path).isDirectory()
      this.#own = watch(this.#path, (kind) => {
        if (!isFolder || kind === 'rename') this.#touched()
        // Another file is behind its name now, or none is.
        if (!isFolder && kind === 'rename') this.#look()
      })
      this.#own.on('error', (error) => this.#later(error))
      if (this.#wasMissing) this.#touched()
      this.#wasMissing = false
      this.#again?.cancel()
    } catch (error) {
      this.#later(error)
    }
  }

  /** Where nothing tells of its coming, such as that of a link's target, it is looked for. */
  #later(error: unknown): void {
    if (!this.#wasMissing)
      this.#parts.log(
        `${this.#path} cannot be watched now, and is tried every ${againMs / 1_000} s: ${describeError(error)}`,
      )
    this.#wasMissing = true
    this.#again?.cancel()
    this.#again = this.#parts.timers.after(againMs, () => this.#begin())
  }
}
