import { prefixOf } from '#backup/objects/object-key.ts'
import type { Encryption } from '#backup/objects/manifest.ts'
import { whyNotOwner } from '#backup/objects/owner.ts'
import { refusesPlain } from '#backup/keys/plain.ts'
import { whyNotOpened } from '#backup/restore/restore-plan.ts'
import { runsIn, type Run } from '#backup/objects/runs.ts'
import { isOfContent } from '#backup/objects/stored-json.ts'
import { shownProof } from '#backup/objects/verification.ts'
import type { KeyRing } from '#backup/keys/key-ring.ts'
import { readManifest, readVerification } from '#backup/transfer/stored-manifests.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Watch } from '#common/watch/watch.ts'
import { backupFolderOf } from '#failover/protocol/backup-store.ts'
import { isMissing } from '#object-store/missing-object.ts'
import type { ObjectStore, StoredObject } from '#object-store/object-store.ts'
import { shownGtids, type BackupsSeen } from '#topology/snapshot/copies.ts'
import type { StoreSeen } from '../instance/known.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import type { StoresPort } from '../ports/backup-port.ts'
import { withinDeadline } from './deadline.ts'
import { ownerOf } from '#backup/transfer/stored-owner.ts'
import { requireStillThere } from './owner.ts'

/**
 * The time between two looks at a store that answers. At a store that does not answer the time doubles, up to the
 * longest pause.
 */
const everyMs = 60_000
const longestPauseMs = 300_000
/** A store that has said nothing for so long does not answer. */
const deadlineMs = 60_000

type Found = Omit<StoreSeen, 'answers' | 'lookedAtMs'>

/** The owner of the backups, and the keys. */
interface Look {
  readonly lineage: string
  readonly key: KeyRing | null
  readonly signal: AbortSignal
}

/** The newest backup, with its encryption: other keys may be at hand at the next look. */
interface ReadNewest {
  readonly seen: NonNullable<BackupsSeen['newest']>
  readonly encryption: Encryption | null
}

const nothing: Found = { whole: 0, leftovers: 0, begun: null, newest: null, verified: null, sentence: '' }

type StoreWatchParts = Learner & Pick<Parts, 'changed' | 'config' | 'file' | 'notices' | 'world'>

/**
 * Looks at the store of backups while this instance is primary: what is whole there, what was verified, and what was
 * begun last. The manager decides by that when a backup is due, and people see that in the topology. The looks are
 * beside all passes: a store that hangs or fails is a sentence.
 */
export class StoreWatch implements Watch {
  readonly name = 'the store of backups'
  readonly #parts: StoreWatchParts
  readonly #port: StoresPort | null
  #lastAtMs = -Infinity
  #failures = 0
  /** The backup of this instance as it was at the last look. */
  #ownBackup = ''
  /** A manifest is never changed: the newest manifest of this store is read once. */
  #newest: { readonly store: string; readonly read: ReadNewest } | null = null

  constructor(parts: StoreWatchParts, port: StoresPort | null) {
    this.#parts = parts
    this.#port = port
  }

  while(): boolean {
    const { file, told } = this.#parts
    return this.#port !== null && told.backups !== null && file.current.assignment?.role === 'primary'
  }

