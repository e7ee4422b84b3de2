import { planOf } from '#backup/transfer/plan-from-store.ts'
import type { Plan } from '#backup/restore/restore-plan.ts'
import { described, describeError, RegentError } from '#common/errors/errors.ts'
import { say, Sentence, text, type Said } from '#common/sentence/sentence.ts'
import { parseGtidSet, type GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Parts } from '#agents/instance/parts.ts'
import type { StillView } from '#agents/ports/server.ts'
import type { ThrowAwayServer } from '#agents/ports/throw-away.ts'
import { executedBy } from '../rebuild/applying.ts'
import { tablesIn, tablesStatement } from './checked-tables.ts'
import { compareTables, requireSameTables } from './compared-tables.ts'
import { replay, type RebuildTools } from '../rebuild/rebuild.ts'

/** The sender ships every few seconds what the primary executes. */
const archiveMs = 60_000
const lookMs = 1_000

export interface Compared {
  readonly compared: number
  /** The reason why no table was compared; '' where each table could be compared. */
  readonly whyNot: Said
}

/** A server with a plan's backup that has replayed the plan. */
export interface RestoredServer {
  readonly server: ThrowAwayServer
  readonly plan: Plan
  readonly folder: string
}

/**
 * Compares a restored server with the replica beside. The replica shows the content of one moment. The restored server
 * replays the archive to the same transactions. Then both must have the same tables, and each table the same rows.
 * Throws where one does not.
 */
export async function compareWithReplica(
  { server: own, config, file }: Pick<Parts, 'server' | 'config' | 'file'>,
  restored: RestoredServer,
  tools: RebuildTools,
): Promise<Compared> {
  if (config.mode === 'group')
    return { compared: 0, whyNot: say`a member of a group cannot rest between two transactions` }
  if (file.current.assignment?.role !== 'replica')
    return { compared: 0, whyNot: say`no replica is beside that could rest between two transactions` }
  if (restored.plan.unsigned !== undefined)
    return { compared: 0, whyNot: say`what the archive has behind that is not signed` }
  const view = await own.stillView(tablesStatement).catch((error: unknown) => describeError(error))
  if (typeof view === 'string') return { compared: 0, whyNot: say`the replica showed nothing: ${text(view)}` }
  try {
    return await compareWithView(view, restored, tools)
  } finally {
    view.end()
  }
}

async function compareWithView(view: StillView, restored: RestoredServer, tools: RebuildTools): Promise<Compared> {
  const wanted = parseGtidSet(view.gtids)
  const whyNot = await replayUpTo(wanted, restored, tools)
  if (whyNot !== '') return { compared: 0, whyNot }
  // The replay to the replica's moment makes and drops tables: those of the check are those of an earlier moment.
  const tables = tablesIn(await restored.server.query(tablesStatement))
  requireSameTables(tables, tablesIn(view.there))
  const progress = (done: number, all: number) => tools.progress(say`${done} of ${all} tables are compared`, 100)
  const compared = await compareTables(restored.server, view, tables, progress)
  return { compared, whyNot: compared === 0 ? say`no table could be read on both sides` : '' }
}

/** Why the restored server is not at these transactions; '' where the server is. */
async function replayUpTo(wanted: GtidSet, restored: RestoredServer, tools: RebuildTools): Promise<Said> {
  const { server, folder } = restored
  const { world } = tools
  const untilMs = world.clock.monotonicMs() + archiveMs
  for (;;) {
    const executed = await executedBy(server)
    if (executed.equals(wanted)) return ''
    if (!wanted.contains(executed)) return say`the archive was ahead of the replica`
    const plan = await planBeyond(executed, wanted, restored.plan, tools).catch(notYet)
    if (!(plan instanceof Sentence)) await replay(plan, folder, server, tools)
    else if (world.clock.monotonicMs() > untilMs) return plan
    else await world.timers.sleep(lookMs)
  }
}

/** Why the archive does not say how to go on: the replica is ahead for a while, or the store cannot be read. */
function notYet(error: unknown): Sentence {
  return error instanceof RegentError && error.code === 'REGENT_REFUSED'
    ? archiveIsBehind
    : say`the archive could not be read: ${described(error)}`
}

const archiveIsBehind = say`the archive did not come to where the replica is`

/** The steps from one set to the other. Throws while the archive does not have all of them. */
async function planBeyond(executed: GtidSet, wanted: GtidSet, { backup }: Plan, tools: RebuildTools) {
  const { cluster, name, mysqlVersion } = backup
  const asked = { of: cluster, backup: name, untilGtids: wanted.toString() }
  const plan = await planOf(asked, tools, mysqlVersion)
  const left = plan.steps.map((step) => ({ ...step, gtids: step.gtids.subtract(executed) }))
  const steps = left.filter(({ gtids }) => !gtids.isEmpty())
  return steps.length === 0 ? archiveIsBehind : { ...plan, steps }
}
