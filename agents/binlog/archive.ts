import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { flagsOffset, magic } from '#binlog/layout.ts'
import type { ArchiveSize } from '../ports/volume.ts'
import { readAt, withWindow } from './file.ts'
import { syncFolder } from '#common/files/sync-folder.ts'

/** A part of a binlog file: from `offset` up to `end`. */
export interface ByteRange {
  readonly offset: number
  readonly end: number
}

/**
 * What one archived file is copied from: the beginning of a binlog file, up to its Previous_gtids event's end, and
 * parts of it.
 */
export interface ArchiveSource {
  readonly path: string
  readonly headEnd: number
  readonly ranges: readonly ByteRange[]
}

export const archiveVersion = 1

/** `description.json` in every archive. */
export interface ArchiveDescription {
  readonly version: typeof archiveVersion
  readonly kind: 'tail' | 'errant'
  readonly instance: string
  /** The transactions in it. */
  readonly gtids: string
  readonly wallMs: number
  readonly reason: string
}

/**
 * Copies parts of binlog files into a folder of their own, one file for each source and under its name, so that
 * `mysqlbinlog <folder>/*.0*` prints them; `description.json` says what they are. Everything is on the disk (fsync)
 * when the path of the folder is returned. The folder appears whole or not at all, named by its content: the same
 * content archived again is the same folder.
 *
 * Rejects with the file system's error; nothing is left then but a folder that ends in `.partial`, which the next call
 * replaces.
 */
export async function writeArchive(
  archiveDir: string,
  sources: readonly ArchiveSource[],
  description: ArchiveDescription,
): Promise<string> {
  const partial = join(archiveDir, `${description.kind}-${description.instance}.partial`)
  await mkdir(archiveDir, { recursive: true, mode: 0o700 })
  await rm(partial, { recursive: true, force: true })
  await mkdir(partial, { mode: 0o700 })
  const hash = createHash('sha256')
  const files: { readonly file: string; readonly ranges: readonly ByteRange[] }[] = []
  for (const source of sources) {
    hash.update(`${source.path}\0`)
    await copyRanges(source, join(partial, basename(source.path)), (bytes) => hash.update(bytes))
    files.push({ file: basename(source.path), ranges: source.ranges })
  }
  await writeDurably(join(partial, descriptionFile), async (file) => {
    await file.writeFile(`${JSON.stringify({ ...description, files }, null, 2)}\n`)
  })
  await syncFolder(partial)
  const final = join(archiveDir, `${description.kind}-${description.instance}-${hash.digest('hex').slice(0, 16)}`)
  if (await exists(final)) await rm(partial, { recursive: true })
  else await rename(partial, final)
  await syncFolder(archiveDir)
  return final
}

export interface Archive {
  readonly folder: string
  /** Absolute paths of its binlog files. */
  readonly files: readonly string[]
}

/** Whole archives of an instance. */
export async function archivesOf(archiveDir: string, instance: string): Promise<readonly Archive[]> {
  const whole = (await archiveNames(archiveDir))
    .filter((name) => archiveName.exec(name)?.[2] === instance)
    .map((name) => join(archiveDir, name))
  return Promise.all(
    whole.map(async (folder) => ({
      folder,
      files: (await readdir(folder)).filter((name) => name !== descriptionFile).map((name) => join(folder, name)),
    })),
  )
}

/** Every whole archive, oldest first. An archive without a readable description was not made here, and is left out. */
export async function listArchives(archiveDir: string): Promise<readonly ArchiveSize[]> {
  const found = await Promise.all((await archiveNames(archiveDir)).map((name) => sizeOf(join(archiveDir, name))))
  return found.flatMap((archive) => archive ?? []).toSorted((one, other) => one.wallMs - other.wallMs)
}

async function sizeOf(folder: string): Promise<(ArchiveSize & { readonly wallMs: number }) | null> {
  const { wallMs } = await readDescription(folder)
  if (wallMs === undefined) return null
  const sizes = await Promise.all((await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size))
  return { folder, wallMs, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

async function readDescription(folder: string): Promise<Partial<ArchiveDescription>> {
  try {
    return JSON.parse(await readFile(join(folder, descriptionFile), 'utf8')) as ArchiveDescription
  } catch {
    return {}
  }
}

/**
 * Under the name of one that is being written first: whoever dies meanwhile leaves no half of an archive, and the next
 * one made clears it away.
 */
export async function removeArchive(folder: string): Promise<void> {
  const partial = join(dirname(folder), `${archiveName.exec(basename(folder))?.[1]}.partial`)
  await rm(partial, { recursive: true, force: true })
  await rename(folder, partial)
  await rm(partial, { recursive: true })
}

/** None where there is no such folder. */
async function archiveNames(archiveDir: string): Promise<readonly string[]> {
  const names = await readdir(archiveDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.filter((name) => archiveName.test(name))
}

const archiveName = /^((?:tail|errant)-(.+))-[0-9a-f]{16}$/
const descriptionFile = 'description.json'
const flagsInFile = magic.length + flagsOffset

interface Copying {
  readonly from: FileHandle
  readonly to: FileHandle
  readonly space: Buffer
}

async function copyRanges(source: ArchiveSource, to: string, seen: (bytes: Buffer) => void): Promise<void> {
  const from = await open(source.path, 'r')
  try {
    await writeDurably(to, async (file) => {
      const ranges = [{ offset: 0, end: source.headEnd }, ...source.ranges]
      await withWindow(async (space) => {
        for (const range of ranges) await copyRange({ from, to: file, space }, range, seen)
      })
      // The copy is not in use: without the flag mysqlbinlog adds no ROLLBACK. The event's checksum is made without it.
      await file.write(Buffer.from([0, 0]), 0, 2, flagsInFile)
    })
  } finally {
    await from.close()
  }
}

/** A part of the copy at a time. */
async function copyRange({ from, to, space }: Copying, range: ByteRange, seen: (bytes: Buffer) => void): Promise<void> {
  for (let at = range.offset; at < range.end;) {
    const bytes = await readAt(from, at, space.subarray(0, Math.min(space.length, range.end - at)))
    if (bytes.length === 0)
      throw new Error(`a binlog became shorter while it was archived: byte ${at} of ${range.end} is gone`)
    seen(bytes)
    await to.writeFile(bytes)
    at += bytes.length
  }
}

async function writeDurably(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await write(file)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
}
