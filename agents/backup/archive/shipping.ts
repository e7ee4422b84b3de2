import { keyOf } from '#backup/objects/object-key.ts'
import { openingText, type OpeningPlace } from '#backup/objects/opening.ts'
import { shippedOf, whyOtherHistory, type Shipped } from '#backup/archive/shipped.ts'
import { openingAsFound } from '#backup/transfer/stored-archive.ts'
import { RegentError } from '#common/errors/errors.ts'
import { counted, say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { abbreviated } from '#common/text/words.ts'
import type { BackupTask } from '#failover/protocol/backup-task.ts'
import { backupFolderOf } from '#failover/protocol/backup-store.ts'
import { GtidSet, parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { GtidMatcher } from '#agents/binlog/gtid-collector.ts'
import type { BinlogArchiveKnown } from '#agents/instance/known.ts'
import { learn } from '#agents/instance/learn.ts'
import type { Parts } from '#agents/instance/parts.ts'
import type { OpenedStore, StoresPort } from '#agents/ports/backup-port.ts'
import { claimFolder } from '../owner.ts'
import { epochOf, PieceSender, type Went } from './piece-sender.ts'
import type { PutPieces } from './put-pieces.ts'
import { readBelieved, tellDoubts } from './read-believed.ts'

/** The task, and the way to the store. */
interface Begun {
  readonly task: BackupTask
  readonly port: StoresPort
  readonly signal: AbortSignal
  readonly memory: ArchiveMemory
}

/** Knowledge of the archive that an agent keeps from one shipping to the next. */
export interface ArchiveMemory {
  /** Keys of objects that are not believed, and that were told of. */
  readonly doubted: Set<string>
  readonly put: PutPieces
}

/** The state that the shipping rests upon. */
interface Ground {
  readonly epoch: number
  readonly pid: number | null
  /**
   * The newest backup, whoever made it. An archive with a hole begins behind the newest backup. A copy of a replica
   * that lagged holds less than what was taken for shipped.
   */
  readonly backup: string
}

/**
 * The time between two reads of the archive while transactions lack: others may ship them, or a backup end the hole.
 */
const readAgainMs = 30_000

/** The shipping of a primary, in one epoch and from one mysqld. */
export class Shipping {
  readonly #parts: Parts
  readonly #begun: Begun
  readonly #opened: OpenedStore
  readonly #ground: Ground
  readonly #sender: PieceSender
  #readAtMs: number
  #copied: GtidSet
  #shipped: GtidSet
  #lacking = GtidSet.empty

  private constructor(parts: Parts, begun: Begun & Ground, opened: OpenedStore, { gtids, copied }: Shipped) {
    this.#parts = parts
    this.#begun = begun
    this.#opened = opened
    this.#ground = { epoch: begun.epoch, pid: begun.pid, backup: begun.backup }
    this.#copied = copied
    this.#shipped = gtids
    this.#readAtMs = parts.world.clock.monotonicMs()
    const { task, port, epoch, signal } = begun
    const folder = folderOf(parts, task)
    this.#sender = new PieceSender(parts, { folder, lineage: port.lineage, opened, epoch, signal })
  }

  /**
   * Opens this epoch of the archive, and reads how far the archive goes. The opening tells what this server had
   * executed at a moment of the epoch. The opening is in the store before any piece of the epoch.
   */
  static async begin(parts: Parts, begun: Begun): Promise<Shipping> {
    const { instance } = parts.config
    const cluster = folderOf(parts, begun.task)
    // The ground is noted before anything is waited for: an epoch that begins meanwhile has no opening yet.
    const ground = groundOf(parts)
    const { epoch } = ground
    const opened = await begun.port.open(begun.task.store)
    const { store } = opened
    try {
      const atMs = parts.world.clock.wallMs()
      await claimFolder(parts, store, { where: begun.task.store, cluster, lineage: begun.port.lineage })
      const { executed: gtids } = await parts.server.readHolds()
      const place = { cluster, epoch, key: opened.key?.strict ?? null }
      const opening = Buffer.from(openingText({ epoch, instance, atMs, gtids }, place))
      await store.putIfAbsent(keyOf({ kind: 'opening', cluster, epoch }), opening)
      const from = { opened, folder: cluster, lineage: begun.port.lineage }
      const { archive, believed, doubted } = await readBelieved(parts, from)
      const why = whyOtherHistory(archive, epoch, parseGtidSet(gtids))
      if (why !== '') throw new RegentError('REGENT_REFUSED', why, { remedy: '' })
      await seal(store, place, opening)
      tellDoubts(parts, store.address, doubted, begun.memory.doubted)
      const shipped = shippedOf(believed)
      if (shipped === null) throw new Error('the archive has no opening, which was put there a moment ago')
      begun.memory.put.begin(JSON.stringify([epoch, cluster, begun.task.store]))
      return new Shipping(parts, { ...begun, ...ground }, opened, withPut(parts, begun, store, shipped))
    } catch (error) {
      store.close()
      throw error
    }
  }

  /** Whether the ground of the shipping is as before. */
  isStill({ store }: BackupTask): boolean {
    const [now, { epoch, pid, backup }] = [groundOf(this.#parts), this.#ground]
    const isSame = now.epoch === epoch && now.pid === pid && now.backup === backup
    return isSame && JSON.stringify(store) === JSON.stringify(this.#begun.task.store)
  }

  /** Whether the store's listing shows what was put there. Most calls ask nothing, and say yes. */
  async isShown(): Promise<boolean> {
    const { memory } = this.#begun
    return !(await memory.put.isToBeRead(this.#opened.store, this.#parts.world.clock.monotonicMs()))
  }

  end(): void {
    this.#opened.store.close()
  }

  /** Ships all transactions that are executed. */
  async ship(): Promise<void> {
    const { server, world } = this.#parts
    const atMs = world.clock.monotonicMs()
    const executed = parseGtidSet((await server.readHolds()).executed)
    if (!this.#lacking.isEmpty() && atMs - this.#readAtMs >= readAgainMs) await this.#readAgain(atMs)
    let went: Went = 'on'
    while (went === 'on' && !this.#shipped.contains(executed)) went = await this.#shipSome(executed)
    if (went === 'waits') return
    if (went === 'through') this.#giveUp(executed)
    learn(this.#parts, { fact: 'binlogsShipped', archive: this.#reached(atMs) })
    this.#parts.changed()
  }

  /** Transactions that are not shown are in no restore: they do not count, and their binlogs are held. */
  #reached(atMs: number): BinlogArchiveKnown {
    const { put } = this.#begun.memory
    const { binlogArchive: before } = this.#parts.jobs
    return {
      atMs: put.isInVain ? (before?.atMs ?? null) : atMs,
      gtids: this.#shipped.subtract(this.#lacking).subtract(put.notShown).toString(),
      lacks: this.#lacking.toString(),
      hole: String(this.#hole()),
      trouble: put.isInVain ? String(whyInVain(this.#parts, this.#opened.store.address, put.notShown)) : '',
    }
  }

  #shipSome(executed: GtidSet): Promise<Went> {
    const [isExecuted, isShipped] = [new GtidMatcher(executed), new GtidMatcher(this.#shipped)]
    return this.#sender.send(
      {
        isExecuted: (transaction) => isExecuted.has(transaction),
        isShipped: (transaction) => isShipped.has(transaction),
        isDone: (before) => this.#shipped.union(this.#sender.purged).contains(before),
      },
      (gtids, key) => {
        this.#shipped = this.#shipped.union(gtids)
        this.#begun.memory.put.add(gtids, key)
      },
    )
  }

  async #readAgain(atMs: number): Promise<void> {
    this.#readAtMs = atMs
    const { task, port, memory } = this.#begun
    const from = { opened: this.#opened, folder: folderOf(this.#parts, task), lineage: port.lineage }
    const { believed, doubted } = await readBelieved(this.#parts, from)
    tellDoubts(this.#parts, this.#opened.store.address, doubted, memory.doubted)
    const found = shippedOf(believed)
    if (found === null) return
    this.#copied = found.copied
    this.#lacking = this.#lacking.subtract(found.gtids)
  }

  /** Transactions that no binlog here holds are not looked for any more. */
  #giveUp(executed: GtidSet): void {
    const lacking = executed.subtract(this.#shipped)
    this.#lacking = this.#lacking.union(lacking)
    this.#shipped = this.#shipped.union(lacking)
  }

  #hole(): Said {
    const gtids = this.#lacking.subtract(this.#copied)
    if (gtids.isEmpty()) return ''
    const { instance } = this.#parts.config
    const end = say`unless they are shipped out of another instance's, a restore ends before them until the next backup`
    return say`the archive lacks ${some(gtids)}, which no binlog of ${instance} holds: ${end}`
  }
}

/**
 * Adds transactions that this agent put into the store and the listing does not show. Transactions to be shipped anew
 * are left out.
 */
function withPut(
  parts: Pick<Parts, 'config' | 'notices' | 'world'>,
  { memory: { put } }: Begun,
  { address }: OpenedStore['store'],
  found: Shipped,
): Shipped {
  const { config, notices, world } = parts
  const wasInVain = put.isInVain
  const again = put.compare(found.gtids, world.clock.monotonicMs())
  const hidden = say`store ${text(address)} does not show ${some(again)} that ${config.instance} shipped`
  if (!again.isEmpty())
    notices.add(
      'ArchiveWentBack',
      say`${hidden}: put back to an earlier state, or late; shipped anew, as far as binlogs hold that`,
    )
  if (put.isInVain && !wasInVain) notices.add('BinlogsNotShown', whyInVain(parts, address, put.notShown))
  return { ...found, gtids: found.gtids.union(put.trusted) }
}

function whyInVain({ config: { instance } }: Pick<Parts, 'config'>, address: string, gtids: GtidSet): Sentence {
  const hidden = say`store ${text(address)} takes pieces and does not list ${some(gtids)}, shipped twice by ${instance}`
  return say`${hidden}: a restore ends before that. Look for a cache before the store`
}

function some(gtids: GtidSet): Sentence {
  return say`${counted(gtids.count(), 'transaction')} (${text(abbreviated(gtids.toString()))})`
}

/**
 * Makes an opening anew that was damaged, or is older than the key: a restore believes neither. The set that the
 * primary has executed by then leaves out the same transactions as the set at the beginning of the epoch.
 */
async function seal(store: OpenedStore['store'], place: OpeningPlace, opening: Buffer): Promise<void> {
  const { distrust = '' } = await openingAsFound(store, place)
  if (distrust !== '')
    await store.put(keyOf({ kind: 'opening', cluster: place.cluster, epoch: place.epoch }), once(opening))
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer, void, void> {
  yield bytes
}

/** The folder of this cluster in the store. */
export function folderOf({ config: { cluster } }: Pick<Parts, 'config'>, { store }: Pick<BackupTask, 'store'>): string {
  return backupFolderOf({ cluster, store })
}

function groundOf(parts: Pick<Parts, 'file' | 'jobs' | 'process'>): Ground {
  const { process, jobs } = parts
  return {
    epoch: epochOf(parts),
    pid: process.pid,
    backup:
      [jobs.backup?.stage === 'done' ? jobs.backup.name : '', jobs.backups?.newest?.name ?? ''].sort().at(-1) ?? '',
  }
}
