import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { extract, type Extract } from 'tar-stream'
import { realCopyDisk, type CopyDisk } from './copy-disk.ts'
import { copyNoteName, longestCopyNote, parseCopyNote, type CopyNote } from './copy-note.ts'
import { entryOf, type Entry } from './entry.ts'
import type { FileInStream, Keeper } from './keeper.ts'
import { TarEnd } from './tar-end.ts'
import { WrittenFile } from './written-file.ts'
import { roomyHeap } from '#common/process/roomy-heap.ts'
import { counted } from '#common/text/words.ts'

/** What came out of a stream. */
export interface Unpacked {
  readonly files: number
  readonly bytes: number
  /** Undefined where somebody else than Regent made the stream. */
  readonly note: CopyNote | undefined
}

/** What of a stream is not taken. */
export type LeftOut = (entry: Entry & { readonly bytes: number }) => boolean

/** Files and folders of these names at the top. */
export function named(names: ReadonlySet<string>): LeftOut {
  return ({ path }) => names.has(path.split('/')[0] ?? '')
}

/** A block of a tar: as long is the header before the content of an entry. */
const blockBytes = 512

export interface UnpackTools {
  readonly disk?: CopyDisk
  /** Goes by, and keeps a journal of what is unpacked. What it has kept is in the folder, and is not written again. */
  readonly keeper?: Keeper | undefined
}

/**
 * Fills an empty folder from a tar stream and syncs all of it to the disk. Rejects with a sentence for everything that
 * `entryOf` refuses, for a stream that ends too early, and where its note counts other files or bytes. What `leftOut`
 * names is passed over.
 */
export async function unpack(
  source: AsyncIterable<Buffer>,
  folder: string,
  leftOut: LeftOut,
  { disk = realCopyDisk, keeper }: UnpackTools = {},
): Promise<Unpacked> {
  using _room = roomyHeap()
  const tape = extract()
  let complaint: unknown
  tape.on('error', (error: Error) => (complaint = new Error(`the stream is no whole tar: ${error.message}`)))
  const closed = new Promise((resolve) => tape.on('close', () => resolve(undefined)))
  const feeding = feed(keeper === undefined ? source : seen(source, keeper), tape)
  const unpacking = new Unpacking(folder, leftOut, { disk, keeper })
  try {
    for await (const each of tape) await unpacking.take(each as TapeEntry)
  } catch (error) {
    tape.destroy(null)
    await closed
    // What the entries show of a stream that broke off is not why.
    throw feeding.failure ?? complaint ?? error
  }
  const unpacked = unpacking.end()
  await syncFolders(folder, disk)
  return unpacked
}

async function* seen(source: AsyncIterable<Buffer>, keeper: Keeper): AsyncGenerator<Buffer, void, void> {
  for await (const chunk of source) {
    keeper.see(chunk)
    yield chunk
  }
}

/** An entry of `extract`, as far as it is used here. */
type TapeEntry = Parameters<Unpacking['take']>[0]

/** Hands everything over, as fast as the entries are taken. What goes wrong ends the tape, and is kept. */
function feed(source: AsyncIterable<Buffer>, tape: Extract): { failure: unknown } {
  const feeding: { failure: unknown } = { failure: undefined }
  void handOver(source, tape).catch((error: unknown) => {
    feeding.failure = error
    tape.destroy(error as Error)
  })
  return feeding
}

async function handOver(source: AsyncIterable<Buffer>, tape: Extract): Promise<void> {
  const end = new TarEnd()
  for await (const chunk of source) {
    if (tape.destroyed) return
    end.see(chunk)
    if (!tape.write(chunk)) await drained(tape)
  }
  end.require()
  tape.end(null)
}

function drained(tape: Extract): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      tape.off('drain', go).off('close', go)
      resolve()
    }
    tape.on('drain', go).on('close', go)
    if (tape.destroyed) go()
  })
}

class Unpacking {
  readonly #folder: string
  readonly #leftOut: LeftOut
  readonly #disk: CopyDisk
  readonly #keeper: Keeper | undefined
  #files = 0
  #bytes = 0
  #note: CopyNote | undefined

  constructor(folder: string, leftOut: LeftOut, { disk, keeper }: UnpackTools & { readonly disk: CopyDisk }) {
    this.#folder = folder
    this.#leftOut = leftOut
    this.#disk = disk
    this.#keeper = keeper
  }

  async take(
    entry: AsyncIterable<Buffer> & { header: Parameters<typeof entryOf>[0] & { size: number }; offset: number },
  ): Promise<void> {
    const { header, offset } = entry
    const { kind, path } = entryOf(header)
    // `tar-stream` never ends such an entry.
    if (kind === 'directory' && header.size > 0)
      throw new Error(`${path} in the stream is a folder with ${header.size} bytes`)
    if (this.#note !== undefined) throw new Error(`the stream goes on after ${copyNoteName}, its last file`)
    if (path === copyNoteName) return this.#takeNote(entry, header.size)
    const isLeftOut = this.#leftOut({ kind, path, bytes: header.size })
    if (kind === 'directory') {
      if (!isLeftOut) await this.#disk.makeFolder(join(this.#folder, path))
      // An entry that is not read holds up the next.
      for await (const chunk of entry) throw new Error(`${path} has ${chunk.length} bytes more than it says`)
      return
    }
    this.#files += 1
    const file = { path, at: offset + blockBytes, size: header.size }
    await this.#takeFile(entry, file.at, isLeftOut ? undefined : await this.#open(file))
  }

  /** The stream has ended. */
  end(): Unpacked {
    const [files, bytes, note] = [this.#files, this.#bytes, this.#note]
    if (note !== undefined && (note.files !== files || note.bytes !== bytes))
      throw new Error(
        `${counted(files, 'file')} with ${counted(bytes, 'byte')} came, where ${counted(note.files, 'file')} with ${counted(note.bytes, 'byte')} had been sent`,
      )
    return { files, bytes, note }
  }

  /**
   * @param at where in the stream the content begins
   * @param to where the content goes; undefined for nowhere
   */
  async #takeFile(entry: AsyncIterable<Buffer>, at: number, to: WrittenFile | undefined): Promise<void> {
    const keptBytes = this.#keeper?.keptBytes ?? 0
    let offset = at
    try {
      for await (const chunk of entry) {
        this.#bytes += chunk.length
        if (to !== undefined && offset >= keptBytes) {
          await this.#keeper?.before(offset, to)
          await to.write(chunk)
        }
        offset += chunk.length
      }
      await to?.sync()
    } finally {
      await to?.close()
    }
  }

  async #takeNote(entry: AsyncIterable<Buffer>, size: number): Promise<void> {
    if (size > longestCopyNote) throw new Error(`${copyNoteName} has ${size} bytes, which is longer than any note`)
    this.#note = parseCopyNote(await text(entry))
  }

  /** Undefined for a file that is there as a whole. */
  async #open(file: FileInStream): Promise<WrittenFile | undefined> {
    await this.#keeper?.begins(file)
    const kept = this.#keeper?.keptOf(file.path)
    const to = join(this.#folder, file.path)
    if (kept !== undefined) return kept === file.size ? undefined : new WrittenFile(await this.#disk.goOn(to))
    await this.#disk.makeFolder(dirname(to))
    return new WrittenFile(await this.#disk.create(to))
  }
}

async function syncFolders(folder: string, disk: CopyDisk): Promise<void> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const folders = found.filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name))
  for (const each of [...folders.toReversed(), folder]) await disk.syncFolder(each)
}
