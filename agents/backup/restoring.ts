import { keyOf } from '#backup/keys.ts'
import { signedText, type Manifest } from '#backup/manifest.ts'
import { dataKeys, isSignedBy, keyIdOf } from '#backup/stream/data-key.ts'
import { readParts } from '#backup/transfer/read-parts.ts'
import { backupsOf, readManifest } from '#backup/transfer/stored-manifests.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { mebibytes } from '#common/text/words.ts'
import type { RestoreOrder } from '#failover/protocol/order.ts'
import type { Converger } from '../converge/converger.ts'
import { learn } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { answersWithin } from '../instance/until-answers.ts'
import type { BackupPort, OpenedStore } from '../ports/backup-port.ts'

/** What a restore needs on the volume, as a multiple of the data: the folder, and what its server writes at once. */
const needed = 1.1

/**
 * Puts a backup in the place of an empty data folder, before the cluster has its first primary. What comes grows in a
 * folder of its own, and takes the place of the empty one when all of that was read and proven whole: whatever dies
 * before, nothing has happened, and the manager orders it again.
 */
export class Restoring {
  readonly #parts: Parts
  readonly #converger: Pick<Converger, 'alone'>
  readonly #port: BackupPort | null
  readonly #stop = new AbortController()

  constructor(parts: Parts, converger: Pick<Converger, 'alone'>, port: BackupPort | null) {
    this.#parts = parts
    this.#converger = converger
    this.#port = port
  }

  /** An agent may have died when the data had their place, and before that was noted. */
  async takeNote(): Promise<void> {
    const { file, volume } = this.#parts
    const restored = file.current.restored === undefined ? await volume.restoredFrom() : undefined
    if (restored !== undefined) await file.update({ restored })
  }

