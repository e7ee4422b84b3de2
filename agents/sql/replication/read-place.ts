import { binlogNumberIn } from '#common/mysql/binlog-number.ts'
import { isBefore } from '#topology/snapshot/holes.ts'
import type { BinlogPlace } from '#topology/snapshot/observation.ts'
import type { Row } from '../connections/statements.ts'
import { numberOf, textOf } from '../connections/statements.ts'

/**
 * How far a receiver has read its source's binlogs, as far as everything up to there is surely among what it is shown
 * to hold. The server shows what was received before it shows the place, and in between more may come: so the place of
 * the look before is told. A receiver that connects anew may go back to an earlier file; of two places the earlier one
 * counts.
 */
export class ReadPlace {
  #before: (BinlogPlace & { readonly source: string }) | null = null

  forget(): void {
    this.#before = null
  }

  /** Null while unknown. */
  from(row: Row): BinlogPlace | null {
    const before = this.#before
    const file = binlogNumberIn(textOf(row, 'Source_Log_File'))
    const now =
      textOf(row, 'Replica_IO_Running') === 'Yes' && file > 0
        ? { source: textOf(row, 'Source_UUID'), file, position: numberOf(row, 'Read_Source_Log_Pos') }
        : null
    this.#before = now
    if (now === null || before?.source !== now.source) return null
    const { file: number, position } = isBefore(now, before) ? now : before
    return { file: number, position }
  }
}
