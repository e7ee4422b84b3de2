import { rm } from 'node:fs/promises'
import { keyOf } from '#backup/objects/object-key.ts'
import type { Manifest } from '#backup/objects/manifest.ts'
import type { Plan } from '#backup/restore/restore-plan.ts'
import { dataKeys } from '#backup/keys/data-key.ts'
import { readParts } from '#backup/transfer/read-parts.ts'
import { readPiece } from '#backup/transfer/read-piece.ts'
import { rateAndRest } from '#backup/restore/rate.ts'
import { replayedOf } from '#backup/restore/replayed.ts'
import type { World } from '#common/ports/ports.ts'
import { lasting, mebibytes, say } from '#common/sentence/sentence.ts'
import type { OpenedStore } from '#agents/ports/backup-port.ts'
import type { TellProgress } from '#agents/ports/server.ts'
import type { ThrowAwayPort, ThrowAwayServer } from '#agents/ports/throw-away.ts'
import type { VolumePort } from '#agents/ports/volume.ts'
import { applyBatch } from './applying.ts'
import { reachedByBackup, type Reached } from './reached.ts'
import { relayBatches } from './relay-batches.ts'
import { removeRelayLogs } from './remove-relay-logs.ts'
import { ReplayProgress } from './replay-progress.ts'

/** What a rebuild works with. */
export interface RebuildTools extends OpenedStore {
  readonly throwAway: ThrowAwayPort
  readonly volume: Pick<VolumePort, 'unpackInto'>
  readonly world: Pick<World, 'clock' | 'timers'>
  /** The backup is of the cluster of this instance. */
  readonly own: boolean
  /** Others work on this machine. */
  readonly spares: boolean
  readonly signal: AbortSignal
  readonly progress: TellProgress
}

const tellEveryMs = 1_000

/** Fills a folder, which is not there yet, with the state of a plan. Where that fails, the folder is gone. */
export async function rebuilt(plan: Plan, folder: string, tools: RebuildTools): Promise<Reached> {
  try {
    await fetchBase(plan.backup, folder, tools)
    if (plan.steps.length === 0) return reachedByBackup(plan)
    return await bringUp(plan, folder, tools, async (_, reached) => reached)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** Fills a folder, which is not there yet, with a base backup: whole, and synced to the disk. */
export async function fetchBase(manifest: Manifest, folder: string, tools: RebuildTools): Promise<void> {
  const { store, key, signal, progress, volume, own } = tools
  const { cluster, name, encryption, rawBytes } = manifest
  const opens = encryption === null ? undefined : key?.withId(encryption.keyId)
  const keys = opens && encryption && dataKeys(opens, Buffer.from(encryption.salt, 'hex'))
  const content = readParts(manifest, {
    store,
    keyOf: (part) => keyOf({ kind: 'part', cluster, name, part }),
    key: keys?.encrypts ?? null,
    signal,
  })
  const beganMs = tools.world.clock.monotonicMs()
  const told = (bytes: number, nowMs: number) => {
    const percent = Math.floor((bytes * 100) / Math.max(1, rawBytes))
    const rate = rateAndRest({ done: bytes, all: rawBytes, ms: nowMs - beganMs })
    progress(say`${mebibytes(bytes)} of ${mebibytes(rawBytes)} are here${rate}`, percent)
  }
  await volume.unpackInto(folder, watched(content, told, tools), own ? null : `${cluster}/${name}`)
}

async function* watched(
  content: AsyncIterable<Buffer>,
  seen: (bytes: number, nowMs: number) => void,
  { world }: RebuildTools,
): AsyncGenerator<Buffer, void, void> {
  let [bytes, toldAtMs] = [0, -Infinity]
  for await (const chunk of content) {
    bytes += chunk.length
    const nowMs = world.clock.monotonicMs()
    if (nowMs - toldAtMs >= tellEveryMs) {
      toldAtMs = nowMs
      seen(bytes, nowMs)
    }
    yield chunk
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
