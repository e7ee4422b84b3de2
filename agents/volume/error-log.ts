import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { open, stat, statfs, type FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { promisify } from 'node:util'
import { readAt } from '../binlog/file.ts'
import { lastBinlogFile } from '../binlog/set.ts'
import { syncFolder } from '#common/files/sync-folder.ts'

/** Where mysqld's error log is, and the agent's note of where its newest part begins. */
export interface ErrorLogPlace {
  readonly dataDir: string
  readonly errorLog: string
  readonly errorLogMark: string
}

/** What was noted before mysqld was started. */
interface ErrorLogMark {
  readonly version: 1
  /**
   * The log that was appended to: a rotated one is another file. In digits: file systems of a network number their
   * files above 2⁵³.
   */
  readonly inode: string
  readonly offset: number
  /** Name of the newest binlog file then; '' for none. */
  readonly lastBinlog: string
  /** The file system was seen full since then: messages may be missing. */
  readonly wasFull: boolean
}

/** Messages that tell how a server's life went, by their codes (seen on 9.7; the same since 8.0). */
export const messages = {
  starting: '[MY-010116]',
  ready: '[MY-010931]',
  receivedShutdown: '[MY-013172]',
  receivedRestart: '[MY-011086]',
} as const
export type Message = keyof typeof messages

export type ErrorLogEvidence =
  /** The log, or the note about it, is gone or cannot be believed. */
  | { readonly kind: 'missing'; readonly why: string }
  | {
      readonly kind: 'read'
      readonly seen: ReadonlySet<Message>
      readonly lastBinlog: string
      /** Had the server wanted to write a message, it could have. */
      readonly couldWrite: boolean
    }

/**
 * To be called right before each start of mysqld: notes where its part of the error log begins, and reserves space for
 * its messages. Rejects where the note cannot be written, and mysqld should not be started then: how it ends could not
 * be told. The note is overwritten in place, so that a full disk does not stop it; half written it is not believed.
 */
export async function markErrorLog(place: ErrorLogPlace): Promise<void> {
  await createLog(place.errorLog)
  await reserveErrorLog(place.errorLog)
  const { ino, size } = await stat(place.errorLog, { bigint: true })
  const newest = await lastBinlogFile(place.dataDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  await writeMark(place.errorLogMark, {
    version: 1,
    inode: String(ino),
    offset: Number(size),
    lastBinlog: newest === undefined ? '' : basename(newest),
    wasFull: false,
  })
}

/** To be called when the file system was seen full while mysqld runs. */
export async function noteFullFileSystem(place: ErrorLogPlace): Promise<void> {
  const mark = await readMark(place.errorLogMark)
  if (mark !== undefined && !mark.wasFull) await writeMark(place.errorLogMark, { ...mark, wasFull: true })
}

const reservedBytes = 262_144
/** A message about the end is far shorter. */
const enoughBytes = 4_096
const run = promisify(execFile)

/**
 * Allocates blocks behind the log's end without making it longer, so that messages can be appended while the file
 * system is full. To be repeated now and then; does nothing while half of it is left. False where the file system or
 * `fallocate` cannot: then a full disk makes the end of a server unknown.
 */
export async function reserveErrorLog(errorLog: string): Promise<boolean> {
  const { size, blocks } = await stat(errorLog)
  if (blocks * 512 - size > reservedBytes / 2) return true
  return run('fallocate', ['--keep-size', '--offset', String(size), '--length', String(reservedBytes), errorLog], {
    timeout: 5_000,
  }).then(
    () => true,
    () => false,
  )
}

/** What the log says since the note was made. */
export async function readErrorLog(place: ErrorLogPlace): Promise<ErrorLogEvidence> {
  const mark = await readMark(place.errorLogMark)
  if (mark === undefined)
    return { kind: 'missing', why: `nothing was noted in ${place.errorLogMark} before mysqld was started` }
  const log = await openIfThere(place.errorLog)
  if (log === undefined) return { kind: 'missing', why: `the error log ${place.errorLog} is gone` }
  try {
    const { ino, ...found } = await log.stat({ bigint: true })
    const [size, blocks] = [Number(found.size), Number(found.blocks)]
    if (String(ino) !== mark.inode || size < mark.offset)
      return { kind: 'missing', why: `the error log ${place.errorLog} was rotated or cut since mysqld was started` }
    const seen = await messagesIn(log, mark.offset, size)
    const couldWrite = blocks * 512 - size >= enoughBytes || (!mark.wasFull && (await hasRoom(place.errorLog)))
    return { kind: 'read', seen, lastBinlog: mark.lastBinlog, couldWrite }
  } finally {
    await log.close()
  }
}

const chunkLength = 65_536
const overlap = 16

async function messagesIn(log: FileHandle, from: number, to: number): Promise<ReadonlySet<Message>> {
  const seen = new Set<Message>()
  const chunk = Buffer.alloc(chunkLength)
  for (let at = from; at < to; at += chunkLength - overlap) {
    const text = (await readAt(log, at, chunk.subarray(0, Math.min(chunkLength, to - at)))).toString('latin1')
    for (const [name, code] of Object.entries(messages)) if (text.includes(code)) seen.add(name as Message)
  }
  return seen
}

async function hasRoom(path: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(dirname(path))
  return bavail * bsize >= reservedBytes
}

async function createLog(path: string): Promise<void> {
  await (await open(path, 'a', 0o640)).close()
}

/** A mark always fills this many bytes: written in place it needs no new block. */
const markBytes = 512

async function writeMark(path: string, mark: ErrorLogMark): Promise<void> {
  const file = await open(path, constants.O_CREAT | constants.O_WRONLY, 0o600)
  try {
    await file.write(Buffer.from(JSON.stringify(mark).padEnd(markBytes)), 0, markBytes, 0)
    await file.sync()
  } finally {
    await file.close()
  }
  await syncFolder(dirname(path))
}

async function readMark(path: string): Promise<ErrorLogMark | undefined> {
  const file = await openIfThere(path)
  if (file === undefined) return undefined
  try {
    return markIn(JSON.parse((await readAt(file, 0, Buffer.alloc(markBytes))).toString('utf8')))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  } finally {
    await file.close()
  }
}

function markIn(text: unknown): ErrorLogMark | undefined {
  if (typeof text !== 'object' || text === null) return undefined
  // An earlier agent wrote the inode as a number.
  const { version, inode: written, offset, lastBinlog, wasFull } = text as Record<string, unknown>
  const inode = typeof written === 'number' ? String(written) : written
  const isMark =
    version === 1 &&
    typeof inode === 'string' &&
    Number.isSafeInteger(offset) &&
    typeof lastBinlog === 'string' &&
    typeof wasFull === 'boolean'
  return isMark ? { version, inode, offset: Number(offset), lastBinlog, wasFull } : undefined
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  return open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}
