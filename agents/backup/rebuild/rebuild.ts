import { rm } from 'node:fs/promises'
import type { Plan } from '#backup/restore/restore-plan.ts'
import { readPiece } from '#backup/transfer/read-piece.ts'
import { replayedOf } from '#backup/restore/replayed.ts'
import { lasting, say } from '#common/sentence/sentence.ts'
import type { ThrowAwayPort, ThrowAwayServer } from '#agents/ports/throw-away.ts'
import { applyBatch } from './applying.ts'
import { fetchBase, type FetchTools } from './fetch-base.ts'
import { reachedByBackup, type Reached } from './reached.ts'
import { relayBatches } from './relay-batches.ts'
import { removeRelayLogs } from './remove-relay-logs.ts'
import { ReplayProgress } from './replay-progress.ts'

/** What a rebuild works with. */
export interface RebuildTools extends FetchTools {
  readonly throwAway: ThrowAwayPort
  /** Others work on this machine. */
  readonly spares: boolean
}

const tellEveryMs = 1_000

/**
 * Fills a folder with the state of a plan. Where that fails, the folder is gone, or has a part of the backup that the
 * next one goes on with.
 */
export async function rebuilt(plan: Plan, folder: string, tools: RebuildTools): Promise<Reached> {
  await fetchBase(plan.backup, folder, tools)
  try {
    if (plan.steps.length === 0) return reachedByBackup(plan)
    return await bringUp(plan, folder, tools, async (_, reached) => reached)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/**
 * Brings a folder with a plan's backup to the state that the plan names: a throw-away server replays the transactions
 * of the archive, and ends in order. Whatever dies within leaves a folder that nobody may use.
 *
 * @param whileUp is done when all is replayed, and before the server ends
 */
export async function bringUp<T>(
  plan: Plan,
  folder: string,
  tools: RebuildTools,
  whileUp: (server: ThrowAwayServer, reached: Reached) => Promise<T>,
): Promise<T> {
  const server = await started(folder, tools)
  try {
    const result = await whileUp(server, await replay(plan, folder, server, tools))
    tools.progress(say`the server of its own ends`, 100)
    await server.shutDown()
    await removeRelayLogs(folder)
    return result
  } catch (error) {
    await server.kill()
    throw error
  }
}

/** Recovery of a large copy takes minutes. */
async function started(folder: string, { throwAway, world, progress, ...how }: RebuildTools): Promise<ThrowAwayServer> {
  const beganMs = world.clock.monotonicMs()
  const tell = () => {
    progress(say`a server of its own starts on the backup, ${lasting(world.clock.monotonicMs() - beganMs)}`, 100)
  }
  tell()
  const telling = world.timers.every(10 * tellEveryMs, tell)
  try {
    return await throwAway.start(folder, how)
  } finally {
    telling.cancel()
  }
}

/** Has a server on `folder` replay the steps of a plan. The plan that the server was started for may be another. */
export async function replay(
  plan: Plan,
  folder: string,
  server: ThrowAwayServer,
  tools: RebuildTools,
): Promise<Reached> {
  const { store, key, signal, world } = tools
  const { cluster, lineage } = plan.backup
  const replayed = replayedOf(plan, (piece) => readPiece({ store, cluster, lineage, piece, key, signal }))
  const telling = new ReplayProgress(plan, world.clock, tools.progress)
  let reached = reachedByBackup(plan)
  for await (const batch of relayBatches(replayed, folder)) {
    await applyBatch(batch, { server, timers: world.timers, progress: (executed) => telling.tell(executed) })
    reached = { gtids: reached.gtids.union(batch.gtids), lastMs: Math.max(reached.lastMs ?? 0, batch.lastMs) }
  }
  return reached
}
