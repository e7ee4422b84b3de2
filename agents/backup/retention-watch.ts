import { carryOut } from '#backup/retention/carry-out.ts'
import { planRetention, unfinishedBeforeMs } from '#backup/retention/plan-retention.ts'
import { StandingRuns } from '#backup/retention/standing-runs.ts'
import { prefixOf } from '#backup/objects/object-key.ts'
import { whyNotOwner } from '#backup/objects/owner.ts'
import type { KeyRing } from '#backup/keys/key-ring.ts'
import { keptByLock, type Item } from '#backup/retention/sweep.ts'
import { deleteInOrder, readStock } from '#backup/transfer/read-stock.ts'
import { describeError } from '#common/errors/errors.ts'
import { counted, mebibytes, say } from '#common/sentence/sentence.ts'
import type { Watch } from '#common/watch/watch.ts'
import type { BackupTask } from '#failover/protocol/backup-task.ts'
import { backupFolderOf } from '#failover/protocol/backup-store.ts'
import type { ObjectStore } from '#object-store/object-store.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import type { StoresPort } from '../ports/backup-port.ts'
import { withinDeadline } from './deadline.ts'
import { ownerOf } from '#backup/transfer/stored-owner.ts'

/** Leftovers grow old without a new backup. */
const everyMs = 6 * 3_600_000
const afterFailureMs = 600_000
/** A deletion that is not done by then is done the next time. */
const deadlineMs = 600_000
/** A manager that leads says a word every few seconds. */
const heardWithinMs = 60_000

/** The rule, and the owner of the folder. */
interface Sweeping {
  readonly task: BackupTask
  readonly lineage: string
  readonly key: KeyRing | null
  readonly signal: AbortSignal
}

type RetentionWatchParts = Learner & Pick<Parts, 'config' | 'file' | 'notices' | 'world'>

/**
 * Deletes from the store what retention leaves, after each new backup and a few times a day. No word of a manager is
 * needed: the deletions follow from the store and the rule alone. So a run that died goes on by itself, and two runs
 * delete the same. But an agent that is cut off may act by a rule that was changed meanwhile. So a manager that leads
 * must have been heard a moment ago, and the server must take writes.
 */
export class RetentionWatch implements Watch {
  readonly name = 'backups that need not stay'
  readonly deadlineMs = deadlineMs
  readonly #parts: RetentionWatchParts
  readonly #port: StoresPort | null
  /** The newest whole backup at the last time. */
  #sweptFor: string | null = null
  #notBeforeMs = -Infinity
  #trouble = ''
  readonly #runs = new StandingRuns()

  constructor(parts: RetentionWatchParts, port: StoresPort | null) {
    this.#parts = parts
    this.#port = port
  }

  while(): boolean {
    return this.#port !== null && this.#mayDelete(this.#parts.told.backups)
  }

  isDue(): boolean {
    const { jobs, world } = this.#parts
    const newest = jobs.backups?.newest?.name ?? null
    if (jobs.backups?.answers !== true) return false
    const nowMs = world.clock.monotonicMs()
    return this.#trouble === '' && newest !== this.#sweptFor ? true : nowMs >= this.#notBeforeMs
  }

  async look(): Promise<void> {
    const { told, jobs, world } = this.#parts
    const task = told.backups
    if (task === null || this.#port === null) return
    const newest = jobs.backups?.newest?.name ?? null
    const { open, lineage } = this.#port
    const sweep = async (signal: AbortSignal): Promise<void> => {
      const { store, key } = await open(task.store)
      try {
        await this.#sweep(store, { task, lineage, key, signal })
        signal.throwIfAborted()
        this.#ended('', everyMs)
        this.#sweptFor = newest
      } finally {
        store.close()
      }
    }
    await withinDeadline(world.timers, { deadlineMs, whose: 'the store of backups' }, sweep, (error) =>
      this.#ended(describeError(error), afterFailureMs),
    )
  }

  #mayDelete(task: BackupTask | null): boolean {
    const { file, told, course, contact, world } = this.#parts
    const isHeard = world.clock.monotonicMs() - contact.managerHeardAtMs < heardWithinMs
    const leads = file.current.assignment?.role === 'primary' && course.converged.done
    return task !== null && told.backups === task && leads && isHeard
  }

  async #sweep(store: ObjectStore, { task, lineage, key, signal }: Sweeping): Promise<void> {
    const { config, world, notices } = this.#parts
    const cluster = backupFolderOf({ cluster: config.cluster, store: task.store })
    const owner = await ownerOf(store, cluster, { signal })
    // Nobody claimed the folder, or another cluster did. Nothing in such a folder is this cluster's.
    if (owner === null || whyNotOwner(owner, cluster, lineage) !== '') return
    const { stock: read, whyNot } = await readStock(store, cluster, { key, signal })
    if (whyNot !== '') return notices.add('BackupsKept', whyNot)
    const stock = { ...read, standing: this.#runs.seen(read, world.clock.monotonicMs()) }
    const nowMs = world.clock.wallMs()
    const remove = async (item: Item): Promise<readonly string[]> => {
      signal.throwIfAborted()
      const locked = await deleteInOrder(store, item.keys, { signal })
      this.#tell(item, locked)
      return locked
    }
    const planned = planRetention(stock, task.retention, nowMs)
    if ((await carryOut({ planned, stock }, remove, () => this.#mayDelete(task))) === null) return
    await store.dropUnfinished(prefixOf.cluster(cluster), unfinishedBeforeMs(stock.objects, nowMs), { signal })
  }

  #tell(item: Item, locked: readonly string[]): void {
    const { notices } = this.#parts
    if (locked.length > 0) return notices.add('BackupsKept', keptByLock(item, locked).why)
    const { keys, bytes, why } = item
    const what = say`${counted(keys.length, 'object')} with ${mebibytes(bytes)}`
    notices.add('BackupRemoved', say`${why}; ${what} are deleted from the store`)
  }

  #ended(trouble: string, pauseMs: number): void {
    const { world, notices } = this.#parts
    if (trouble !== '') learn(this.#parts, { fact: 'backupWorkFailed', work: 'retention' })
    if (trouble !== '' && trouble !== this.#trouble)
      notices.failed('BackupsNotRemoved', say`backups that need not stay could not be deleted`, new Error(trouble))
    this.#trouble = trouble
    this.#notBeforeMs = world.clock.monotonicMs() + pauseMs
  }
}
