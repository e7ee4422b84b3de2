import { keyOf } from '#backup/keys.ts'
import { openingText } from '#backup/opening.ts'
import { gtidsOf } from '#backup/piece-name.ts'
import { shippedOf, whyOtherHistory, type Shipped } from '#backup/shipping.ts'
import { pieceObject } from '#backup/transfer/piece-object.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import { RegentError } from '#common/errors/errors.ts'
import { counted, say, text, type Said } from '#common/sentence/sentence.ts'
import { abbreviated } from '#common/text/words.ts'
import type { BackupTask } from '#failover/protocol/backup-settings.ts'
import { backupFolderOf } from '#failover/protocol/backup-store.ts'
import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { memberId } from '#topology/snapshot/member.ts'
import { GtidMatcher } from '../binlog/gtid-collector.ts'
import { learn } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import type { OpenedStore, StoresPort } from '../ports/backup-port.ts'
import { claimFolder } from './owner.ts'
import { PieceCutter, type CutPiece, type CutPlace } from './piece-cutter.ts'

/** For whom, and where to. */
interface Begun {
  readonly task: BackupTask
  readonly port: StoresPort
  readonly signal: AbortSignal
}

/** What the shipping rests upon. */
interface Ground {
  readonly epoch: number
  readonly pid: number | null
  /** The backup that was made here last: where the archive has a hole, it begins behind that one. */
  readonly backup: string | undefined
}

/** A binlog file, and how far that is cut. */
interface Place extends CutPlace {
  readonly file: string
}

/** `waits`: for a transaction that is not executed yet. `through`: there is no more in the binlogs. */
type Went = 'on' | 'waits' | 'through'

/** One primary's shipping, in one epoch and from one mysqld. */
export class Shipping {
  readonly #parts: Parts
  readonly #begun: Begun
  readonly #opened: OpenedStore
  readonly #ground: Ground
  readonly #copied: GtidSet
  #shipped: GtidSet
  #lacking = GtidSet.empty
  #place: Place | null = null

  private constructor(parts: Parts, begun: Begun & Ground, opened: OpenedStore, { gtids, copied }: Shipped) {
    this.#parts = parts
    this.#begun = begun
    this.#opened = opened
    this.#ground = { epoch: begun.epoch, pid: begun.pid, backup: begun.backup }
    this.#copied = copied
    this.#shipped = gtids
  }

  /**
   * Opens this epoch of the archive, and reads how far the archive goes. What this server had executed at a moment of
   * the epoch stands there before any piece of the epoch.
   */
  static async begin(parts: Parts, begun: Begun): Promise<Shipping> {
    const { instance } = parts.config
    const cluster = folderOf(parts, begun.task)
    // Noted before anything is waited for: an epoch that begins meanwhile has no opening yet.
    const ground = groundOf(parts)
    const { epoch } = ground
    const opened = await begun.port.open(begun.task.store)
    const { store } = opened
    try {
      const atMs = parts.world.clock.wallMs()
      await claimFolder(store, { cluster, lineage: begun.port.lineage, claimedAtMs: atMs })
      const { executed: gtids } = await parts.server.readHolds()
      const opening = openingText({ epoch, instance, atMs, gtids })
      await store.putIfAbsent(keyOf({ kind: 'opening', cluster, epoch }), Buffer.from(opening))
      const archive = await readArchive(store, cluster, 'sender')
      const why = whyOtherHistory(archive, epoch, parseGtidSet(gtids))
      if (why !== '') throw new RegentError('REGENT_REFUSED', why, { remedy: '' })
      const shipped = shippedOf(archive)
      if (shipped === null) throw new Error('the archive has no opening, which was put there a moment ago')
      return new Shipping(parts, { ...begun, ...ground }, opened, shipped)
    } catch (error) {
      store.close()
      throw error
    }
  }

