import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { ArchiveSource, ByteRange } from './archive.ts'
import { scanBinlog, type ScanOptions } from './file.ts'
import { filesThatMayHave } from './files-with.ts'
import { GroupFold } from './groups.ts'
import { GtidCollector, GtidMatcher } from './gtid-collector.ts'

/** Looks for transactions in one file after the other. */
export class Search {
  readonly sources: ArchiveSource[] = []
  readonly found = new GtidCollector()
  /** Bytes behind the last whole transaction of the file that was looked through last. */
  halfWrittenBytes = 0
  readonly #wanted: GtidSet
  readonly #signal: AbortSignal | undefined

  constructor(wanted: GtidSet, signal?: AbortSignal) {
    this.#wanted = wanted
    this.#signal = signal
  }

  missing(): GtidSet {
    return this.#wanted.subtract(this.found.set())
  }

  /** Files of one kind, oldest first. */
  async addFiles(paths: readonly string[], isRelayLog: boolean): Promise<void> {
    for (const { path, end, mayHave } of await filesThatMayHave(paths, this.missing())) {
      const ranges = await this.#rangesIn(path, mayHave, { isRelayLog, signal: this.#signal })
      if (ranges.length > 0) this.sources.push({ path, headEnd: end, ranges })
    }
  }

  /** Where transactions lie in a file; neighbours are joined. */
  async #rangesIn(path: string, wanted: GtidSet, options: ScanOptions): Promise<readonly ByteRange[]> {
    const isWanted = new GtidMatcher(wanted)
    const ranges: ByteRange[] = []
    let incompleteAt: number | null = null
    const fold = new GroupFold(({ gtid, offset, end, ending }) => {
      incompleteAt = ending.kind === 'incomplete' ? offset : null
      if (gtid === null || ending.kind === 'incomplete' || !isWanted.has(gtid)) return
      this.found.add(gtid)
      const last = ranges.at(-1)
      if (last?.end === offset) ranges[ranges.length - 1] = { offset: last.offset, end }
      else ranges.push({ offset, end })
    })
    const scan = await scanBinlog(path, (event) => fold.add(event), options)
    fold.finish()
    this.halfWrittenBytes = scan.size - (incompleteAt ?? scan.end)
    return ranges
  }
}
