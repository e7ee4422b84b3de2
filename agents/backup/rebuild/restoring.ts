import { codeOf, describeError, RegentError } from '#common/errors/errors.ts'
import { mebibytes, say, type Sentence } from '#common/sentence/sentence.ts'
import type { RestoreOrder } from '#failover/protocol/order.ts'
import type { Converger } from '#agents/converge/converger.ts'
import { learn } from '#agents/instance/learn.ts'
import type { Parts } from '#agents/instance/parts.ts'
import { answersWithin, firstStartSeconds } from '#agents/instance/until-answers.ts'
import type { BackupPort } from '#agents/ports/backup-port.ts'
import { withNote } from '#agents/ports/process.ts'
import { requireAccess } from '../access.ts'
import { planHere } from './plan-here.ts'
import { describeReached } from './reached.ts'
import { rebuilt, type RebuildTools } from './rebuild.ts'

/**
 * Puts a backup, with the archive behind the backup, in the place of an empty data folder, before the cluster has its
 * first primary. The data grow in a folder of their own. That folder takes the place of the empty folder once
 * everything was read, proven whole and replayed. After a death before that, nothing has happened, and the manager
 * orders the restore again.
 */
export class Restoring {
  readonly #parts: Parts
  readonly #converger: Pick<Converger, 'alone'>
  readonly #port: BackupPort | null
  readonly #stop = new AbortController()
  /** What was here when an earlier agent died, and is fetched again: no part of that was whole. */
  #againBytes = 0

  constructor(parts: Parts, converger: Pick<Converger, 'alone'>, port: BackupPort | null) {
    this.#parts = parts
    this.#converger = converger
    this.#port = port
  }

  /** Called at the start of the agent: an earlier agent may have died in the middle of a restore. */
  async takeUp(): Promise<void> {
    await this.#takeNote()
    const { file, volume } = this.#parts
    const { restored, promise, assignment, seeding } = file.current
    if (restored === undefined) this.#againBytes = await volume.halfCopyBytes()
    const mayBeOrdered = seeding || (restored === undefined && promise === 0 && assignment === null)
    if (!mayBeOrdered) await volume.giveUpHalfCopy()
  }

  /** The agent may have died when the data had their place, and before that was noted. */
  async #takeNote(): Promise<void> {
    const { file, volume } = this.#parts
    const restored = file.current.restored === undefined ? await volume.restoredFrom() : undefined
    if (restored !== undefined) await file.update({ restored })
  }

  /** Begins a restore; the observation shows the course. `checkOrder` has passed. Throws `REGENT_REFUSED`. */
  begin(order: RestoreOrder): void {
    const { copying, config } = this.#parts
    if (copying.progress !== null) return
    const port = requireAccess(this.#port, config.instance)
    this.#progress(say`looking for the backup`, 0)
    void this.#run(order, port).catch((error: unknown) => this.#failed(error))
  }

  stop(): void {
    this.#stop.abort(new Error('the agent is stopping'))
  }

  async #run(order: RestoreOrder, { open, throwAway }: BackupPort): Promise<void> {
    const { notices, changed, wake, volume, world } = this.#parts
    const opened = await open(order.store)
    try {
      const { plan, folder, half } = await planHere(this.#parts, order, opened)
      if (half.kept !== null) this.#againBytes = 0
      const tools: RebuildTools = {
        ...opened,
        ...{ throwAway, volume, world, half, own: false, spares: false, signal: this.#stop.signal },
        progress: (stage, percent) => this.#progress(stage, percent),
      }
      const what = describeReached(plan, await rebuilt(plan, folder, tools))
      await volume.noteRestored(folder, String(what))
      this.#progress(say`starting the server`, 100)
      // No pass may start a mysqld in between.
      await this.#converger.alone(async () => {
        await this.#requireNobody()
        await this.#startOn(folder)
      })
      await this.#takeNote()
      learn(this.#parts, { fact: 'copied' })
      notices.add('Restored', say`${what} is restored`)
      wake()
      changed()
    } finally {
      opened.store.close()
    }
  }

  /**
   * A fetch takes hours. A person may have had a cluster begun by force meanwhile, and writes are acknowledged here. No
   * assignment can come between this check and the swap.
   */
  async #requireNobody(): Promise<void> {
    const { file, server, config } = this.#parts
    const { promise, assignment } = file.current
    const { executed } = await server.readHolds()
    if (promise > 0 || assignment !== null || executed !== '')
      throw new RegentError(
        'REGENT_REFUSED',
        say`${config.instance} has got its place in the cluster, or data, while the backup was fetched: what was fetched is not used`,
      )
  }

  async #startOn(folder: string): Promise<void> {
    const { server, process, volume } = this.#parts
    server.disconnect()
    await process.kill()
    await volume.swapIn(folder)
    await process.start()
    await this.#untilAnswers()
    await server.forgetSource()
    await process.dropAccountsFile()
  }

  async #untilAnswers(): Promise<void> {
    if (await answersWithin(this.#parts, firstStartSeconds)) return
    const { process } = this.#parts
    throw new Error(
      process.state === 'dead'
        ? withNote('mysqld ended while it started on the restored data', process)
        : `mysqld did not answer on the restored data within ${firstStartSeconds} s`,
    )
  }

  #progress(stage: Sentence, percent: number): void {
    const { config, changed } = this.#parts
    const again =
      this.#againBytes === 0 ? '' : say`; ${mebibytes(this.#againBytes)} are fetched again, since the agent died`
    const told = say`${stage}${again}`
    learn(this.#parts, { fact: 'copyWent', stage: told, percent, donor: config.instance, movedAtMs: null })
    changed()
  }

  /** The failure has a name of its own: no donor has anything to do with a restore. */
  #failed(failure: unknown): void {
    const { config, world, notices, wake, changed } = this.#parts
    const error = describeError(failure).slice(0, 1_000)
    const isRefused = refusals.has(codeOf(failure) ?? '')
    const atMs = world.clock.monotonicMs()
    learn(this.#parts, { fact: 'copyFailed', whose: config.instance, error, isRefused, atMs })
    notices.failed('RestoreFailed', say`the restore failed`, failure)
    wake()
    changed()
  }
}

/** The restore needs another store, another key or another order first. */
const refusals: ReadonlySet<string> = new Set([
  'REGENT_REFUSED',
  'REGENT_BAD_REQUEST',
  'REGENT_BACKUP_UNUSABLE',
  'REGENT_NEWER_VERSION',
])
