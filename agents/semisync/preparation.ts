import { say } from '#common/sentence/sentence.ts'
import { learn } from '../instance/learn.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import { keepApplierOptions } from '../guard/channel-options.ts'
import type { View } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'

/** A replica that connects reads so much in a few milliseconds. */
const binlogBytes = 16 * 1_048_576

/** A server that has much to apply is not waited for here: the server goes on applying, and its opening waits. */
const applyMs = 200

/**
 * The instance that is to lead, or will most likely, makes ready while the others promise and the manager commits:
 * nobody else on the server, everything received applied, the applier stopped. Nothing of this is remembered on disk or
 * binds anybody. If another instance leads in the end, following as assigned puts it right.
 */
export async function prepareToLead(parts: Parts): Promise<void> {
  const { course, process, notices } = parts
  if (process.state !== 'running' || course.promiseReport?.asPrimary !== false || course.receiverKept) return
  await prepare(parts).catch((error: unknown) =>
    notices.failed('NotPrepared', say`this replica could not make ready to lead ahead of time`, error),
  )
}

async function prepare(parts: Parts): Promise<void> {
  const { server, file, observer } = parts
  await server.setOffline(true)
  await server.killForeignSessions()
  await keepApplierOptions(parts, observer.server?.channel ?? null)
  await server.startApplier()
  // The receiver is stopped: nothing arrives any more.
  const { executed, received } = await server.readHolds()
  if (!(await server.waitExecuted(received, applyMs))) return
  await server.stopApplier()
  // The first acknowledgement waits until a replica has read the newest binlog up to here; those that gathered have.
  if ((observer.server?.dumpThreads ?? []).length === 0) await server.beginBinlogAfter(binlogBytes)
  observer.outdate()
  const holds = unionOf([executed, received]).toString()
  learn(parts, { fact: 'prepared', epoch: file.current.promise, holds })
}

/**
 * Whether that was done by this server for this epoch, and nothing else but its opening has been done to it since: a
 * primary that was made ready is opened without another look.
 */
export function isPreparedFor({ life: { stage } }: Pick<View, 'life'>, epoch: number): boolean {
  return stage.is === 'prepared' && stage.epoch === epoch
}
