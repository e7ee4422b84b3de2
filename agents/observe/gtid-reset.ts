import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import { parseGtidSet, type GtidSet } from '#topology/gtid/gtid-set.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { keepUnsettled, type DoubtParts } from '../doubts/unsettled.ts'
import { learn } from '../instance/learn.ts'
import { serverLife, type Parts } from '../instance/parts.ts'
import type { StoredState } from '../instance/stored-state.ts'

type ResetParts = DoubtParts & Pick<Parts, 'answersAlone' | 'notices' | 'observer' | 'process'>

interface Look extends Pick<ServerState, 'uuid' | 'executed' | 'purged' | 'binlogNumber'> {
  /** Null where no server is known to run. */
  readonly life: string | null
}

/**
 * `gtid_executed` of a server only grows, also where its mysqld ends and starts again, unless somebody runs `RESET
 * BINARY LOGS AND GTIDS`: a server that was copied, or whose tail was cut, has another uuid. The data stays, and nobody
 * can tell any more what it is: a replica would receive everything once more and apply it to what it has, a
 * primary would issue GTIDs again that its replicas skip in silence, and acknowledge. So the replica stops and is
 * seeded again, and the primary is killed: the sync set holds all that it acknowledged.
 *
 * A replica that claims what it never executed is seeded again as well.
 *
 * So it is where mysqld runs without a binary log (`binlog_error_action=IGNORE_ERROR` and a disk that takes no new
 * file, or `skip_log_bin` of another hand): what it commits waits for no replica, and has no GTID.
 */
export class GtidResetWatch {
  readonly #parts: ResetParts
  #seen: Look | null = null
  /** The mysqld that was found without a binary log. */
  #offIn: number | null = null

  constructor(parts: ResetParts) {
    this.#parts = parts
  }

  /** To be called whenever the server has answered. */
  look(): void {
    const { observer, process } = this.#parts
    if (observer.server === null || process.state !== 'running') return
    const { uuid, executed, purged, binlogNumber } = observer.server
    const [before, now] = [this.#seen, { uuid, executed, purged, binlogNumber, life: serverLife(this.#parts) }]
    this.#seen = now
    if (observer.server.binlogNumber === 0) return this.#findBinlogOff()
    if (before?.uuid !== uuid) return
    const lost = lostSince(before, now)
    if (!lost.isEmpty())
      return void this.#keep('GtidsReset', {
        what: say`the GTIDs were reset by another hand (RESET BINARY LOGS AND GTIDS), ${lost.count()} of them are gone`,
        mark: { gtidsReset: true },
      })
    const given = givenSince(before, now)
    if (this.#isPrimary() || given.isEmpty()) return
    void this.#keep('GtidsReset', {
      what: say`${counted(given.count(), 'GTID')} that it never executed were given to it by another hand (SET GLOBAL gtid_purged)`,
      mark: { gtidsReset: true, gtidsGiven: true },
    })
  }

  #isPrimary(): boolean {
    return this.#parts.file.current.assignment?.role === 'primary'
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
    const isPrimary = this.#isPrimary()
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

/**
 * What a server had executed and has not, or not by those names any more. Numbers of binary logs begin anew with a
 * reset alone, as long as one mysqld runs. So what was there before and is in a binary log now was executed since: the
 * set may have grown, or been put back, beyond what it was before anybody looked.
 */
function lostSince(before: Look, now: Look): GtidSet {
  const had = parseGtidSet(before.executed)
  const isReset = before.life === now.life && now.binlogNumber < before.binlogNumber
  return had.subtract(parseGtidSet(isReset ? now.purged : now.executed))
}

/**
 * What a server has in no binary log and had not executed, while its binary log stayed the same one: what is executed
 * after a look can be purged only once another log has begun. A replica skips what comes by these names, and
 * acknowledges that. A server that starts reads its tables, and may find more. At a primary they are nobody's: its
 * replicas lack them, which is found there.
 */
function givenSince(before: Look, now: Look): GtidSet {
  if (before.life !== now.life || before.binlogNumber !== now.binlogNumber) return parseGtidSet('')
  return parseGtidSet(now.purged).subtract(parseGtidSet(before.executed)).subtract(parseGtidSet(before.purged))
}
