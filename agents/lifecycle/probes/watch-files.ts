import { statSync, watch, type FSWatcher } from 'node:fs'
import { describeError } from '../../../src/common/errors/errors.ts'
import type { Timer, Timers } from '../../../src/common/ports/ports.ts'

/** Changes come in bursts: the kubelet replaces a folder in several steps. */
const quietMs = 200
/** How often a file that cannot be watched is looked for again. */
const againMs = 5_000

/**
 * Calls `changed` after files or folders changed, once for a burst. Of a folder counts what is made, removed or renamed
 * directly in it; of a file every change. A missing file is waited for, and its coming is a change. The result ends
 * the watch.
 */
export function watchFiles(
  paths: readonly string[],
  { timers, log }: { readonly timers: Timers; readonly log: (sentence: string) => void },
  changed: () => void,
): () => void {
  let quiet: Timer | undefined
  const touched = (): void => {
    quiet?.cancel()
    quiet = timers.after(quietMs, changed)
  }
  const ends = paths.map((path) => watchPath(path, { timers, log }, touched))
  return () => {
    quiet?.cancel()
    for (const end of ends) end()
  }
}

function watchPath(
  path: string,
  { timers, log }: { readonly timers: Timers; readonly log: (sentence: string) => void },
  touched: () => void,
): () => void {
  let [watcher, again, wasMissing]: [FSWatcher | undefined, Timer | undefined, boolean] = [undefined, undefined, false]

  function begin(): void {
    try {
      const isFolder = statSync(path).isDirectory()
      watcher = watch(path, (kind) => {
        if (!isFolder || kind === 'rename') touched()
        // Another file has its name now, or none has.
        if (!isFolder && kind === 'rename') restart(0)
      })
      watcher.on('error', (error) => retry(error))
      if (wasMissing) touched()
      wasMissing = false
    } catch (error) {
      retry(error)
    }
  }

  function retry(error: unknown): void {
    if (!wasMissing)
      log(`${path} cannot be watched now, and is tried every ${againMs / 1_000} s: ${describeError(error)}`)
    wasMissing = true
    restart(againMs)
  }

  function restart(ms: number): void {
    watcher?.close()
    again?.cancel()
    again = timers.after(ms, begin)
  }

  begin()
  return () => {
    watcher?.close()
    again?.cancel()
  }
}
