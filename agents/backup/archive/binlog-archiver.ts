import { describeError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Watch } from '#common/watch/watch.ts'
import type { BackupTask } from '#failover/protocol/backup-task.ts'
import { learn } from '#agents/instance/learn.ts'
import type { Parts } from '#agents/instance/parts.ts'
import type { StoresPort } from '#agents/ports/backup-port.ts'
import { PutPieces } from './put-pieces.ts'
import { Shipping, type ArchiveMemory } from './shipping.ts'

/**
 * Ships to the store of backups, every few seconds, what this server executes as primary. The file that the server
 * still writes to is shipped, too. A failover changes the sender: the next sender reads in the store how far the
 * archive goes. Two senders at once do no harm: each piece tells its place in the history
 * (`src/backup/archive/chain.ts`).
 */
export class BinlogArchiver implements Watch {
  readonly name = 'binlogs to be shipped'
  /** An archive may need hours to catch up. */
  readonly deadlineMs = 86_400_000
  readonly #parts: Parts
  readonly #port: StoresPort | null
  readonly #stop = new AbortController()
  #shipping: Shipping | null = null
  #begunAtMs = -Infinity
  readonly #memory: ArchiveMemory = { doubted: new Set(), put: new PutPieces() }

  constructor(parts: Parts, port: StoresPort | null) {
    this.#parts = parts
    this.#port = port
  }

  while(): boolean {
    return this.#task() !== null
  }

  isDue(): boolean {
    const everyMs = (this.#task()?.archive.everySeconds ?? 0) * 1_000
    return this.#parts.world.clock.monotonicMs() - this.#begunAtMs >= everyMs
  }

  async look(): Promise<void> {
    const task = this.#task()
    if (task === null || this.#port === null) return
    this.#begunAtMs = this.#parts.world.clock.monotonicMs()
    try {
      const shipping = await this.#shippingOf(task, this.#port)
      await shipping.ship()
    } catch (error) {
      this.#rest()
      if (!this.#stop.signal.aborted) this.#failed(error)
    }
  }

  stop(): void {
    this.#stop.abort(new Error('the agent is stopping'))
    this.#rest()
  }

  /** The task of this agent; null where the server is no open primary, or no archive is asked for. */
  #task(): BackupTask | null {
    const { backups } = this.#parts.told
    return this.#port !== null && isOpenPrimary(this.#parts) && (backups?.archive.everySeconds ?? 0) > 0
      ? backups
      : null
  }

  /**
   * The shipping begins anew for another epoch, another mysqld or another store. A backup made meanwhile is a reason,
   * too, and so is a store that does not show what was put there.
   */
  async #shippingOf(task: BackupTask, port: StoresPort): Promise<Shipping> {
    const present = this.#shipping
    if (present?.isStill(task) === true && (await present.isShown())) return present
    this.#rest()
    const begun = { task, port, signal: this.#stop.signal, memory: this.#memory }
    this.#shipping = await Shipping.begin(this.#parts, begun)
    return this.#shipping
  }

  #rest(): void {
    this.#shipping?.end()
    this.#shipping = null
  }

  #failed(error: unknown): void {
    const trouble = describeError(error).slice(0, 300)
    const before = this.#parts.jobs.binlogArchive
    learn(this.#parts, { fact: 'backupWorkFailed', work: 'archive' })
    learn(this.#parts, { fact: 'binlogsShipped', archive: { ...(before ?? nothingShipped), trouble } })
    if (before?.trouble !== trouble)
      this.#parts.notices.failed('BinlogsNotShipped', say`binlogs are not shipped to the store of backups`, error)
    this.#parts.changed()
  }
}

const nothingShipped = { atMs: null, gtids: null, lacks: '', hole: '' }

/**
 * A primary that was elected and has not opened may still apply what the last primary shipped. An opening of the
 * archive at that time would leave this out.
 */
function isOpenPrimary({ file, observer, process }: Pick<Parts, 'file' | 'observer' | 'process'>): boolean {
  const { assignment, seeding } = file.current
  const isOpen = process.state === 'running' && observer.server?.readOnly === false
  return assignment?.role === 'primary' && !seeding && isOpen
}
