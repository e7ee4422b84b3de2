import type { ClusterRecord } from '#failover/protocol/record.ts'
import { parseRecord, printRecord } from '#store/wire.ts'
import type { Cell, CellName } from '#store/cells.ts'
import { say } from '#common/sentence/sentence.ts'

/** What is in the store. Each record that is put there must follow from the one before. */
export class RecordedCells extends Map<CellName, Cell> {
  #record: ClusterRecord | undefined
  #isLost = false
  violation: string | undefined
  /** Called after each change. */
  changed: () => void = () => undefined
  committed: (before: ClusterRecord | undefined, record: ClusterRecord) => void = () => undefined

  get record(): ClusterRecord | undefined {
    return this.#record
  }

  /** As a manager does that withdraws nothing and changes nothing: one revision more. */
  writeAgain(): void {
    const record = this.#record
    if (record === undefined) return
    const revision = record.revision + 1
    this.set(`record.${record.cluster}`, {
      revision,
      text: printRecord({ ...record, revision }, say`the simulated store`),
    })
  }

  /** Nobody reads the record any more. The rules go on by the last one. */
  lose(): void {
    if (this.#record === undefined) return
    this.delete(`record.${this.#record.cluster}`)
    this.#isLost = true
  }

  override set(name: CellName, cell: Cell): this {
    if (name.startsWith('record.')) {
      const next = parseRecord(cell.text, say`the simulated store`)
      const before = this.#isLost ? undefined : this.#record
      this.violation ??= this.#isLost ? wrongAfterLoss(this.#record, next) : wrongStep(before, next)
      this.#record = next
      this.#isLost = false
      super.set(name, cell)
      this.committed(before, next)
      this.changed()
      return this
    }
    super.set(name, cell)
    this.changed()
    return this
  }
}

/** A record that nobody was told of may be lost and rebuilt in its own epoch: whatever agents know is below that. */
function wrongAfterLoss(before: ClusterRecord | undefined, after: ClusterRecord): string | undefined {
  return before === undefined || (after.epoch >= before.epoch && after.revision >= before.revision)
    ? undefined
    : `record: rebuilt in epoch ${after.epoch}, revision ${after.revision}, after ${before.epoch}, ${before.revision}`
}

/** One revision more, an epoch that never shrinks and has one primary. */
function wrongStep(before: ClusterRecord | undefined, after: ClusterRecord): string | undefined {
  if (before === undefined) return undefined
  if (after.revision !== before.revision + 1) return `record: revision ${after.revision} after ${before.revision}`
  if (after.epoch < before.epoch) return `record: epoch ${after.epoch} after ${before.epoch}`
  if (after.epoch === before.epoch && after.primary !== before.primary)
    return `record: epoch ${after.epoch} has two primaries, ${before.primary} and ${after.primary}`
  if (after.syncSet.includes(after.primary)) return 'record: the primary is in its own sync set'
  return after.leaving.every((member) => after.syncSet.includes(member))
    ? undefined
    : 'record: somebody leaves who is not in the sync set'
}
