import { archiveAfter, isArchive } from './plan-retention.ts'
import { keptByLock, type Item, type Stock, type Sweep } from './sweep.ts'

/** A plan, and the stock that the plan was made from. */
export interface SweepPlan {
  readonly planned: Sweep
  readonly stock: Stock
}

/**
 * Carries a plan out, item for item. Backups go first. The archive goes then, by the backups that the store let go.
 * @param remove deletes one item, and resolves to the keys that the store locks
 * @returns the items deleted and kept; null where `mayGoOn` ended the work before the last item
 */
export async function carryOut(
  { planned, stock }: SweepPlan,
  remove: (item: Item) => Promise<readonly string[]>,
  mayGoOn: () => boolean = () => true,
): Promise<Sweep | null> {
  const sweep = { delete: [] as Item[], keep: planned.keep.filter((item) => !isArchive(item)) }
  const stays = new Set<string>()
  const removeAll = async (items: readonly Item[]): Promise<boolean> => {
    for (const item of items) {
      if (!mayGoOn()) return false
      const locked = await remove(item)
      for (const key of locked) stays.add(key)
      if (locked.length === 0) sweep.delete.push(item)
      else sweep.keep.push(keptByLock(item, locked))
    }
    return true
  }
  if (!(await removeAll(planned.delete.filter((item) => !isArchive(item))))) return null
  const archive = archiveAfter(planned, stock, stays)
  if (!(await removeAll(archive.delete))) return null
  return { delete: sweep.delete, keep: [...sweep.keep, ...archive.keep] }
}