  isDue(): boolean {
    const { jobs, world } = this.#parts
    if (jobs.backups === null || this.#ownBackup !== ownBackupOf(jobs.backup)) return true
    const pauseMs = Math.min(longestPauseMs, everyMs * 2 ** Math.max(0, this.#failures - 1))
    return world.clock.monotonicMs() - this.#lastAtMs >= pauseMs
  }

  async look(): Promise<void> {
    const { told, jobs, world } = this.#parts
    const task = told.backups
    if (task === null || this.#port === null) return
    this.#lastAtMs = world.clock.monotonicMs()
    this.#ownBackup = ownBackupOf(jobs.backup)
    const { open, lineage } = this.#port
    const look = async (signal: AbortSignal): Promise<void> => {
      const { store, key } = await open(task.store)
      try {
        const found = await this.#lookInto(store, { lineage, key, signal })
        if (!signal.aborted && told.backups === task) this.#saw(found)
      } finally {
        store.close()
      }
    }
    await withinDeadline(world.timers, { deadlineMs, whose: 'the store of backups' }, look, (error) =>
      told.backups === task ? this.#missed(error) : undefined,
    )
  }

  async #lookInto(store: ObjectStore, how: Look): Promise<Found> {
    const { lineage, signal } = how
    const cluster = this.#folder()
    const objects: Pick<StoredObject, 'key'>[] = []
    for await (const { key } of store.list(prefixOf.backups(cluster), { signal })) objects.push({ key })
    if (objects.length > 0) await this.#requireOwn(store, lineage, signal)
    else await this.#requireStillThere(store, lineage, signal)
    const runs = runsIn(objects)
    const whole = runs.filter(({ isWhole }) => isWhole)
    const last = runs.at(-1)
    return {
      ...nothing,
      whole: whole.length,
      leftovers: runs.length - whole.length,
      begun: last === undefined ? null : { name: last.name, whole: last.isWhole },
      ...(await this.#newestOf(store, whole, how)),
    }
  }

  /** The folder of this cluster in the store. */
  #folder(): string {
    const { told, config } = this.#parts
    return told.backups === null
      ? config.cluster
      : backupFolderOf({ cluster: config.cluster, store: told.backups.store })
  }

  /** The backups of another cluster of that name do not count here. */
  async #requireOwn(store: ObjectStore, lineage: string, signal: AbortSignal): Promise<void> {
    const cluster = this.#folder()
    const why = whyNotOwner(await ownerOf(store, cluster, { signal }), cluster, lineage)
    if (why !== '') throw new RegentError('REGENT_REFUSED', why, { remedy: '' })
  }

  /** An empty store may be a disk that is not mounted. */
  async #requireStillThere(store: ObjectStore, lineage: string, signal: AbortSignal): Promise<void> {
    const where = this.#parts.told.backups?.store
    if (where === undefined) return
    await requireStillThere(this.#parts, store, { where, cluster: this.#folder(), lineage }, { signal })
  }

  /**
   * A backup that cannot be used is passed over, and a sentence says so: a newer Regent wrote the backup, or somebody
   * without the key did.
   */
  async #newestOf(
    store: ObjectStore,
    whole: readonly Run[],
    how: Look,
  ): Promise<Pick<Found, 'newest' | 'verified' | 'sentence'>> {
    const unreadable: string[] = []
    const passingOver = async <T>(read: () => Promise<T>): Promise<T | null> => {
      try {
        return await read()
      } catch (error) {
        if (!isPassedOver(error)) throw error
        unreadable.push(describeError(error))
        return null
      }
    }
    const newestFirst = whole.toReversed()
    const newest = await firstOf(newestFirst, ({ name }) => passingOver(() => this.#newestWith(store, name, how)))
    const proven = newestFirst.filter(({ isVerified }) => isVerified)
    const verified = await firstOf(proven, ({ name }) => passingOver(() => this.#verification(store, name, how)))
    return { newest, verified, sentence: unreadable.slice(0, 3).join('; ') }
  }

  async #newestWith(store: ObjectStore, name: string, { key, signal }: Look): Promise<ReadNewest['seen']> {
    const { seen, encryption } = await this.#manifest(store, name, signal)
    const keys = { keyIds: key?.ids ?? [], refusesPlain: refusesPlain(key) }
    const refused = String(whyNotOpened({ name, encryption }, keys))
    return refused === '' ? seen : { ...seen, refused }
  }

  async #manifest(store: ObjectStore, name: string, signal: AbortSignal): Promise<ReadNewest> {
    const known = this.#newest
    if (known?.store === store.address && known.read.seen.name === name) return known.read
    const manifest = await readManifest(store, this.#folder(), name, { signal })
    const { endedAtMs, rawBytes, storedBytes, startedAtMs, storedAtMs, gtids, encryption } = manifest
    const seen = {
      name,
      endedAtMs,
      rawBytes,
      storedBytes,
      startedAtMs,
      tookMs: Math.max(0, storedAtMs - startedAtMs),
      gtids: shownGtids(gtids),
    }
    const read = { seen, encryption }
    this.#newest = { store: store.address, read }
    return read
  }

  async #verification(store: ObjectStore, name: string, { signal, ...how }: Look) {
    const place = { ...how, cluster: this.#folder(), name }
    return { name, ...shownProof(await readVerification(store, place, { signal })) }
  }

  #saw(found: Found): void {
    const { jobs, notices, world, changed } = this.#parts
    if (jobs.backups?.answers === false) notices.add('BackupStoreBack', say`the store of backups answers again`)
    this.#failures = 0
    learn(this.#parts, {
      fact: 'backupsSeen',
      seen: { ...found, answers: true, lookedAtMs: world.clock.monotonicMs() },
    })
    changed()
  }

  /** The last sight of the store is kept, and grows old. */
  #missed(error: unknown): void {
    const { jobs, notices, changed } = this.#parts
    const before = jobs.backups ?? { ...nothing, lookedAtMs: null }
    if (this.#failures === 0) notices.failed('BackupStoreUnseen', say`the store of backups cannot be looked at`, error)
    this.#failures += 1
    const sentence = describeError(error).slice(0, 1_000)
    learn(this.#parts, { fact: 'backupsSeen', seen: { ...before, answers: false, sentence } })
    changed()
  }
}

/** An object is wrong, or was deleted meanwhile; the store itself answers. */
function isPassedOver(error: unknown): boolean {
  return isOfContent(error) || isMissing(error)
}

async function firstOf<T, U>(all: readonly T[], read: (one: T) => Promise<U | null>): Promise<U | null> {
  for (const one of all) {
    const found = await read(one)
    if (found !== null) return found
  }
  return null
}

function ownBackupOf(backup: Parts['jobs']['backup']): string {
  return backup === null || backup.stage === 'copies' || backup.stage === 'sends'
    ? ''
    : `${backup.name} ${backup.stage}`
}
