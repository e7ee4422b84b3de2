import { dataKeys } from '#backup/keys/data-key.ts'
import { manifestText, type Manifest } from '#backup/objects/manifest.ts'
import { keyOf } from '#backup/objects/object-key.ts'
import { rateAndRest } from '#backup/restore/rate.ts'
import { readParts } from '#backup/transfer/read-parts.ts'
import type { PartEnd } from '#common/files/part-end.ts'
import { sha256Of } from '#common/files/sha256.ts'
import type { World } from '#common/ports/ports.ts'
import { mebibytes, say, type Said } from '#common/sentence/sentence.ts'
import type { OpenedStore } from '#agents/ports/backup-port.ts'
import type { TellProgress } from '#agents/ports/server.ts'
import type { CopyName, HalfCopy, KeptCopy, VolumePort } from '#agents/ports/volume.ts'

/** What a fetch works with. */
export interface FetchTools extends OpenedStore {
  readonly volume: Pick<VolumePort, 'unpackInto' | 'freshSeedFolder'>
  /** What is there of the backup; null where nothing is kept of that. */
  readonly half: HalfCopy | null
  readonly world: Pick<World, 'clock' | 'timers'>
  /** The backup is of the cluster of this instance. */
  readonly own: boolean
  readonly signal: AbortSignal
  readonly progress: TellProgress
}

const tellEveryMs = 1_000

/** All that a restore rests upon is in the manifest, its key by name: a backup with one other byte is another one. */
export function copyNameOf(manifest: Manifest): CopyName {
  const { cluster, name } = manifest
  return { what: say`backup ${name} of cluster ${cluster}`, digest: sha256Of(Buffer.from(manifestText(manifest))) }
}

/**
 * Fills a folder with a base backup: whole, and synced to the disk. Goes on behind the last part that is there. Parts
 * stay there for the next one where the store fails, or where the agent is stopped; any other failure removes them.
 */
export async function fetchBase(manifest: Manifest, folder: string, tools: FetchTools): Promise<void> {
  const { half, volume, signal } = tools
  const kept = half?.kept ?? null
  const first = new Fetch(manifest, tools, half)
  const failure = await first.into(folder).then(
    () => null,
    (error: unknown) => ({ error }),
  )
  if (failure === null) return
  const isOther = kept !== null && !first.isProven && !signal.aborted
  if (half !== null && !first.mayBeGoneOnWith) await volume.freshSeedFolder()
  if (!isOther) throw failure.error
  const whyNot = say`what was there of that is not what had come`
  return fetchBase(manifest, folder, { ...tools, half: { kept: null, bytes: kept.end.bytes, whyNot } })
}

/** A single try of a fetch. */
class Fetch {
  /** What is kept is what had come. */
  isProven: boolean
  /** The store failed before the last byte, or the agent stops. */
  mayBeGoneOnWith = false
  readonly #manifest: Manifest
  readonly #tools: FetchTools
  readonly #kept: KeptCopy | null
  readonly #how: Said
  #bytes = 0
  #toldAtMs = -Infinity
  #provenAtMs: number

  constructor(manifest: Manifest, tools: FetchTools, half: HalfCopy | null) {
    this.#manifest = manifest
    this.#tools = tools
    this.#kept = half?.kept ?? null
    this.#how = half === null ? '' : describeHalf(half, manifest)
    this.isProven = this.#kept === null
    this.#provenAtMs = tools.world.clock.monotonicMs()
  }

  into(folder: string): Promise<void> {
    const { volume, own, half } = this.#tools
    const { cluster, name } = this.#manifest
    const copy = {
      name: half === null ? null : copyNameOf(this.#manifest),
      kept: this.#kept,
      read: (ended: (end: PartEnd) => void) => this.#read(ended),
    }
    return volume.unpackInto(folder, copy, own ? null : `${cluster}/${name}`)
  }

  async *#read(ended: (end: PartEnd) => void): AsyncGenerator<Buffer, void, void> {
    const { signal } = this.#tools
    try {
      for await (const chunk of this.#content(ended)) {
        signal.throwIfAborted()
        this.#seen(chunk.length)
        yield chunk
      }
    } catch (error) {
      this.mayBeGoneOnWith = signal.aborted || (this.isProven && this.#bytes < this.#manifest.rawBytes)
      throw error
    }
  }

  #content(ended: (end: PartEnd) => void): AsyncIterable<Buffer> {
    const { store, key, signal } = this.#tools
    const { cluster, name, encryption } = this.#manifest
    const opens = encryption === null ? undefined : key?.withId(encryption.keyId)
    const keys = opens && encryption && dataKeys(opens, Buffer.from(encryption.salt, 'hex'))
    return readParts(this.#manifest, {
      ...{ store, signal, kept: this.#kept },
      keyOf: (part) => keyOf({ kind: 'part', cluster, name, part }),
      key: keys?.encrypts ?? null,
      ended: (end) => {
        if (!this.isProven) this.#proven()
        ended(end)
      },
    })
  }

  #proven(): void {
    this.isProven = true
    this.#toldAtMs = -Infinity
    this.#provenAtMs = this.#tools.world.clock.monotonicMs()
  }

  #seen(bytes: number): void {
    this.#bytes += bytes
    const nowMs = this.#tools.world.clock.monotonicMs()
    if (nowMs - this.#toldAtMs < tellEveryMs) return
    this.#toldAtMs = nowMs
    this.#tell(nowMs)
  }

  #tell(nowMs: number): void {
    const { rawBytes } = this.#manifest
    const keptBytes = this.#kept?.end.bytes ?? 0
    const here = this.isProven
      ? say`${mebibytes(this.#bytes)} of ${mebibytes(rawBytes)} are here`
      : say`${mebibytes(this.#bytes)} of ${mebibytes(keptBytes)} that are here are read again`
    const course = { done: this.#bytes - keptBytes, all: rawBytes - keptBytes, ms: nowMs - this.#provenAtMs }
    const rate = this.isProven ? rateAndRest(course) : ''
    const percent = Math.floor((Math.max(this.#bytes, keptBytes) * 100) / Math.max(1, rawBytes))
    this.#tools.progress(say`${here}${rate}${this.#how}`, percent)
  }
}

function describeHalf(half: HalfCopy, { parts }: Manifest): Said {
  if (half.kept === null)
    return half.bytes === 0 ? '' : say`; ${mebibytes(half.bytes)} are fetched again: ${half.whyNot}`
  const { part, bytes } = half.kept.end
  return say`; goes on after part ${part} of ${parts.length}, ${mebibytes(bytes)} are here`
}