  /** Whether nothing has changed that the shipping rests upon. */
  isStill({ store }: BackupTask): boolean {
    const [now, { epoch, pid, backup }] = [groundOf(this.#parts), this.#ground]
    const isSame = now.epoch === epoch && now.pid === pid && now.backup === backup
    return isSame && JSON.stringify(store) === JSON.stringify(this.#begun.task.store)
  }

  end(): void {
    this.#opened.store.close()
  }

  /** Ships all that is executed now. */
  async ship(): Promise<void> {
    const { server, world } = this.#parts
    const atMs = world.clock.monotonicMs()
    const executed = parseGtidSet((await server.readHolds()).executed)
    let went: Went = 'on'
    while (went === 'on' && !this.#shipped.contains(executed)) went = await this.#shipSome(executed)
    if (went === 'waits') return
    if (went === 'through') this.#giveUp(executed)
    const archive = { atMs, gtids: this.#shipped.toString(), hole: String(this.#hole()), trouble: '' }
    learn(this.#parts, { fact: 'binlogsShipped', archive })
    this.#parts.changed()
  }

  /** The next pieces of one file. */
  async #shipSome(executed: GtidSet): Promise<Went> {
    const place = this.#place ?? (await this.#firstPlace())
    const [isExecuted, isShipped] = [new GtidMatcher(executed), new GtidMatcher(this.#shipped)]
    const { volume, file, config } = this.#parts
    const cutter = new PieceCutter(
      {
        epoch: this.#ground.epoch,
        sender: memberId(config.instance, file.current.volume),
        file: place.file,
        isExecuted: (transaction) => isExecuted.has(transaction),
        isShipped: (transaction) => isShipped.has(transaction),
      },
      place,
    )
    let isAtEnd = true
    await volume.visitBinlog(
      place.file,
      place.offset,
      (transaction) => (isAtEnd = cutter.add(transaction)),
      this.#begun.signal,
    )
    const { pieces, place: next } = cutter.finish()
    for (const piece of pieces) await this.#put(piece)
    this.#place = { file: place.file, ...next }
    if (pieces.length > 0) return 'on'
    return isAtEnd ? this.#nextFile(place.file) : 'waits'
  }

  async #put({ piece, end }: CutPiece): Promise<void> {
    const { volume } = this.#parts
    const { signal, task } = this.#begun
    if (epochOf(this.#parts) !== this.#ground.epoch) throw new Error('another instance leads meanwhile')
    const range = { name: piece.file, offset: piece.offset, end }
    const content = await volume.readBinlog(range)
    const key = keyOf({ kind: 'piece', cluster: folderOf(this.#parts, task), piece })
    await this.#opened.store.put(key, pieceObject(content, this.#opened.key), {
      signal,
      expectedBytes: content.rawBytes,
    })
    this.#shipped = this.#shipped.union(gtidsOf(piece))
  }

  /** The newest file before which nothing is that is to be shipped; else the oldest. */
  async #firstPlace(): Promise<Place> {
    const files = await this.#parts.volume.listBinlogs()
    for (const { name } of files.toReversed()) {
      const before = await this.#before(name)
      if (this.#shipped.union(this.#purged()).contains(before) || name === files[0]?.name)
        return { file: name, offset: 0, preceding: before.count() }
    }
    throw new Error('the server has no binlog')
  }

  async #nextFile(file: string): Promise<Went> {
    const files = await this.#parts.volume.listBinlogs()
    const next = files[files.findIndex(({ name }) => name === file) + 1]
    if (next === undefined) return 'through'
    this.#place = { file: next.name, offset: 0, preceding: (await this.#before(next.name)).count() }
    return 'on'
  }

  /** All that had been executed before this file began: what was copied, or purged, is in no file. */
  async #before(file: string): Promise<GtidSet> {
    const previous = await this.#parts.volume.previousGtids(file)
    if (previous === null) throw new Error(`${file} cannot be read, as an encrypted binlog cannot`)
    return parseGtidSet(previous).union(this.#purged())
  }

  #purged(): GtidSet {
    return parseGtidSet(this.#parts.observer.server?.purged ?? '')
  }

  /** What no binlog here holds is not looked for any more. */
  #giveUp(executed: GtidSet): void {
    const lacking = executed.subtract(this.#shipped)
    this.#lacking = this.#lacking.union(lacking)
    this.#shipped = this.#shipped.union(lacking)
  }

  #hole(): Said {
    const gtids = this.#lacking.subtract(this.#copied)
    if (gtids.isEmpty()) return ''
    return say`the archive lacks ${counted(gtids.count(), 'transaction')} (${text(abbreviated(gtids.toString()))}), which no binlog of ${this.#parts.config.instance} holds: until the next backup a restore ends before them`
  }
}

/** Of this cluster in the store. */
function folderOf({ config: { cluster } }: Parts, { store }: BackupTask): string {
  return backupFolderOf({ cluster, store })
}

function epochOf({ file }: Parts): number {
  const { assignment } = file.current
  return assignment?.role === 'primary' ? assignment.epoch : -1
}

function groundOf(parts: Parts): Ground {
  const { process, jobs } = parts
  return {
    epoch: epochOf(parts),
    pid: process.pid,
    backup: jobs.backup?.stage === 'done' ? jobs.backup.name : undefined,
  }
}
