import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { keepUnsettled, type DoubtParts } from '../doubts/unsettled.ts'
import type { Parts } from '../instance/parts.ts'

/**
 * What a server counts begins at 0. A count below that, also one that the server shows as a number near the largest,
 * says that the server has lost count: nobody can tell any more whether somebody waits for an acknowledgement.
 */
function impossibleCount({ semiSyncSource }: ServerState): Sentence | null {
  const { waiting, unacknowledged, acks } = semiSyncSource
  const counts = [
    [say`sessions that wait for an acknowledgement`, waiting],
    [say`transactions that were acknowledged by nobody`, unacknowledged],
    [say`acknowledgements that a write waits for`, acks],
  ] as const
  const wrong = counts.find(([, count]) => count < 0 || !Number.isSafeInteger(count))
  return wrong === undefined ? null : say`${wrong[1]} ${wrong[0]}`
}

type CountParts = DoubtParts & Pick<Parts, 'answersAlone' | 'notices' | 'observer' | 'process'>

/**
 * A primary that has lost count is killed, and not drained: a demotion goes by these counts. What it acknowledged is
 * in doubt, so its binlog belongs to whoever leads next. The next mysqld counts from 0.
 */
export class ImpossibleCountWatch {
  readonly #parts: CountParts
  #foundIn: number | null = null

  constructor(parts: CountParts) {
    this.#parts = parts
  }

  /** To be called whenever the server has answered. Once for each mysqld: a look comes after a look. */
  look(): void {
    const { observer, process, file, answersAlone } = this.#parts
    const { server } = observer
    if (server === null || process.state !== 'running' || !answersAlone(file.current)) return
    const what = impossibleCount(server)
    if (what === null || this.#foundIn === process.pid) return
    this.#foundIn = process.pid
    void this.#end(what)
  }

  async #end(what: Sentence): Promise<void> {
    const { notices, process } = this.#parts
    notices.add(
      'ImpossibleCount',
      say`mysqld counts ${what}, which cannot be: it is ended, and its last writes may have been acknowledged and are kept`,
    )
    try {
      await keepUnsettled(this.#parts)
    } catch (error) {
      notices.failed('UnsettledTail', say`the doubt about the last writes could not be stored`, error)
    }
    await process.kill()
  }
}
