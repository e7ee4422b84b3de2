import { randomBytes } from 'node:crypto'
import { keyOf, prefixOf } from '#backup/objects/object-key.ts'
import { manifestText, parseManifest, signedText, type Manifest } from '#backup/objects/manifest.ts'
import { releaseOf } from '#backup/restore/server-fit.ts'
import { dataKeys, keyIdOf, saltBytes, signatureOf, type DataKeys } from '#backup/keys/data-key.ts'
import { whyNotRolledOn } from '#backup/archive/shipped.ts'
import { formatVersion, signedVersion } from '#backup/objects/stored-json.ts'
import { requireParts } from '#backup/transfer/require-parts.ts'
import { readArchive } from '#backup/transfer/stored-archive.ts'
import { readOutline } from '#backup/transfer/stored-manifests.ts'
import { textOf } from '#backup/transfer/text-of.ts'
import { writeParts, type WrittenParts } from '#backup/transfer/write-parts.ts'
import { described, describeError, RegentError } from '#common/errors/errors.ts'
import { mebibytes, type Said, say } from '#common/sentence/sentence.ts'
import { backupFolderOf } from '#failover/protocol/backup-store.ts'
import type { Word } from '#failover/protocol/word.ts'
import { isMissing } from '#object-store/missing-object.ts'
import { Throttle } from '#object-store/open/throttle.ts'
import { throttledStore } from '#object-store/open/throttled-store.ts'
import { describeBackup, shownGtids, type BackupSeen } from '#topology/snapshot/copies.ts'
import { learn } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { mayBeCopied } from '../lifecycle/copy/clone-files.ts'
import type { NoteWithoutCounts } from '../lifecycle/copy/pack-folder.ts'
import { streamCopy } from '../lifecycle/mysql/data-dump.ts'
import type { OpenedStore, StoresPort } from '../ports/backup-port.ts'
import { requireAccess } from './access.ts'
import { claimFolder } from './owner.ts'

type BackUpWord = Word<'backUp'>

/** The facts about a copy once all parts are in the store. */
interface Sent {
  readonly note: NoteWithoutCounts
  /** The time at which the copy was whole, and the epoch of that time. */
  readonly epoch: number
  readonly endedAtMs: number
  readonly written: WrittenParts
}

/** The encryption of one backup, drawn anew for each. Null where nothing is encrypted. */
type Sealing = { readonly keys: DataKeys; readonly keyId: string; readonly salt: Buffer } | null

/**
 * Makes base backups of this server, one at a time: CLONE on its own volume, streamed in parts to the store. The
 * manifest is written last, and only if absent: a run that did not end never looks as if it had.
 */
export class BackUp {
  readonly #parts: Parts
  readonly #port: StoresPort | null
  readonly #stop = new AbortController()

  constructor(parts: Parts, port: StoresPort | null) {
    this.#parts = parts
    this.#port = port
  }

