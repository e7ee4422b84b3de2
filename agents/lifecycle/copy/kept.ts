import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { PartEnd } from '#common/files/part-end.ts'
import { exactly, integer, matching, objectOf, text } from '#common/input/shapes.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { say, type Said } from '#common/sentence/sentence.ts'
import type { CopyDisk } from './copy-disk.ts'

/** Where a copy grows, and its journal. */
export interface KeepingPlace {
  readonly folder: string
  readonly journal: string
  readonly disk: CopyDisk
}

/** Which copy that is: in words, and by a sum that another one does not have. */
export interface CopyOf {
  readonly what: Said
  readonly digest: string
}

/** What a journal holds: its head, pieces of the stream in their order, and the parts that were whole behind those. */
export type KeptLine =
  | { readonly version: 1; readonly of: string }
  /** In no file. Base64. */
  | { readonly stream: string }
  /** The next bytes of the stream are the next ones of this file. */
  | { readonly file: string; readonly bytes: number }
  | { readonly end: PartEnd }

/** What of a copy is in its folder, as the journal says. */
export interface Kept {
  readonly end: PartEnd
  /** Bytes of each file. The last one may have more to come. */
  readonly files: ReadonlyMap<string, number>
  readonly lastFile: string
  /** Length of the journal, up to the line that names the part. */
  readonly journalBytes: number
}

const journalVersion = 1
const amount = integer(0, Number.MAX_SAFE_INTEGER)
const shapes = {
  stream: objectOf({ stream: text(0, 16_777_216) }),
  file: objectOf({ file: text(1, 8_192), bytes: amount }),
  end: objectOf({
    end: objectOf({ part: integer(1, 999_999), bytes: amount, sha256: matching('^[0-9a-f]{64}$') }),
  }),
} as const
const headShape = objectOf({ version: exactly(journalVersion), of: matching('^[0-9a-f]{64}$') })
const chunkBytes = 262_144

export const headOf = ({ digest }: CopyOf): KeptLine => ({ version: journalVersion, of: digest })

export function lineOf(line: KeptLine): string {
  return `${JSON.stringify(line)}\n`
}

/** The lines of a journal, up to the first that is none: its writer did not end that, or the line was damaged. */
async function* linesOf(
  journal: string,
): AsyncGenerator<{ readonly line: object; readonly bytes: number }, void, void> {
  const input = createReadStream(journal)
  let left = (await stat(journal)).size
  try {
    for await (const text of createInterface({ input })) {
      const [line, bytes] = [parsed(text), Buffer.byteLength(text) + 1]
      if (line === undefined || (left -= bytes) < 0) return
      yield { line, bytes }
    }
  } finally {
    input.destroy()
  }
}

function parsed(text: string): object | undefined {
  try {
    const line: unknown = JSON.parse(text)
    return typeof line === 'object' && line !== null ? line : undefined
  } catch {
    return undefined
  }
}

function isLine<Kind extends keyof typeof shapes>(
  kind: Kind,
  line: object,
): line is Extract<KeptLine, Record<Kind, unknown>> {
  return kind in line && complaintAbout(shapes[kind], line) === undefined
}

/** What is kept of this copy in the folder beside a journal, or why nothing of that can be used. */
export async function readKept({ folder, journal }: KeepingPlace, of: CopyOf): Promise<Kept | Said> {
  const reading = new Reading()
  let isHead = true
  for await (const { line, bytes } of linesOf(journal)) {
    const why = isHead ? whyOtherHead(line, of) : ''
    if (why !== '') return why
    reading.bytes += bytes
    if (!isHead && !reading.take(line)) break
    isHead = false
  }
  const { kept } = reading
  if (kept === undefined) return say`no part of that was whole`
  return (await whyOtherFiles(folder, kept)) || kept
}

function whyOtherHead(line: object, { what, digest }: CopyOf): Said {
  if (complaintAbout(headShape, line) !== undefined) return say`the journal there is of another version of Regent`
  return 'of' in line && line.of === digest ? '' : say`the bytes there are not of ${what} as the store has that`
}

class Reading {
  bytes = 0
  kept: Kept | undefined
  readonly #files = new Map<string, number>()
  /** Since the last part that was whole. */
  readonly #since: Extract<KeptLine, { file: string }>[] = []
  #lastFile = ''

  /** Gives false for a line that is none. */
  take(line: object): boolean {
    if (isLine('file', line)) this.#since.push(line)
    else if (isLine('end', line)) this.#end(line.end)
    else return isLine('stream', line)
    return true
  }

  #end(end: PartEnd): void {
    for (const { file, bytes } of this.#since.splice(0)) {
      this.#files.set(file, (this.#files.get(file) ?? 0) + bytes)
      this.#lastFile = file
    }
    this.kept = { end, files: this.#files, lastFile: this.#lastFile, journalBytes: this.bytes }
  }
}

async function whyOtherFiles(folder: string, { files, lastFile }: Kept): Promise<Said> {
  for (const [path, bytes] of files) {
    const size = await stat(join(folder, path)).then(
      (found) => (found.isFile() ? found.size : -1),
      () => -1,
    )
    if (size === bytes || (path === lastFile && size > bytes)) continue
    return size === -1
      ? say`file ${path} of that is not there`
      : say`file ${path} of that has ${size} bytes, and ${bytes} were written`
  }
  return ''
}

/** Takes away what the journal does not name: nobody knows whether that is on the disk as a whole. */
export async function cutToKept({ folder, journal, disk }: KeepingPlace, kept: Kept): Promise<void> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const entry of found) {
    const path = join(entry.parentPath, entry.name)
    const name = path.slice(folder.length + 1)
    if (!entry.isDirectory() && !kept.files.has(name)) await disk.remove(path)
    else if (name === kept.lastFile) await disk.cut(path, kept.files.get(name) ?? 0)
  }
  await disk.cut(journal, kept.journalBytes)
}

/** The stream, up to the last part that is kept: out of the journal and the files. */
export async function* readKeptStream({ folder, journal }: KeepingPlace, { files, journalBytes }: Kept) {
  const taken = new Map<string, number>()
  let at = 0
  for await (const { line, bytes } of linesOf(journal)) {
    if ((at += bytes) > journalBytes) return
    if (isLine('stream', line)) yield Buffer.from(line.stream, 'base64')
    if (!isLine('file', line) || line.bytes === 0 || !files.has(line.file)) continue
    const start = taken.get(line.file) ?? 0
    taken.set(line.file, start + line.bytes)
    const range = { start, end: start + line.bytes - 1, highWaterMark: chunkBytes }
    for await (const chunk of createReadStream(join(folder, line.file), range)) yield chunk as Buffer
  }
}
