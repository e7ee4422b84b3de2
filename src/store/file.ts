import { resolve } from 'node:path'
import { realClock, realMachine, realTimers } from '#common/ports/real-world.ts'
import type { LeadingStore } from './store.ts'
import { cellLease } from './cell-lease.ts'
import { leadingCellStore, storeDeadlineMs } from './cell-store.ts'
import { fileCells } from './file-cells.ts'

/**
 * A store in a folder of a local file system, for managers on one machine. The folder is created with the first write.
 * @param options.deadlineMs every operation fails after that long, for example on a disk that hangs
 */
export function fileStore(directory: string, options: { readonly deadlineMs?: number } = {}): LeadingStore {
  const cells = fileCells(resolve(directory))
  const lease = cellLease(cells, { clock: realClock, machine: realMachine() })
  return leadingCellStore(cells, lease, { timers: realTimers, deadlineMs: options.deadlineMs ?? storeDeadlineMs })
}