  /** How it goes shows in the observation. `checkOrder` has passed. Throws `REGENT_REFUSED`. */
  begin(order: RestoreOrder): void {
    const { copying, config } = this.#parts
    if (copying.progress !== null) return
    if (this.#port === null)
      throw new RegentError('REGENT_REFUSED', `${config.instance} has no access to stores of backups`)
    this.#progress('looking for the backup', 0)
    void this.#run(order, this.#port).catch((error: unknown) => this.#failed(error))
  }

  stop(): void {
    this.#stop.abort(new Error('the agent is stopping'))
  }

  async #run(order: RestoreOrder, { open }: BackupPort): Promise<void> {
    const { notices, changed, wake } = this.#parts
    const opened = await open(order.store)
    try {
      const manifest = await manifestOf(order, opened)
      await this.#requireRoom(manifest)
      const folder = await this.#fetch(manifest, opened)
      this.#progress('starting the server', 100)
      // No pass may start a mysqld between.
      await this.#converger.alone(async () => {
        await this.#requireNobody()
        await this.#startOn(folder)
      })
      await this.takeNote()
      learn(this.#parts, { fact: 'copied' })
      notices.add('Restored', say`backup ${manifest.name} of cluster ${manifest.cluster} is restored`)
      wake()
      changed()
    } finally {
      opened.store.close()
    }
  }

  /**
   * A fetch takes hours: a person may have had a cluster begun by force meanwhile, and writes are acknowledged here. No
   * assignment can come between this and the swap.
   */
  async #requireNobody(): Promise<void> {
    const { file, server, config } = this.#parts
    const { promise, assignment } = file.current
    const { executed } = await server.readHolds()
    if (promise > 0 || assignment !== null || executed !== '')
      throw new RegentError(
        'REGENT_REFUSED',
        `${config.instance} has got its place in the cluster, or data, while the backup was fetched: what was fetched is not used`,
      )
  }

  async #requireRoom({ rawBytes, name }: Manifest): Promise<void> {
    const freeBytes = await this.#parts.observer.freeBytesNow()
    const neededBytes = Math.ceil(rawBytes * needed) + this.#parts.config.lowSpaceBytes
    if (freeBytes < neededBytes)
      throw new RegentError(
        'REGENT_REFUSED',
        `backup ${name} needs ${mebibytes(neededBytes)} on the volume, and ${mebibytes(freeBytes)} are free`,
      )
  }

  /** Gives the folder that holds the whole backup, synced to the disk. */
  async #fetch(manifest: Manifest, { store, key }: OpenedStore): Promise<string> {
    const { volume } = this.#parts
    const { cluster, name, encryption, rawBytes } = manifest
    const keys = encryption && key && dataKeys(key, Buffer.from(encryption.salt, 'hex'))
    const content = readParts(manifest, {
      store,
      keyOf: (part) => keyOf({ kind: 'part', cluster, name, part }),
      key: keys ? keys.encrypts : null,
      signal: this.#stop.signal,
    })
    const folder = await volume.freshSeedFolder()
    await volume.unpackInto(
      folder,
      this.#watched(content, (bytes) => {
        const percent = Math.floor((bytes * 100) / Math.max(1, rawBytes))
        this.#progress(`${mebibytes(bytes)} of ${mebibytes(rawBytes)} are here`, percent)
      }),
      `${cluster}/${name}`,
    )
    return folder
  }

  async *#watched(content: AsyncIterable<Buffer>, seen: (bytes: number) => void): AsyncGenerator<Buffer, void, void> {
    const { clock } = this.#parts.world
    let [bytes, toldAtMs] = [0, -Infinity]
    for await (const chunk of content) {
      bytes += chunk.length
      if (clock.monotonicMs() - toldAtMs >= 1_000) {
        toldAtMs = clock.monotonicMs()
        seen(bytes)
      }
      yield chunk
    }
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
    if (await answersWithin(this.#parts, 60)) return
    const { process } = this.#parts
    throw new Error(
      process.state === 'dead'
        ? `mysqld ended while it started on the restored data${process.note === '' ? '' : `: ${process.note}`}`
        : 'mysqld did not answer on the restored data within 60 s',
    )
  }

  #progress(stage: string, percent: number): void {
    const { config, changed } = this.#parts
    learn(this.#parts, { fact: 'copyWent', stage, percent, donor: config.instance })
    changed()
  }

  /** Under its own name: no donor has anything to do with that. */
  #failed(failure: unknown): void {
    const { config, world, notices, wake, changed } = this.#parts
    const error = describeError(failure).slice(0, 300)
    learn(this.#parts, { fact: 'copyFailed', whose: config.instance, error, atMs: world.clock.monotonicMs() })
    notices.failed('RestoreFailed', say`the restore failed`, failure)
    wake()
    changed()
  }
}

/** Throws `REGENT_NOT_FOUND` and `REGENT_REFUSED`: nothing is fetched of a backup that cannot be read to its end. */
async function manifestOf({ of, backup }: RestoreOrder, { store, key }: OpenedStore): Promise<Manifest> {
  const name = backup ?? (await backupsOf(store, of)).at(-1)
  if (name === undefined) throw new RegentError('REGENT_NOT_FOUND', `${store.address} has no backup of a cluster ${of}`)
  const manifest = await readManifest(store, of, name)
  requireKey(manifest, key)
  return manifest
}

function requireKey(manifest: Manifest, key: Buffer | null): void {
  const { name, encryption } = manifest
  if (encryption === null) return
  if (key === null)
    throw new RegentError(
      'REGENT_REFUSED',
      `backup ${name} is encrypted with key ${encryption.keyId}: name the file of that key`,
    )
  if (keyIdOf(key) !== encryption.keyId)
    throw new RegentError(
      'REGENT_REFUSED',
      `backup ${name} is encrypted with key ${encryption.keyId}, and the file holds key ${keyIdOf(key)}`,
    )
  const keys = dataKeys(key, Buffer.from(encryption.salt, 'hex'))
  if (!isSignedBy(encryption.signature, signedText(manifest), keys))
    throw new RegentError('REGENT_REFUSED', `the manifest of backup ${name} was changed after that was written`)
}
