import { mkdir, open, rm, truncate, type FileHandle } from 'node:fs/promises'
import { syncFolder } from '#common/files/sync-folder.ts'
import { writeFully, type WrittenTo } from '#common/files/write-fully.ts'

/** A file of a copy while the file is written. */
export type FilledFile = Pick<FileHandle, 'datasync' | 'sync' | 'close'> & WrittenTo

/** What the writer of a copy asks of a disk. A test counts these, or loses what was not synced. */
export interface CopyDisk {
  /** With those above; may be there. */
  makeFolder(path: string): Promise<void>
  /** Never over a file that is there: no entry of a stream comes twice. */
  create(path: string): Promise<FilledFile>
  /** Writes behind what is in the file. */
  goOn(path: string): Promise<FilledFile>
  /** Takes away what lies behind so many bytes. */
  cut(path: string, bytes: number): Promise<void>
  remove(path: string): Promise<void>
  /** Adds to the end of a file, and syncs that; the file may not be there. */
  append(path: string, text: string): Promise<void>
  syncFolder(path: string): Promise<void>
}

const [fileMode, folderMode] = [0o640, 0o750]

export const realCopyDisk: CopyDisk = {
  makeFolder: async (path) => void (await mkdir(path, { recursive: true, mode: folderMode })),
  create: (path) => open(path, 'wx', fileMode),
  goOn: (path) => open(path, 'a'),
  cut: (path, bytes) => truncate(path, bytes),
  remove: (path) => rm(path, { recursive: true, force: true }),
  async append(path, text) {
    await using file = await open(path, 'a', fileMode)
    await writeFully(file, Buffer.from(text))
    await file.datasync()
  },
  syncFolder,
}
