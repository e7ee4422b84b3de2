import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Machine } from './machine.ts'
import type { DataFolder } from './mysqld/data-folder.ts'
import type { ProcessLife } from './process-life.ts'

interface Reset {
  /** Whoever looks next and sees that something is gone. */
  readonly witness: ProcessLife | null
  isStored: boolean
}

/**
 * Servers whose GTIDs a hand reset, and nobody can know that any more: the agent died before it had looked and stored
 * that, or had seen nothing of what was reset (docs/why/safety.md, "What is not covered"). Such a server has what it
 * had, and does not say so.
 */
export class UnseenResets {
  readonly #resets = new Map<DataFolder, Reset>()

  /**
   * Called right before the reset.
   * @param seen what the agent of this machine knows to be executed there
   */
  add({ folder, agentLife }: Machine, seen: GtidSet): void {
    if (folder === undefined) return
    const isSeen = agentLife?.isDead === false && !seen.intersect(folder.executed).isEmpty()
    this.#resets.set(folder, { witness: isSeen ? agentLife : null, isStored: false })
  }

  /** The agent of this machine has it on disk: from now on that is never forgotten. */
  stored({ folder }: Machine): void {
    const reset = folder && this.#resets.get(folder)
    if (reset) reset.isStored = true
  }

  /** A server that was seeded since has another folder. */
  has({ folder }: Machine): boolean {
    const reset = folder && this.#resets.get(folder)
    return reset !== undefined && !reset.isStored && reset.witness?.isDead !== false
  }
}
