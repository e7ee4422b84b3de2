import { realClock, realTimers } from '#common/ports/real-world.ts'
import type { Clock, Timers } from '#common/ports/ports.ts'
import { cellLease } from './cell-lease.ts'
import { leadingCellStore, storeDeadlineMs } from './cell-store.ts'
import type { Cell, CellName, Cells } from './cells.ts'
import type { LeadingStore } from './store.ts'

/** What several memory stores may share, as managers share a real one. */
export type MemoryCells = Map<CellName, Cell>

export interface MemoryStoreOptions {
  readonly cells?: MemoryCells
  readonly clock?: Clock
  readonly timers?: Timers
  readonly deadlineMs?: number
  /** Awaited before each access: delays it by taking time, fails it by throwing, and then nothing was written. */
  readonly before?: (access: MemoryAccess) => Promise<void>
  /** Awaited after each access: when it throws, the answer is lost, and a swap has happened all the same. */
  readonly after?: (access: MemoryAccess) => Promise<void>
}

interface MemoryAccess {
  readonly kind: 'read' | 'swap' | 'remove'
  readonly name: CellName
}

/** A store for tests and simulation. Nothing outlives the process. */
export function memoryStore(options: MemoryStoreOptions = {}): LeadingStore {
  const {
    cells = new Map<CellName, Cell>(),
    clock = realClock,
    timers = realTimers,
    deadlineMs = storeDeadlineMs,
  } = options

  async function access<Result>(what: MemoryAccess, signal: AbortSignal, work: () => Result): Promise<Result> {
    await options.before?.(what)
    signal.throwIfAborted()
    const result = work()
    await options.after?.(what)
    return result
  }

  const place: Cells = {
    place: 'memory store',
    whereIs: (name) => ({ object: `${name} in memory`, removal: 'start the manager again' }),
    read: (name, signal) => access({ kind: 'read', name }, signal, () => cells.get(name)),
    swap: (name, expectedRevision, next, signal) =>
      access({ kind: 'swap', name }, signal, () => {
        if ((cells.get(name)?.revision ?? 0) !== expectedRevision) return false
        cells.set(name, next)
        return true
      }),
    remove: (name, signal) =>
      access({ kind: 'remove', name }, signal, () => {
        cells.delete(name)
        return true
      }),
    close: () => Promise.resolve(),
  }
  return leadingCellStore(place, cellLease(place, { clock, machine: { bootId: () => Promise.resolve('memory') } }), {
    timers,
    deadlineMs,
  })
}