  /** Begins a backup; the observation shows the course. Throws `REGENT_BUSY` and `REGENT_REFUSED`. */
  begin(said: BackUpWord): void {
    const { jobs, config } = this.#parts
    const present = jobs.backup
    if (present?.name === said.name) return
    if (present?.stage === 'copies' || present?.stage === 'sends')
      throw new RegentError('REGENT_BUSY', say`${config.instance} makes backup ${present.name} already`)
    const port = requireAccess(this.#port, config.instance)
    this.#tell(said, { stage: 'copies', startedAtMs: this.#parts.world.clock.wallMs() })
    // The run names the cluster as the store has it.
    const run = this.#run({ ...said, cluster: backupFolderOf(said) }, port)
    void run.catch((error: unknown) => this.#failed(said, error))
  }

  stop(): void {
    this.#stop.abort(new Error('the agent is stopping'))
  }

  async #run(said: BackUpWord, { open, lineage }: StoresPort): Promise<void> {
    const { clock } = this.#parts.world
    const startedAtMs = clock.wallMs()
    const opened = await open(said.store)
    try {
      await claimFolder(this.#parts, opened.store, { where: said.store, cluster: said.cluster, lineage })
      if (!(await claimName(said, opened, this.#parts.config.instance))) {
        const manifest = await this.#ownManifest(said, { store: opened.store, lineage })
        this.#ended(said, manifest, await whyNoFurther(manifest, opened.store))
        return
      }
      const sealing = sealingWith(opened.key?.first ?? null)
      const sent = await this.#send(said, opened, sealing)
      const times = inOrder(startedAtMs, sent, clock.wallMs())
      const unsigned = manifestOf(said, { ...sent, lineage, ...times }, sealing)
      const manifest = { ...unsigned, encryption: encryptionOf(unsigned, sealing) }
      const whyNotOn = await whyNoFurther(manifest, opened.store)
      // The last look, since the archive is long: a manifest beside parts that are gone would look whole.
      await this.#requireUsable(said, manifest, opened.store)
      await putManifest(manifest, opened)
      this.#ended(said, manifest, whyNotOn)
    } finally {
      opened.store.close()
    }
  }

  /**
   * The manifest of a name that is taken. A manager asks again an agent that was started again, and the run may have
   * ended well before. Throws where no such run of this instance did.
   */
  async #ownManifest(
    { cluster, name }: BackUpWord,
    { store, lineage }: { readonly store: OpenedStore['store']; readonly lineage: string },
  ): Promise<Manifest> {
    const found = await readOutline(store, cluster, name, { signal: this.#stop.signal }).catch((error: unknown) => {
      if (isMissing(error)) return undefined
      throw error
    })
    if (found?.instance === this.#parts.config.instance && found.lineage === lineage) return found
    throw new Error(`a backup named ${name} was begun before, and is left as it is`)
  }

  async #send(said: BackUpWord, { store }: OpenedStore, sealing: Sealing): Promise<Sent> {
    const { signal } = this.#stop
    let copied: Omit<Sent, 'written'> | undefined
    const purpose = {
      whom: say`backup ${said.name}`,
      takes: mayBeCopied,
      copied: async (note: NoteWithoutCounts) => {
        // Sending the copy takes hours, and another instance may lead by then.
        const epoch = this.#parts.file.current.assignment?.epoch ?? 0
        copied = { note, epoch, endedAtMs: await this.#copyEndedMs() }
      },
    }
    const copy = streamCopy(this.#parts, { deadlineMs: null, signal }, purpose)
    try {
      const written = await writeParts(copy.data, {
        store: this.#paced(said, store),
        keyOf: (part) => partKey(said, part),
        key: sealing?.keys.encrypts ?? null,
        signal,
        progress: (sent) => this.#tell(said, { stage: 'sends', ...sent }),
      })
      const end = await copy.ended
      if (!end.ok || copied === undefined) throw new Error(end.ok ? 'the copy said nothing of itself' : end.why)
      return { ...copied, written }
    } catch (error) {
      copy.kill(describeError(error))
      const end = await copy.ended
      await this.#removeParts(said, store)
      throw end.ok ? error : new Error(end.why, { cause: error })
    }
  }

  /** Another server's clock gave the times of the commits in the copy. That clock may be ahead of the clock here. */
  async #copyEndedMs(): Promise<number> {
    const { observer, world } = this.#parts
    // The first look may have begun before the copy was whole.
    await observer.refresh()
    const { channel, group } = await observer.refresh()
    return Math.max(world.clock.wallMs(), channel?.appliedUpToMs ?? 0, group?.appliedUpToMs ?? 0)
  }

  /** A backup counts once it has a manifest. A backup that nobody could restore gets none. */
  async #requireUsable(said: BackUpWord, manifest: Manifest, store: OpenedStore['store']): Promise<void> {
    try {
      parseManifest(manifestText(manifest), said)
      await requireParts(manifest, store, { signal: this.#stop.signal })
    } catch (error) {
      await this.#removeParts(said, store)
      throw error
    }
  }

  /** Only the parts are slowed down: the archive of the same store must not fall behind for a backup. */
  #paced({ store: { bytesPerSecond } }: BackUpWord, store: OpenedStore['store']): OpenedStore['store'] {
    return bytesPerSecond === undefined ? store : throttledStore(store, new Throttle(bytesPerSecond, this.#parts.world))
  }

  /** Parts that cannot be removed are found later as leftovers: no manifest names those parts. */
  async #removeParts(said: BackUpWord, store: OpenedStore['store']): Promise<void> {
    const keys: string[] = []
    try {
      for await (const { key } of store.list(prefixOf.backup(said.cluster, said.name))) keys.push(key)
      await store.delete(keys)
    } catch (error) {
      this.#parts.notices.failed('BackupFailed', say`parts of backup ${said.name} could not be removed`, error)
    }
  }

  #tell({ name }: BackUpWord, state: Partial<BackupSeen> & Pick<BackupSeen, 'stage'>): void {
    const before = this.#parts.jobs.backup?.name === name ? this.#parts.jobs.backup : nothingSent
    const backup = { ...before, ...state, name }
    learn(this.#parts, { fact: 'backupWent', backup })
    const sentence = String(describeBackup(backup))
    this.#parts.runs.add({ kind: 'backup', name, stage: backup.stage, sentence })
    this.#parts.changed()
  }

  #ended(said: BackUpWord, { rawBytes, storedBytes, gtids, startedAtMs, storedAtMs }: Manifest, whyNotOn: Said): void {
    const sentence = String(whyNotOn)
    const times = { startedAtMs, tookMs: storedAtMs - startedAtMs }
    this.#tell(said, { stage: 'done', rawBytes, storedBytes, gtids: shownGtids(gtids), sentence, ...times })
    const made = say`backup ${said.name} is made: ${mebibytes(rawBytes)} of data, ${mebibytes(storedBytes)} in the store`
    this.#parts.notices.add('BackupMade', whyNotOn === '' ? made : say`${made}; ${whyNotOn}`)
  }

  #failed(said: BackUpWord, error: unknown): void {
    learn(this.#parts, { fact: 'backupWorkFailed', work: 'backup' })
    this.#tell(said, { stage: 'failed', sentence: describeError(error) })
    this.#parts.notices.failed('BackupFailed', say`backup ${said.name} failed`, error)
  }
}

/**
 * A backup that the archive does not go on behind is good for its own moment. A sentence says so; the backup has not
 * failed.
 */
async function whyNoFurther(manifest: Manifest, store: OpenedStore['store']): Promise<Said> {
  try {
    return whyNotRolledOn(manifest, await readArchive(store, manifest.cluster, 'sender'))
  } catch (error) {
    return say`whether the archive goes on behind the backup is not known: ${described(error)}`
  }
}

const nothingSent = { rawBytes: 0, storedBytes: 0, sentence: '' }

function partKey({ cluster, name }: BackUpWord, part: number): string {
  return keyOf({ kind: 'part', cluster, name, part })
}

/** Whether the name is this run's alone. Two runs of one name would write over each other's parts. */
async function claimName({ cluster, name }: BackUpWord, { store }: OpenedStore, instance: string): Promise<boolean> {
  const text = `${JSON.stringify({ formatVersion: 1, instance })}\n`
  return store.putIfAbsent(keyOf({ kind: 'begun', cluster, name }), Buffer.from(text))
}

function sealingWith(key: Buffer | null): Sealing {
  const salt = randomBytes(saltBytes)
  return key && { keys: dataKeys(key, salt), keyId: keyIdOf(key), salt }
}

/** A clock that was set back meanwhile must not give an end before the beginning. */
function inOrder(startedAtMs: number, sent: Pick<Sent, 'endedAtMs'>, storedMs: number) {
  const endedAtMs = Math.max(startedAtMs, sent.endedAtMs)
  return { startedAtMs, endedAtMs, storedAtMs: Math.max(endedAtMs, storedMs) }
}

function manifestOf(
  { cluster, name }: BackUpWord,
  { note, written, ...rest }: Sent & Pick<Manifest, 'lineage' | 'startedAtMs' | 'storedAtMs'>,
  sealing: Sealing,
): Omit<Manifest, 'encryption'> {
  return {
    formatVersion: sealing === null ? formatVersion : signedVersion,
    cluster,
    name,
    ...rest,
    instance: note.instance,
    serverUuid: note.serverUuid,
    mysqlVersion: releaseOf(note.mysql),
    gtids: note.atLeast,
    gtidsAtMost: note.atMost,
    ...written,
    compression: 'zstd',
  }
}

function encryptionOf(manifest: Omit<Manifest, 'encryption'>, sealing: Sealing): Manifest['encryption'] {
  if (sealing === null) return null
  const { keys, keyId, salt } = sealing
  const signature = signatureOf(signedText(manifest), keys)
  return { scheme: 'aes-256-gcm', keyId, salt: salt.toString('hex'), signature }
}

/** A manifest whose answer was lost, or that a repeated request finds in the store, is this one where both agree. */
async function putManifest(manifest: Manifest, { store }: OpenedStore): Promise<void> {
  const { cluster, name } = manifest
  const [key, text] = [keyOf({ kind: 'manifest', cluster, name }), manifestText(manifest)]
  const isThere = async (): Promise<boolean> => (await textOf(store, key)) === text
  try {
    if ((await store.putIfAbsent(key, Buffer.from(text))) || (await isThere())) return
  } catch (error) {
    if (await isThere().catch(() => false)) return
    throw error
  }
  throw new Error(`a backup named ${name} exists already, and is left as it is`)
}
