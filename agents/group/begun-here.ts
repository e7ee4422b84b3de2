import { counted, say } from '#common/sentence/sentence.ts'
import type { BinlogPlace } from '#topology/snapshot/observation.ts'
import { doubtOpening } from '../doubts/opened.ts'
import type { Fact } from '../instance/facts.ts'
import type { Life } from '../instance/life.ts'
import type { Parts } from '../instance/parts.ts'
import type { BegunHere } from '../ports/volume.ts'

interface Begun {
  readonly began: number
  /** Where the binlog ended when none of them had begun. */
  readonly from: BinlogPlace
  /** For the next look to be compared with. */
  readonly proposed: Life['proposed']
}

/**
 * FLUSH, ANALYZE and OPTIMIZE are transactions of their own that a closed server lets pass: they change no data, and
 * the group brings them to everybody. Whatever else began, or cannot be found, was written.
 */
export async function judgeBegun(
  parts: Pick<Parts, 'file' | 'notices' | 'volume' | 'world'>,
  { began, from, proposed }: Begun,
): Promise<Fact> {
  const { all, changing } = await readBegun(parts, began, from)
  if (changing > 0 || all < began) await doubtOpening(parts, say`${counted(began, 'transaction')} began here`)
  return { fact: 'beganHere', proposed }
}

/** The group counts a transaction before that is in the binlog. */
const [tries, betweenMs] = [20, 50]

async function readBegun(
  { volume, world, notices }: Pick<Parts, 'notices' | 'volume' | 'world'>,
  began: number,
  from: BinlogPlace,
): Promise<BegunHere> {
  try {
    for (let left = tries; ; left -= 1) {
      const found = await volume.begunHere(from)
      if (found.all >= began || found.changing > 0 || left === 0) return found
      await world.timers.sleep(betweenMs)
    }
  } catch (error) {
    notices.failed('BegunNotRead', say`the binlogs do not tell what began here`, error)
    return { all: 0, changing: 0 }
  }
}
