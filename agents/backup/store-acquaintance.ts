import type { Watch } from '#common/watch/watch.ts'
import type { Parts } from '../instance/parts.ts'
import { isUsed, noteUsed, backupPlaceOf } from '../instance/used-stores.ts'
import type { StoresPort } from '../ports/backup-port.ts'
import { withinDeadline } from './deadline.ts'
import { ownerOf } from '#backup/transfer/stored-owner.ts'
import type { Folder } from './owner.ts'

const everyMs = 60_000
const deadlineMs = 60_000

type AcquaintanceParts = Pick<Parts, 'config' | 'file' | 'told' | 'world'>

/**
 * Remembers, also as a replica, that the cluster has a folder in the store of backups. So the next primary begins no
 * other folder where a disk is not mounted. The watch rests once the folder is known.
 */
export class StoreAcquaintance implements Watch {
  readonly name = 'whether the store of backups is used'
  readonly #parts: AcquaintanceParts
  readonly #port: StoresPort | null
  #lastAtMs = -Infinity

  constructor(parts: AcquaintanceParts, port: StoresPort | null) {
    this.#parts = parts
    this.#port = port
  }

  while(): boolean {
    const folder = this.#folder()
    return folder !== null && !isUsed(this.#parts, folder)
  }

  isDue(): boolean {
    return this.#parts.world.clock.monotonicMs() - this.#lastAtMs >= everyMs
  }

  async look(): Promise<void> {
    const { told, world } = this.#parts
    const [folder, task] = [this.#folder(), told.backups]
    if (folder === null || task === null || this.#port === null) return
    this.#lastAtMs = world.clock.monotonicMs()
    const { open } = this.#port
    const look = async (signal: AbortSignal): Promise<void> => {
      const { store } = await open(task.store)
      try {
        const owner = await ownerOf(store, folder.cluster, { signal })
        if (owner?.lineage === folder.lineage) await noteUsed(this.#parts, folder)
      } finally {
        store.close()
      }
    }
    // The agent of the primary tells of a store that does not answer.
    await withinDeadline(world.timers, { deadlineMs, whose: 'the store of backups' }, look, () => undefined)
  }

  #folder(): Folder | null {
    const { told, config } = this.#parts
    if (told.backups === null || this.#port === null) return null
    return { ...backupPlaceOf(config, told.backups), lineage: this.#port.lineage }
  }
}
