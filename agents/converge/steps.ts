import { counted, say, text } from '#common/sentence/sentence.ts'
import { pruneArchives } from '../guard/archive-keeping.ts'
import { learn } from '../instance/learn.ts'
import type { NextPass as PassOf } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'
import type { Performers, StepOf } from '../instance/steps.ts'
import { takeBack } from '../doubts/unproven-copy.ts'
import { keepUnsettled, settle } from '../doubts/unsettled.ts'
import { groupSteps } from '../group/steps.ts'
import { semisyncSteps } from '../semisync/steps.ts'
import type { StoredState } from '../instance/stored-state.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import type { Ending } from '../ports/volume.ts'

/** What is done while mysqld is down. What each step is for is told where it is decided. */
const startSteps = {
  initialiseWhereEmpty: async (parts) => {
    if (!(await parts.process.isEmpty())) return
    learn(parts, { fact: 'converged', done: false, sentence: say`initialising an empty data folder` })
    parts.changed()
    await parts.process.initialise()
  },
  start: ({ process }) => process.start(),
  takeBack,
  readEnding: async ({ volume }) => ({
    fact: 'endingRead',
    binlogSet: await volume.readBinlogSet(),
    ending: await volume.endedHow(),
  }),
  keepAsUnsettled: async (parts, { ending }: { ending: Ending }) => {
    if (!(await keepUnsettled(parts))) return
    parts.notices.add(
      'UnsettledTail',
      say`mysqld was not ended by a crash nor by Regent: ${text(ending.sentence)}; its last writes may have been acknowledged and are kept`,
    )
  },
  /** The disk did not take the mark when the doubt was raised. */
  keepDoubt: async (parts) => void (await keepUnsettled(parts)),
  settle: (parts, { raised, change }: { raised: number; change: Partial<StoredState> }) =>
    settle(parts, raised, change),
  /** Changes nothing. */
  judgeTail: async ({ volume }, { sourceHolds }: { sourceHolds: GtidText }) => ({
    fact: 'tailJudged',
    tail: await volume.judgeTail(sourceHolds),
  }),
  /** Archived first, then cut. */
  cutTail: async (parts, { sourceHolds, transactions }: { sourceHolds: GtidText; transactions: number }) => {
    const archive = await parts.volume.trimTail(sourceHolds)
    const what = counted(transactions, 'unacknowledged transaction')
    parts.notices.add('TailTrimmed', say`${what} archived in ${archive} and cut off before mysqld started`)
    await pruneArchives(parts, [archive])
  },
  archiveUnsettled,
} satisfies Performers

/** Everything that is done by a pass, in any mode. */
export const performers = { ...startSteps, ...semisyncSteps, ...groupSteps } satisfies Performers

export type Step = StepOf<typeof performers>
export type NextPass = PassOf<Step>

async function archiveUnsettled(
  parts: Pick<Parts, 'config' | 'notices' | 'volume'>,
  { extra }: { readonly extra: GtidText },
): Promise<void> {
  const { volume, notices } = parts
  const lacking = parseGtidSet(extra)
  // What is in no binlog is no tail, and can be archived by nobody.
  const tail = lacking.subtract(parseGtidSet(await volume.readPurged()))
  const archives = tail.isEmpty() ? [] : await volume.archiveErrant(tail.toString())
  const where =
    archives.length === 0
      ? say`they are in no binlog that could be archived`
      : say`they are archived in ${archives.join(', ')}`
  notices.add(
    'UnsettledTail',
    say`the new primary lacks ${counted(lacking.count(), 'transaction')} that may have been acknowledged; ${where}`,
  )
  await pruneArchives(parts, archives)
}
