import { lifeOf } from '../instance/life.ts'
import { counted } from '../../src/common/text/words.ts'
import { GtidSet, parseGtidSet } from '../../topology/gtid/gtid-set.ts'
import { pruneArchives } from '../guard/archive-keeping.ts'
import type { Parts } from '../instance/parts.ts'
import { leads } from '../instance/stored-state.ts'
import { doubtsOf, keepUnsettled, settle } from '../doubts/unsettled.ts'

/**
 * mysqld runs only when its agent says so (docs/why/safety.md, "A mysqld always starts closed"). What the agent does
 * when it finds its mysqld not running: starts it, or says why it stays down. A former primary is looked at first: how
 * it ended, and whether its tail must be cut.
 */
export async function passStartGate(parts: Parts): Promise<void> {
  const { process, file, told } = parts
  if (process.state !== 'dead' && process.state !== 'absent') return
  if (file.current.seeding) return closed(parts, 'a seeding has not ended; it waits to be seeded again')
  if (await process.isEmpty()) {
    say(parts, 'initialising an empty data folder')
    await process.initialise()
  }
  if (file.current.mayHaveTail) {
    await lookAtEnding(parts)
    if (!(await mayStartWithTail(parts))) return
  }
  told.mayRestart = false
  say(parts, 'starting mysqld: read-only, offline, replication stopped')
  await process.start()
}

function closed(parts: Parts, why: string): void {
  parts.course.converged = { ...parts.course.converged, done: false, sentence: `mysqld stays down: ${why}` }
}

function say(parts: Parts, sentence: string): void {
  parts.course.converged = { ...parts.course.converged, done: false, sentence }
}

/**
 * A stop nobody ordered may have acknowledged what no replica holds: found out once per death, before anything is
 * started or cut.
 */
async function lookAtEnding(parts: Parts): Promise<void> {
  const { volume, course, notices } = parts
  const life = lifeOf(parts)
  // Read again after each death: it may have been started in place, and written, since it was last read.
  if (!life.endingRead || course.binlogSet === null) course.binlogSet = await volume.readBinlogSet()
  if (life.endingRead) return
  const ending = await volume.endedHow()
  life.endingRead = true
  if (ending.how === 'crashed' || !(await keepUnsettled(parts))) return
  notices.add(
    'UnsettledTail',
    `mysqld was not ended by a crash nor by Regent: ${ending.sentence}; its last writes may have been acknowledged and are kept`,
  )
}

async function mayStartWithTail(parts: Parts): Promise<boolean> {
  const { file, told, course } = parts
  const { assignment, promise } = file.current
  if (assignment?.role === 'replica' && promise === assignment.epoch) return settleTail(parts)
  const own = leads(file.current)
  if (own && (told.mayRestart || isAlone(parts))) {
    // What its recovery commits is nobody's to read before a marker proves it, also where it was down when it was
    // elected.
    course.reopening = true
    return true
  }
  closed(
    parts,
    own
      ? 'it was primary; it waits for the manager to fail over or to let it start again'
      : `it was primary and promised epoch ${promise}`,
  )
  return false
}

/** No manager was heard for long: the primary may come back by itself, closed until a marker is acknowledged. */
function isAlone({ contact, world, timings }: Parts): boolean {
  return world.clock.monotonicMs() - contact.managerHeardAtMs > timings.restartAloneMs
}

/**
 * Now a replica of somebody else: its own tail is compared with what that primary holds, and cut where that is proven
 * safe.
 */
async function settleTail(parts: Parts): Promise<boolean> {
  const { told, course, file, volume, notices } = parts
  if (told.sourceHolds === null) {
    closed(parts, 'it waits to hear what the new primary holds, to judge its own tail')
    return false
  }
  const extra = parseGtidSet(course.binlogSet ?? '').subtract(parseGtidSet(told.sourceHolds))
  if (extra.isEmpty()) {
    await settle(parts, doubtsOf(parts), { mayHaveTail: false })
    return true
  }
  if (file.current.unsettled) return keepUnsettledTail(parts, extra)
  const judgement = await volume.judgeTail(told.sourceHolds)
  if (judgement.kind === 'trim') {
    const archive = await volume.trimTail(told.sourceHolds)
    notices.add(
      'TailTrimmed',
      `${counted(extra.count(), 'unacknowledged transaction')} archived in ${archive} and cut off before mysqld started`,
    )
    await pruneArchives(parts, [archive])
  }
  if (judgement.kind === 'refuse')
    notices.add(
      'TailKept',
      `the tail of ${counted(extra.count(), 'transaction')} cannot be cut: ${judgement.sentence}; it will be archived and seeded again`,
    )
  course.binlogSet = null
  await file.update({ mayHaveTail: false })
  return true
}

/**
 * Perhaps acknowledged, and the new primary does not hold it: never cut. It starts, shows as errant, and is archived
 * loudly.
 */
async function keepUnsettledTail(parts: Parts, extra: GtidSet): Promise<boolean> {
  const { notices, file, volume } = parts
  // What is in no binlog is no tail, and can be archived by nobody.
  const tail = extra.subtract(parseGtidSet(await volume.readPurged()))
  const archives = tail.isEmpty() ? [] : await volume.archiveErrant(tail.toString())
  notices.add(
    'UnsettledTail',
    `${extra.count()} transactions that may have been acknowledged are not on the new primary; ${archives.length === 0 ? 'they are in no binlog that could be archived' : `they are archived in ${archives.join(', ')}`}`,
  )
  await pruneArchives(parts, archives)
  await file.update({ mayHaveTail: false })
  return true
}
