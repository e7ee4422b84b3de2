import { dirname, join } from 'node:path'
import type { PartEnd } from '#common/files/part-end.ts'
import { lineOf, type KeepingPlace, type Kept, type KeptLine } from './kept.ts'
import type { WrittenFile } from './written-file.ts'

/** A file of the stream: its content begins at `at`. */
export interface FileInStream {
  readonly path: string
  readonly at: number
  readonly size: number
}

/** More than that besides files is no copy of a server. */
const longestHeld = 8_388_608

/**
 * Keeps a journal of a stream that becomes a folder: which bytes of the stream went into which file, and all bytes that
 * are in no file. With both, the next agent has the stream again up to the last part that the journal names, and proves
 * that by its sum. A part is named once all of it is synced: what the journal names is on the disk.
 */
export class Keeper {
  readonly #place: KeepingPlace
  readonly #kept: Kept | null
  /** Bytes of the stream that are in the folder already. */
  readonly keptBytes: number
  /** Parts that are whole, and not in the journal yet. */
  readonly #ends: PartEnd[] = []
  /** The stream from the end of the newest file on. */
  #held: Buffer[] = []
  #heldBytes = 0
  #seenBytes = 0
  #file: FileInStream | undefined
  /** Up to here the stream is in the journal, or in `#lines`. */
  #toldBytes: number
  #lines = ''
  readonly #touched = new Set<string>()
  #writing: Promise<void> = Promise.resolve()
  /** The journal is not there yet. */
  #isNew: boolean
  #isGivenUp = false

  /** @param head what the journal begins with where nothing is kept */
  constructor(place: KeepingPlace, head: KeptLine, kept: Kept | null) {
    this.#place = place
    this.#kept = kept
    this.keptBytes = kept?.end.bytes ?? 0
    this.#toldBytes = this.keptBytes
    this.#isNew = kept === null
    if (this.#isNew) this.#lines = lineOf(head)
    this.#touched.add(place.folder)
  }

  /** How much of a file is in the folder already; undefined where that file is yet to be made. */
  keptOf(path: string): number | undefined {
    return this.#kept?.files.get(path)
  }

  /** A part of the stream is whole. Called before a byte behind that part is seen. */
  ended(end: PartEnd): void {
    if (end.bytes > this.keptBytes) this.#ends.push(end)
  }

  /** The stream, as it goes by. */
  see(chunk: Buffer): void {
    const from = this.#seenBytes
    this.#seenBytes += chunk.length
    this.#hold(chunk.subarray(Math.max(0, this.#heldFrom - from)))
  }

  /** A file begins: all before is done. */
  async begins(file: FileInStream): Promise<void> {
    const { folder } = this.#place
    const end = this.#newestEnd(file.at)
    this.#tellFile(Infinity)
    if (end !== undefined) {
      this.#tellRest(end.bytes)
      await this.#keep(end)
    }
    this.#tellRest(file.at)
    this.#file = file
    this.#drop()
    if (file.size === 0 && this.keptOf(file.path) === undefined) this.#tell({ file: file.path, bytes: 0 })
    for (let at = dirname(join(folder, file.path)); at.length > folder.length; at = dirname(at)) this.#touched.add(at)
    this.#touched.add(folder)
  }

  /** Called before the byte at `offset` of the stream is written to the file. */
  async before(offset: number, file: WrittenFile): Promise<void> {
    const end = this.#newestEnd(offset)
    if (end === undefined) return
    this.#tellFile(end.bytes)
    await this.#keep(end, file)
  }

  /** Waits for what is being written to the journal. Rejects where that failed. */
  async rest(): Promise<void> {
    await this.#writing
  }

  get #heldFrom(): number {
    return this.#file === undefined ? 0 : this.#file.at + this.#file.size
  }

  #hold(bytes: Buffer): void {
    if (bytes.length === 0 || this.#isGivenUp) return
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    if (this.#heldBytes <= longestHeld) return
    this.#isGivenUp = true
    this.#held = []
  }

  /** What the new file has of what is held is the file's. */
  #drop(): void {
    const held = Buffer.concat(this.#held)
    const rest = held.subarray(Math.max(0, held.length - (this.#seenBytes - this.#heldFrom)))
    this.#held = this.#seenBytes > this.#heldFrom ? [rest] : []
    this.#heldBytes = this.#held.length === 0 ? 0 : rest.length
  }

  /** The last of the parts that end before that, or there. */
  #newestEnd(offset: number): PartEnd | undefined {
    let newest: PartEnd | undefined
    while (this.#ends[0] !== undefined && this.#ends[0].bytes <= offset) newest = this.#ends.shift()
    return this.#isGivenUp ? undefined : newest
  }

  #tellFile(upTo: number): void {
    if (this.#file === undefined) return
    const end = Math.min(upTo, this.#heldFrom)
    if (end <= this.#toldBytes) return
    this.#tell({ file: this.#file.path, bytes: end - this.#toldBytes })
    this.#toldBytes = end
  }

  /** What lies between two files. */
  #tellRest(upTo: number): void {
    if (upTo <= this.#toldBytes) return
    const from = this.#toldBytes - this.#heldFrom
    const bytes = Buffer.concat(this.#held).subarray(from, from + upTo - this.#toldBytes)
    this.#tell({ stream: bytes.toString('base64') })
    this.#toldBytes = upTo
  }

  #tell(line: KeptLine): void {
    if (!this.#isGivenUp) this.#lines += lineOf(line)
  }

  /** In the background: the next part comes meanwhile. */
  async #keep(end: PartEnd, file?: WrittenFile): Promise<void> {
    await this.#writing
    const lines = this.#lines + lineOf({ end })
    const folders = [...this.#touched].sort((one, other) => other.length - one.length)
    this.#lines = ''
    this.#touched.clear()
    this.#writing = this.#write({ lines, folders, file })
    this.#writing.catch(() => undefined)
  }

  async #write({
    lines,
    folders,
    file,
  }: {
    lines: string
    folders: readonly string[]
    file?: WrittenFile | undefined
  }) {
    const { disk, journal } = this.#place
    await file?.syncSoFar()
    for (const folder of folders) await disk.syncFolder(folder)
    await disk.append(journal, lines)
    if (this.#isNew) await disk.syncFolder(dirname(journal))
    this.#isNew = false
  }
}
