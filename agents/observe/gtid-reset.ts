import { say, type Sentence } from '#common/sentence/sentence.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import { keepUnsettled, type DoubtParts } from '../doubts/unsettled.ts'
import { learn } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import type { StoredState } from '../instance/stored-state.ts'

type ResetParts = DoubtParts & Pick<Parts, 'answersAlone' | 'notices' | 'observer' | 'process'>

/**
 * `gtid_executed` of a server only grows, also where its mysqld ends and starts again, unless somebody runs `RESET
 * BINARY LOGS AND GTIDS`: a server that was copied, or whose tail was cut, has another uuid. The data stays, and nobody
 * can tell any more what it is: a replica would receive everything once more and apply it to what it has, a
 * primary would issue GTIDs again that its replicas skip in silence, and acknowledge. So the replica stops and is
 * seeded again, and the primary is killed: the sync set holds all that it acknowledged.
 *
 * So it is where mysqld runs without a binary log (`binlog_error_action=IGNORE_ERROR` and a disk that takes no new
 * file, or `skip_log_bin` of another hand): what it commits waits for no replica, and has no GTID.
 */
export class GtidResetWatch {
  readonly #parts: ResetParts
  #seen: { readonly uuid: string; readonly executed: GtidText } | null = null
  /** The mysqld that was found without a binary log. */
  #offIn: number | null = null

  constructor(parts: ResetParts) {
    this.#parts = parts
  }

  /** To be called whenever the server has answered. */
  look(): void {
    const { observer, process } = this.#parts
    if (observer.server === null || process.state !== 'running') return
    const { uuid, executed } = observer.server
    const [before, now] = [this.#seen, { uuid, executed }]
    this.#seen = now
    if (observer.server.binlogNumber === 0) return this.#findBinlogOff()
    if (before?.uuid !== now.uuid || before.executed === now.executed) return
    const lost = parseGtidSet(before.executed).subtract(parseGtidSet(now.executed))
    if (lost.isEmpty()) return
    void this.#keep('GtidsReset', {
      what: say`the GTIDs were reset by another hand (RESET BINARY LOGS AND GTIDS), ${lost.count()} of them are gone`,
      mark: { gtidsReset: true },
    })
  }

  /** Once for each mysqld: a look comes after a look. */
  #findBinlogOff(): void {
    const { process } = this.#parts
    if (this.#offIn === process.pid) return
    this.#offIn = process.pid
    void this.#keep('BinlogOff', {
      what: say`mysqld has no binary log (switched off after an error, or by another hand), and what it commits has no GTID`,
      mark: { gtidsReset: true, binlogOff: true },
    })
  }

  async #keep(
    code: 'GtidsReset' | 'BinlogOff',
    { what, mark }: { readonly what: Sentence; readonly mark: Partial<StoredState> },
  ): Promise<void> {
    const { file, notices, process, answersAlone } = this.#parts
    learn(this.#parts, { fact: 'gtidsReset' })
    const isPrimary = file.current.assignment?.role === 'primary'
    const then = isPrimary
      ? say`it is ended, and a replica that holds everything acknowledged takes its place`
      : say`it stops replicating and is seeded again`
    notices.add(code, say`${what}, and nobody can tell any more what it holds: ${then}`)
    try {
      if (code === 'BinlogOff' && answersAlone(file.current)) await keepUnsettled(this.#parts)
      await file.update(mark)
    } catch (error) {
      notices.failed(code, say`the doubt about what is here could not be stored`, error)
    }
    if (isPrimary) await process.kill()
  }
}
