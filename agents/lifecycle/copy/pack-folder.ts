import { createReadStream } from 'node:fs'
import { lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pack, type Pack } from 'tar-stream'
import { roomyHeap } from '#common/process/roomy-heap.ts'
import { counted } from '#common/text/words.ts'
import { copyNoteName, type CopyNote } from './copy-note.ts'

/** What a note says besides the counts. */
export type NoteWithoutCounts = Omit<CopyNote, 'files' | 'bytes'>

const chunkBytes = 262_144
const [fileMode, folderMode] = [0o640, 0o750]

/** The dictionary of all tables. mysqld starts on no folder that lacks it, so it travels last. */
export const dictionaryFile = 'mysql.ibd'

/** Whether the reader of a copy takes a file of that path and size. */
export type Takes = (path: string, bytes: number) => boolean

/**
 * A folder as a tar stream, with a note as its last entry. Each file is removed once it was handed over: the space is
 * needed on the volume. Nothing may change the folder meanwhile. Throws where there is a file that is not taken: a copy
 * must not seem whole that is unpacked without one of its files.
 */
export async function* packFolder(
  folder: string,
  note: NoteWithoutCounts,
  takes: Takes = () => true,
): AsyncGenerator<Buffer, void, void> {
  using _room = roomyHeap()
  const tape = pack()
  // A tape that is destroyed says why where it is read.
  tape.on('error', () => undefined)
  const filled = fill(tape, { folder, takes }, note).catch((error: unknown) => tape.destroy(error as Error))
  try {
    for await (const chunk of tape) yield chunk as Buffer
  } finally {
    tape.destroy(null)
    await filled
  }
}

async function fill(
  tape: Pack,
  { folder, takes }: { readonly folder: string; readonly takes: Takes },
  note: NoteWithoutCounts,
): Promise<void> {
  let [files, bytes] = [0, 0]
  for (const { path, isFolder } of await entriesIn(folder)) {
    const file = join(folder, path)
    if (isFolder) tape.entry({ name: path, type: 'directory', mode: folderMode })
    else {
      const { size } = await lstat(file)
      if (!takes(path, size))
        throw new Error(`the copy has a file that no restore takes: ${path} of ${counted(size, 'byte')}`)
      await addFile(tape, { name: path, size }, file)
      bytes += size
      files += 1
      await rm(file)
    }
  }
  const text = `${JSON.stringify({ ...note, files, bytes } satisfies CopyNote)}\n`
  tape.entry({ name: copyNoteName, mode: fileMode }, text)
  tape.finalize()
}

interface Found {
  readonly path: string
  readonly isFolder: boolean
}

/** Folders before what is in them, and the dictionary at the end. */
async function entriesIn(folder: string): Promise<readonly Found[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const entries = found.map((entry): Found => {
    const path = join(entry.parentPath, entry.name).slice(folder.length + 1)
    if (!entry.isFile() && !entry.isDirectory()) throw new Error(`${path} is neither a file nor a folder`)
    return { path, isFolder: entry.isDirectory() }
  })
  const [last, others] = [
    entries.filter(({ path }) => path === dictionaryFile),
    entries.filter(({ path }) => path !== dictionaryFile),
  ]
  return [...others.toSorted((one, other) => (one.path < other.path ? -1 : 1)), ...last]
}

/** Resolves once all of the file is handed over. */
async function addFile(
  tape: Pack,
  { name, size }: { readonly name: string; readonly size: number },
  file: string,
): Promise<void> {
  const { promise: added, resolve, reject } = Promise.withResolvers<undefined>()
  added.catch(() => undefined)
  const sink = tape.entry({ name, size, mode: fileMode }, (error) => (error ? reject(error) : resolve(undefined)))
  sink.on('error', () => undefined)
  if (size > 0)
    for await (const chunk of createReadStream(file, { end: size - 1, highWaterMark: chunkBytes }))
      await written(sink, chunk as Buffer)
  sink.end(null)
  await added
}

/** Resolves when more may be written. Rejects where nobody reads the tape any more. */
function written(sink: ReturnType<Pack['entry']>, chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    if (sink.destroyed) return reject(new Error('nobody reads the copy any more'))
    if (sink.write(chunk)) return resolve()
    const go = (): void => {
      sink.off('drain', go).off('close', go)
      resolve()
    }
    sink.on('drain', go).on('close', go)
  })
}
