import { counted, say, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import { backupAsDonor } from '#topology/snapshot/copies.ts'
import type { ReseedOrder } from '#failover/protocol/order.ts'
import { seedFromBackup, type Seed } from '../backup/rebuild/seed-from-backup.ts'
import { pruneArchives } from '../guard/archive-keeping.ts'
import type { Converger } from '../converge/converger.ts'
import { vanishedDonorMs } from '#failover/protocol/timings.ts'
import { learn } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { answersWithin, firstStartSeconds } from '../instance/until-answers.ts'
import { dataInNoDoubt } from '../instance/stored-state.ts'
import type { BackupPort } from '../ports/backup-port.ts'
import { withNote } from '../ports/process.ts'
import { replicationUser, type CloneDonor, type TellProgress } from '../ports/server.ts'
import { swapUnproven } from '../doubts/unproven-copy.ts'

/** An older manager does not name it: it takes for errant what came from the source after that was looked at, too. */
function errantIn({ errant, destroys, sourceHolds }: ReseedOrder): GtidSet {
  return errant === undefined ? parseGtidSet(destroys).subtract(parseGtidSet(sourceHolds)) : parseGtidSet(errant)
}

/** What is proven to be errant is called so. The rest may have come from the source, after that was looked at. */
function whatIsArchived(order: ReseedOrder, extra: GtidSet): Sentence {
  const errant = errantIn(order).intersect(extra)
  const [proven, rest] = [errant.count(), extra.subtract(errant).count()]
  const unproven = say`${counted(rest, 'transaction')} that ${order.source.instance} was not seen to hold`
  if (rest === 0) return say`${counted(proven, 'errant transaction')}`
  return proven === 0 ? unproven : say`${counted(proven, 'errant transaction')} and ${unproven}`
}

/** By whose name progress and failures are told. */
function sourceOf({ donor, backup }: ReseedOrder): string {
  return backup === undefined ? donor.instance : backupAsDonor
}

/** What kept the instance that is seeded from running its own mysqld: no donor's fault. */
class OwnServerFault extends Error {}

/** Its own mysqld answers within this, where that was up a moment ago. */
const startSeconds = 30

/** Characters of an error that is reported with each observation. */
const longestError = 300

/**
 * Replaces everything here by a copy of another instance, or by a backup of the cluster (docs/why/safety.md, "Nothing
 * is destroyed on a guess"): archive what is errant, store the mark "holds nothing", clone or restore into a fresh
 * folder, stop mysqld, swap the folders, start. A copy that dies half-way must not be believed: on a far host, where
 * CLONE writes over the data themselves, the mark and the server's own word see to that. A member that the sync set
 * cannot spare stores no such mark: it holds what it held, and acknowledges nothing, until the copy is proven
 * (`unproven-copy.ts`).
 */
export class Seeding {
  readonly #parts: Parts
  readonly #converger: Pick<Converger, 'alone' | 'wake'>
  readonly #backups: BackupPort | null
  readonly #stop = new AbortController()
  /** Ends the copy of an instance that is being made. */
  #giveUp: AbortController | null = null
  /** The folders of what was archived for the copy that is being made, however often that began. */
  readonly #archived: string[] = []
  /** Resolves once nothing is removed any more of what a copy took the place of. */
  #removed: Promise<void> = Promise.resolve()

  constructor(parts: Parts, converger: Pick<Converger, 'alone' | 'wake'>, backups: BackupPort | null = null) {
    this.#parts = parts
    this.#converger = converger
    this.#backups = backups
  }

  stop(): void {
    this.#stop.abort(new Error('the agent is stopping'))
  }

  /**
   * Resolves once what is errant is archived and the mark is on disk; the copy goes on in the background. `checkOrder`
   * has passed.
   */
  async begin(order: ReseedOrder): Promise<void> {
    const { file, copying, server } = this.#parts
    if (copying.progress !== null) return this.#leaveDonor(order)
    await this.#ready().catch((error: unknown) => {
      this.#noteFailure(order, error)
      throw error
    })
    // To copy another one the agent lets itself write here: it follows, and is closed, again when it is made to.
    learn(this.#parts, { fact: 'unmade', stage: 'following' })
    await server.stopReceiver()
    // A seeding that begins again archived before; what is here now may be half a copy.
    const own = file.current.seeding ? null : (await this.#holds()).union(parseGtidSet(order.destroys))
    if (own) await this.#archive(order, own.subtract(parseGtidSet(order.sourceHolds)))
    await file.update({ seeding: order.beside !== true, revision: order.revision })
    const besideEpoch = order.beside === true ? order.epoch : null
    learn(this.#parts, { fact: 'copyBegan', sourceHolds: order.sourceHolds, besideEpoch })
    this.#progress(order, say`copying`, 0)
    void this.#copy(order, own).catch((error: unknown) => {
      this.#noteFailure(order, error)
      this.#converger.wake()
      this.#parts.changed()
    })
  }

  /**
   * Another donor is named while a copy is made: the manager does not hear the agent of the first donor any more. A
   * copy that goes on, slow as that may be, is left alone.
   */
  #leaveDonor(order: ReseedOrder): void {
    const { copying, world } = this.#parts
    const { donor = '', movedAtMs = null } = copying.progress ?? {}
    if (movedAtMs === null || donor === sourceOf(order)) return
    const stillMs = world.clock.monotonicMs() - movedAtMs
    if (stillMs < vanishedDonorMs) return
    const seconds = Math.round(stillMs / 1_000)
    this.#giveUp?.abort(new Error(`nothing came from ${donor} for ${seconds} s, and nobody hears its agent`))
  }

  async #archive(order: ReseedOrder, extra: GtidSet): Promise<void> {
    if (extra.isEmpty()) return
    const { volume, notices } = this.#parts
    const folders = await volume.archiveErrant(extra.toString())
    notices.add('ErrantArchived', say`${whatIsArchived(order, extra)} archived in ${folders.join(', ')}`)
    this.#archived.push(...folders)
  }

  /** All that is here now, which is more than was seen when the order was given. */
  async #holds(): Promise<GtidSet> {
    const { executed, owned, received } = await this.#parts.server.readHolds()
    return unionOf([executed, owned, received])
  }

  /** CLONE is a statement: a server whose own data is given up still has to run to fetch the copy. */
  async #ready(): Promise<void> {
    const { process } = this.#parts
    await this.#started(startSeconds, async () => {
      if (process.state === 'running') return
      if (await process.isEmpty()) await process.initialise()
      await process.start()
    })
  }

  /** Starts its own mysqld and waits until that answers, for so long. Throws `OwnServerFault`. */
  async #started(seconds: number, start: () => Promise<void>): Promise<void> {
    const { process } = this.#parts
    await start().catch((error: unknown) => {
      throw new OwnServerFault(`its own mysqld did not start: ${describeError(error)}`, { cause: error })
    })
    if (await answersWithin(this.#parts, seconds)) return
    throw new OwnServerFault(
      process.state === 'dead'
        ? withNote('its own mysqld ended while it started', process)
        : `its own mysqld did not answer within ${seconds} s`,
    )
  }

  /** @param own what was here when the copy began, and is archived; null when nobody knows any more */
  async #copy(order: ReseedOrder, own: GtidSet | null): Promise<void> {
    const { volume, notices } = this.#parts
    const isOver = volume.readyForCopyOver !== undefined
    const from = await (isOver ? this.#copyOver(order, own) : this.#copyBeside(order, own))
    learn(this.#parts, { fact: 'copied' })
    notices.add('Seeded', say`this instance was seeded from ${from}`)
    this.#converger.wake()
    // Nothing else is new of a server that waits to be admitted.
    this.#parts.changed()
    if (order.beside === true) this.#removed = this.#removeBeside()
    await pruneArchives(this.#parts, this.#archived.splice(0))
  }

  async #removeBeside(): Promise<void> {
    const { volume, notices } = this.#parts
    await volume
      .dropBeside()
      .catch((error: unknown) => notices.failed('CopyRemoved', say`what a copy replaced could not be removed`, error))
  }

  async #copyBeside(order: ReseedOrder, own: GtidSet | null): Promise<Said> {
    const { volume } = this.#parts
    const { folder, from } = await this.#filled(order)
    this.#progress(order, say`swapping`, 100)
    await this.#archiveSince(order, own)
    if (order.beside === true) {
      await this.#removed
      await this.#converger.alone(() =>
        swapUnproven(this.#parts, order, () => this.#startOn(() => volume.swapBeside(folder))),
      )
    } else {
      await this.#startOn(() => volume.swapIn(folder))
      await this.#believe(order, own)
    }
    return from
  }

  /** A copy that dies half-way is not believed here either: the mark stays, and the server says what it has. */
  async #copyOver(order: ReseedOrder, own: GtidSet | null): Promise<Said> {
    const { volume, server } = this.#parts
    if (order.beside === true || order.backup !== undefined)
      throw new RegentError('REGENT_FAR_CANNOT', say`on this host a copy of an instance is made over the data, or none`)
    await this.#archiveSince(order, own)
    await volume.readyForCopyOver?.()
    const begunAt = await this.#clone(order, (donor, told, signal) => server.cloneOver(donor, told, signal))
    this.#progress(order, say`starting`, 100)
    await this.#startOn(() => Promise.resolve())
    await server.requireCopied(begunAt)
    await this.#believe(order, own)
    return say`${order.donor.instance}`
  }

  /** What came since `own` was archived. */
  async #archiveSince(order: ReseedOrder, own: GtidSet | null): Promise<void> {
    if (own === null) return
    await this.#archive(order, (await this.#holds()).subtract(own).subtract(parseGtidSet(order.sourceHolds)))
  }

  /** A folder with a copy. */
  async #filled(order: ReseedOrder): Promise<Seed> {
    if (order.backup === undefined) {
      const { server, volume } = this.#parts
      const folder = await volume.freshSeedFolder()
      await this.#clone(order, (donor, told, signal) => server.cloneInto(folder, donor, told, signal))
      return { folder, from: say`${order.donor.instance}` }
    }
    return seedFromBackup(
      this.#parts,
      this.#backups,
      { ...order.backup, errant: order.errant ?? '' },
      { signal: this.#stop.signal, progress: (stage, percent) => this.#progress(order, stage, percent) },
    )
  }

  async #clone<T>(
    order: ReseedOrder,
    clone: (donor: CloneDonor, told: TellProgress, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { server, process, config, replicationPassword } = this.#parts
    const donor = {
      host: order.donor.host,
      port: order.donor.port,
      user: replicationUser(config.instance),
      password: replicationPassword,
    }
    learn(this.#parts, { fact: 'openedByAgent' })
    await server.setReadOnly('accounts')
    const giveUp = (this.#giveUp = new AbortController())
    this.#progress(order, say`copying`, 0, 0)
    const told: TellProgress = (stage, percent, stillMs = 0) => this.#progress(order, stage, percent, stillMs)
    return clone(donor, told, giveUp.signal)
      .catch((error: unknown) => {
        // The statement runs in its own server: where that ended no donor did anything wrong.
        throw process.state === 'running'
          ? error
          : new OwnServerFault(withNote('its own mysqld ended while it copied', process), { cause: error })
      })
      .finally(() => (this.#giveUp = null))
  }

  async #believe(order: ReseedOrder, own: GtidSet | null): Promise<void> {
    await this.#verify(order, own)
    await this.#parts.file.update({
      ...dataInNoDoubt,
      copiedEpoch: order.epoch,
      seeding: false,
      forgetful: false,
      mayHaveTail: false,
      unsettled: false,
    })
  }

  /** @param swap puts the copy in place of what mysqld ran on */
  async #startOn(swap: () => Promise<void>): Promise<void> {
    const { server, process } = this.#parts
    server.disconnect()
    await process.kill()
    await swap()
    await this.#started(firstStartSeconds, () => process.start())
    await server.forgetSource()
  }

  /** The copy must not hold what was errant here: it is a copy of the cluster, not of this instance. */
  async #verify(order: ReseedOrder, own: GtidSet | null): Promise<void> {
    const executed = parseGtidSet((await this.#parts.server.readHolds()).executed)
    // When a seeding begins again nobody knows what was: it may have followed since the source was looked at.
    const left = own === null ? GtidSet.empty : executed.intersect(errantIn(order))
    if (!left.isEmpty())
      throw new Error(
        `the copy from ${sourceOf(order)} holds errant transactions itself: ${left.toString().slice(0, 120)}`,
      )
    if (executed.equals(GtidSet.empty) && !parseGtidSet(order.sourceHolds).isEmpty())
      throw new Error(`the copy from ${sourceOf(order)} is empty`)
  }

  /**
   * Reported, so that the manager tries another donor, or the same donor later. What its own server failed at is
   * reported under its own name: no donor would do better.
   */
  #noteFailure(order: ReseedOrder, failure: unknown): void {
    const { notices, world, config } = this.#parts
    const source = sourceOf(order)
    const error = describeError(failure)
    const whose = failure instanceof OwnServerFault ? config.instance : source
    const [told, atMs] = [error.slice(0, longestError), world.clock.monotonicMs()]
    learn(this.#parts, { fact: 'copyFailed', whose, error: told, atMs })
    notices.failed('SeedingFailed', say`seeding from ${source} failed`, failure)
  }

  /** @param stillMs nothing has come for so long; null where nothing is to come */
  #progress(order: ReseedOrder, stage: Sentence, percent: number, stillMs: number | null = null): void {
    const { copying, changed, world } = this.#parts
    const before = copying.progress
    const movedAtMs = stillMs === null ? null : world.clock.monotonicMs() - stillMs
    learn(this.#parts, { fact: 'copyWent', stage, percent, donor: sourceOf(order), movedAtMs })
    if (before === null || String(before.stage) !== String(stage) || before.percent !== percent) changed()
  }
}
