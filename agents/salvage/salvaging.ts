import { RegentError } from '#common/errors/errors.ts'
import { counted, type Said, say, text } from '#common/sentence/sentence.ts'
import { abbreviated } from '#common/text/words.ts'
import type { FetchOrder } from '#failover/protocol/order.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import type { MemberId } from '#topology/snapshot/member.ts'
import type { Parts } from '../instance/parts.ts'
import type { FoundTail, TailSource } from '../ports/tail.ts'
import type { RelayLogPart } from '../ports/volume.ts'

/** So much is asked for at once, and written before the next is. */
const partBytes = 524_288

/**
 * Salvage: what the binlogs of the dead primary have and nobody else is applied here, before the commit. In the order
 * of the primary: first everything that was received, then the rest, from relay logs of a channel of its own. Done
 * again, nothing is asked for that was applied before. Salvage takes as long as it takes, and ends where nothing goes
 * on for the deadline of the order: another candidate would begin anew.
 */
export async function salvage(
  parts: Pick<Parts, 'notices' | 'server' | 'tail' | 'volume'>,
  order: FetchOrder,
  owner: MemberId,
): Promise<void> {
  const { server, volume, tail, notices } = parts
  await server.forgetTail()
  await server.startApplier()
  const { executed, received } = await server.readHolds()
  const name = order.from.instance
  if (!(await server.waitApplied(received, order.deadlineMs)))
    throw new RegentError(
      'REGENT_TIMED_OUT',
      say`what was received from ${name} is not applied, and nothing went on there for ${order.deadlineMs} ms`,
    )
  const lacking = parseGtidSet(order.until).subtract(unionOf([executed, received]))
  const source = tail({ agent: order.from.agent, member: owner, epoch: order.epoch })
  const found = await source.find(lacking.toString())
  const gone = lacking.subtract(parseGtidSet(found.gtids))
  if (!gone.isEmpty())
    throw new RegentError(
      'REGENT_REFUSED',
      say`the binlogs of ${name} do not have ${counted(gone.count(), 'transaction')} any more (${text(abbreviated(gone.toString()))})`,
    )
  const firstFile = await volume.writeTail(partsOf(source, found))
  await server.applyTail(firstFile, lacking.toString(), order.deadlineMs)
  notices.add(
    'TailSalvaged',
    say`${counted(lacking.count(), 'transaction')} that only ${name} had came from its volume${leftOut(found)}`,
  )
}

function leftOut({ halfWrittenBytes }: FoundTail): Said {
  return halfWrittenBytes === 0
    ? ''
    : say`; its last one was half written (${halfWrittenBytes} bytes), was never acknowledged, and is left out`
}

/** Each part has a deadline of its own. */
async function* partsOf(source: TailSource, { files }: FoundTail): AsyncGenerator<RelayLogPart, void, void> {
  for (const { name, head, ranges } of files) {
    yield { head }
    for (const range of ranges.flatMap(inParts)) yield { bytes: await source.read(name, range.offset, range.end) }
  }
}

function inParts({ offset, end }: { readonly offset: number; readonly end: number }) {
  const count = Math.ceil((end - offset) / partBytes)
  return Array.from({ length: count }, (_, index) => {
    const at = offset + index * partBytes
    return { offset: at, end: Math.min(end, at + partBytes) }
  })
}
