import { parseKey } from '../objects/object-key.ts'
import type { BackupName } from '../objects/backup-name.ts'
import { stillWritingMs } from './plan-retention.ts'
import type { Stock } from './sweep.ts'

interface Standing {
  readonly newestMs: number
  readonly sinceMs: number
}

/**
 * Notes since when nothing was written to a run without a manifest, by a clock that nobody sets. Where a run fills its
 * store, nothing newer is written there that would show the age of the run.
 */
export class StandingRuns {
  #runs: ReadonlyMap<BackupName, Standing> = new Map()

  /**
   * @param nowMs by a monotonic clock
   * @returns the runs to which nothing was written for a day, as seen here
   */
  seen({ objects }: Pick<Stock, 'objects'>, nowMs: number): ReadonlySet<BackupName> {
    const [newest, whole] = [new Map<BackupName, number>(), new Set<BackupName>()]
    for (const { key, modifiedMs } of objects) {
      const found = parseKey(key)
      if (found === null || !('name' in found)) continue
      newest.set(found.name, Math.max(modifiedMs, newest.get(found.name) ?? -Infinity))
      if (found.kind === 'manifest') whole.add(found.name)
    }
    const runs = [...newest].filter(([name]) => !whole.has(name))
    this.#runs = new Map(runs.map(([name, newestMs]) => [name, this.#standing(name, newestMs, nowMs)]))
    const long = [...this.#runs].filter(([, { sinceMs }]) => nowMs - sinceMs >= stillWritingMs)
    return new Set(long.map(([name]) => name))
  }

  #standing(name: BackupName, newestMs: number, nowMs: number): Standing {
    const before = this.#runs.get(name)
    return before?.newestMs === newestMs ? before : { newestMs, sinceMs: nowMs }
  }
}
