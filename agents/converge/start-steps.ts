import { pruneArchives } from '../guard/archive-keeping.ts'
import { learn } from '../instance/learn.ts'
import { step, type Step } from '../instance/pass.ts'
import { keepUnsettled } from '../doubts/unsettled.ts'
import { parseGtidSet, type GtidSet } from '#topology/gtid/gtid-set.ts'
import type { GtidText } from '#topology/snapshot/observation.ts'
import type { Ending } from '../ports/volume.ts'
import { counted } from '#common/text/words.ts'

/** Steps that are taken while mysqld is down. What each one is for is told where the steps are decided. */

export const initialiseWhereEmpty = step('initialise where empty', async (parts) => {
  if (!(await parts.process.isEmpty())) return
  learn(parts, { fact: 'converged', done: false, sentence: 'initialising an empty data folder' })
  parts.changed()
  await parts.process.initialise()
})

export const start = step('start', ({ process }) => process.start())

export const readEnding: Step = {
  name: 'read how mysqld ended',
  run: async ({ volume }) => ({
    fact: 'endingRead',
    binlogSet: await volume.readBinlogSet(),
    ending: await volume.endedHow(),
  }),
}

export function keepAsUnsettled({ sentence }: Ending): Step {
  return step('keep as unsettled', async (parts) => {
    if (!(await keepUnsettled(parts))) return
    parts.notices.add(
      'UnsettledTail',
      `mysqld was not ended by a crash nor by Regent: ${sentence}; its last writes may have been acknowledged and are kept`,
    )
  })
}

/** Changes nothing. */
export function judgeTail(sourceHolds: GtidText): Step {
  return {
    name: 'judge the tail',
    run: async ({ volume }) => ({ fact: 'tailJudged', tail: await volume.judgeTail(sourceHolds) }),
  }
}

/** Archived first, then cut. */
export function cutTail(sourceHolds: GtidText, transactions: string): Step {
  return step('archive and cut the tail', async (parts) => {
    const archive = await parts.volume.trimTail(sourceHolds)
    parts.notices.add('TailTrimmed', `${transactions} archived in ${archive} and cut off before mysqld started`)
    await pruneArchives(parts, [archive])
  })
}

export function archiveUnsettled(extra: GtidSet): Step {
  return step('archive what may have been acknowledged', async (parts) => {
    const { volume, notices } = parts
    // What is in no binlog is no tail, and can be archived by nobody.
    const tail = extra.subtract(parseGtidSet(await volume.readPurged()))
    const archives = tail.isEmpty() ? [] : await volume.archiveErrant(tail.toString())
    const where =
      archives.length === 0
        ? 'they are in no binlog that could be archived'
        : `they are archived in ${archives.join(', ')}`
    notices.add(
      'UnsettledTail',
      `the new primary lacks ${counted(extra.count(), 'transaction')} that may have been acknowledged; ${where}`,
    )
    await pruneArchives(parts, archives)
  })
}
