import { parseGtidSet } from '../../topology/gtid/gtid-set.ts'
import { describeError } from '../../src/common/errors/errors.ts'
import type { GtidText } from '../../topology/snapshot/observation.ts'
import { leaveStage } from '../instance/life.ts'
import type { Parts } from '../instance/parts.ts'

/**
 * `gtid_executed` of a server only grows, also where its mysqld ends and starts again, unless somebody runs `RESET
 * BINARY LOGS AND GTIDS`: a server that was copied, or whose tail was cut, has another uuid. The data stays, and nobody
 * can tell any more what it is: a replica would receive everything once more and apply it to what it has, a
 * primary would issue GTIDs again that its replicas skip in silence, and acknowledge. So the replica stops and is
 * seeded again, and the primary is killed: the sync set holds all that it acknowledged.
 */
export class GtidResetWatch {
  readonly #parts: Parts
  #seen: { readonly uuid: string; readonly executed: GtidText } | null = null

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** To be called whenever the server has answered. */
  look(): void {
    const { observer, process, doubts, course } = this.#parts
    if (observer.server === null || process.state !== 'running') return
    const { uuid, executed } = observer.server
    const [before, now] = [this.#seen, { uuid, executed }]
    this.#seen = now
    if (before?.uuid !== now.uuid || before.executed === now.executed) return
    const lost = parseGtidSet(before.executed).subtract(parseGtidSet(now.executed))
    if (lost.isEmpty()) return
    doubts.gtidsReset = true
    course.binlogSet = null
    // Whoever promotes it all the same finds out what it has.
    leaveStage(this.#parts, 'prepared')
    void this.#keep(lost.count())
  }

  async #keep(lost: number): Promise<void> {
    const { file, notices, process } = this.#parts
    const isPrimary = file.current.assignment?.role === 'primary'
    const what = isPrimary
      ? 'it is ended, and a replica that holds everything acknowledged takes its place'
      : 'it stops replicating and is seeded again'
    notices.add(
      'GtidsReset',
      `its GTIDs were reset by another hand (RESET BINARY LOGS AND GTIDS), ${lost} of them are gone, and nobody can tell any more what it holds: ${what}`,
    )
    try {
      await file.update({ gtidsReset: true })
    } catch (error) {
      notices.add('GtidsReset', `that its GTIDs were reset could not be stored: ${describeError(error)}`)
    }
    if (isPrimary) await process.kill()
  }
}
