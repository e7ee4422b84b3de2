import { say } from '#common/sentence/sentence.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { ReseedOrder } from '#failover/protocol/order.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { dataInNoDoubt } from '../instance/stored-state.ts'
import { counted } from '#common/text/words.ts'

type CopyHolder = Learner & Pick<Parts, 'file' | 'notices' | 'process' | 'server' | 'volume'>

/**
 * Puts a copy in place of what a counted member has, which lies beside it until the copy is proven to hold everything
 * that the primary had when it closed for that: each acknowledged write is among it. Nothing may be promised or
 * reported meanwhile, so it runs alone (`Converger.alone`). An agent that dies in the swap is found by `takeBack`. What
 * was there before is left to be removed: that may take long, and writes wait for this member.
 * @param startOnCopy puts the copy in that place and starts mysqld on it
 */
export async function swapUnproven(
  parts: CopyHolder,
  order: ReseedOrder,
  startOnCopy: () => Promise<void>,
): Promise<void> {
  const { file, server, volume } = parts
  if (file.current.promise !== order.epoch)
    throw new Error(`epoch ${file.current.promise} was promised meanwhile: what is here is needed as it is`)
  // What a swap that fails puts back must not be what an earlier copy took the place of, and nobody could remove.
  await volume.dropBeside()
  await file.update({ unproven: true })
  try {
    await startOnCopy()
    const missing = parseGtidSet(order.sourceHolds).subtract(parseGtidSet((await server.readHolds()).executed))
    if (!missing.isEmpty())
      throw new Error(
        `the copy lacks ${counted(missing.count(), 'transaction')} that the primary has (${missing.toString().slice(0, 120)})`,
      )
    await file.update({ ...dataInNoDoubt, copiedEpoch: order.epoch, unproven: false })
  } catch (error) {
    await takeBack(parts)
    throw error
  }
}

/** Puts what was here before back in place of a copy that was not proven, and has it started by the start gate. */
export async function takeBack(parts: CopyHolder): Promise<void> {
  const { file, process, server, volume, notices } = parts
  server.disconnect()
  if (process.state !== 'dead' && process.state !== 'absent') await process.kill()
  await volume.swapBack()
  learn(parts, { fact: 'filesChanged' })
  await file.update({ unproven: false })
  notices.add(
    'SeedingFailed',
    say`a copy was not proven to hold what this instance stands for; what was here before is in its place again`,
  )
}
