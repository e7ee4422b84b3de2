import { counted, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { notice, when, type View } from '../instance/pass.ts'
import { leads } from '../instance/stored-state.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import type { Ending, TailJudgement } from '../ports/volume.ts'
import type { NextPass, Step } from './steps.ts'

/**
 * The gate before a mysqld that was primary starts again (docs/why/safety.md, "A stop nobody ordered" and "The
 * unacknowledged tail"): how it ended is found out first, and whether its tail must be cut. Null once nothing is left
 * that keeps it down.
 */
export function passesStartGate(view: View): NextPass | null {
  const { stored, course } = view
  const { assignment, promise } = stored
  const read = readsFiles(view)
  if (read !== null || course.binlogSet === null) return read
  if (assignment?.role === 'replica' && promise === assignment.epoch) return settlesTail(view, course.binlogSet)
  return leads(stored) ? startsAgain(view) : staysDown(say`it was primary and promised epoch ${promise}`)
}

/** How mysqld ended and what it holds, by its files, as soon as nobody writes there. Null once that is known. */
export function readsFiles(view: View): NextPass | null {
  const { life, course, process } = view
  if (life.ending !== null && course.binlogSet !== null) return doubtsTail(view, life.ending)
  return {
    steps: [...when(process !== 'exiting', { do: 'initialiseWhereEmpty' } as const), { do: 'readEnding' }],
    next: 'at once',
  }
}

/** A stop nobody ordered may have acknowledged what no replica holds: on disk before anything is started or cut. */
function doubtsTail({ stored, doubts }: View, ending: Ending): NextPass | null {
  if (doubts.unkept > 0) return { steps: [{ do: 'keepDoubt' }], next: 'at once' }
  if (ending.how === 'crashed' || (stored.unsettled && doubts.settling === 0)) return null
  return { steps: [{ do: 'keepAsUnsettled', ending }], next: 'at once' }
}

/** The instance leads, and nobody else was elected. */
function startsAgain(view: View): NextPass | null {
  const { told, course } = view
  if (!told.mayRestart && !isAlone(view))
    return staysDown(say`it was primary; it waits for the manager to fail over or to let it start again`)
  // What its recovery commits is nobody's to read before a marker proves it, also where the server was down when it was
  // elected.
  return course.reopening ? null : { now: [{ fact: 'reopens' }], next: 'at once' }
}

export function staysDown(why: Sentence): NextPass {
  return {
    then: [{ fact: 'converged', done: false, sentence: say`mysqld stays down: ${why}` }],
    next: 'when something changes',
  }
}

/**
 * No manager was heard for long: the primary may come back by itself, closed until a marker is acknowledged. On a
 * volume of the past the marker would prove nothing, and a manager that knows of that says nothing.
 */
function isAlone({ told, contact, nowMs, timings }: View): boolean {
  return told.trustsAssignment && nowMs - contact.managerHeardAtMs > timings.restartAloneMs
}

/**
 * Now a replica of somebody else: its own tail is compared with what that primary holds, and cut where that is proven
 * safe. A tail that was perhaps acknowledged is never cut. Such a tail is archived, shows as errant once mysqld runs,
 * and people are told.
 */
function settlesTail({ told, stored, life, doubts }: View, binlogSet: GtidText): NextPass {
  const settled: NextPass = {
    steps: [{ do: 'settle', raised: doubts.raised, change: tailIsJudged.change }],
    next: 'at once',
  }
  // An instance that holds nothing has no tail: a primary that has taken no write yet says nothing of what it holds.
  if (binlogSet === '') return settled
  if (told.sourceHolds === null)
    return staysDown(say`it waits to hear what the new primary holds, to judge its own tail`)
  const extra = parseGtidSet(binlogSet).subtract(parseGtidSet(told.sourceHolds))
  if (extra.isEmpty()) return settled
  if (stored.unsettled)
    return { steps: [{ do: 'archiveUnsettled', extra: extra.toString() }, tailIsJudged], next: 'at once' }
  if (life.tail === null) return { steps: [{ do: 'judgeTail', sourceHolds: told.sourceHolds }], next: 'at once' }
  return {
    steps: [...byJudgement(life.tail, told.sourceHolds, extra.count()), tailIsJudged],
    then: [{ fact: 'filesChanged' }],
    next: 'at once',
  }
}

const tailIsJudged = { do: 'store', change: { mayHaveTail: false } } as const

function byJudgement(judgement: TailJudgement, sourceHolds: GtidText, transactions: number): readonly Step[] {
  if (judgement.kind === 'trim') return [{ do: 'cutTail', sourceHolds, transactions }]
  if (judgement.kind === 'nothing') return []
  const tail = say`the tail of ${counted(transactions, 'transaction')}`
  return [
    notice(
      'TailKept',
      say`${tail} stays: ${text(judgement.sentence)}; what the primary lacks of it is ErrantTransactions`,
    ),
  ]
}
