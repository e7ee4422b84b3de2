import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { eventTypes } from '#binlog/events.ts'
import { scanBinlog } from '../binlog/file.ts'
import { lastBinlogFile } from '../binlog/set.ts'
import { readErrorLog, type ErrorLogEvidence, type ErrorLogPlace } from './error-log.ts'
import type { Ending } from '../ports/volume.ts'

/** Flags of the first event: behind the magic number, and 17 bytes into its header. */
const eventFlagsAt = 4 + 17

/** What the newest binlog file of a dead server looks like. */
export type BinlogEvidence =
  | { readonly kind: 'none' }
  | { readonly kind: 'unreadable'; readonly why: string }
  | { readonly kind: 'read'; readonly name: string; readonly inUse: boolean; readonly stopIsLast: boolean }

/**
 * How a dead mysqld ended (docs/why/safety.md, "A stop nobody ordered"). A shutdown acknowledges what waits, so its
 * tail may have been acknowledged; a crash acknowledges nothing. `unknown` where the files do not prove either.
 */
export async function endedHow(place: ErrorLogPlace, signal?: AbortSignal): Promise<Ending> {
  return judgeEnding(await readErrorLog(place), await readLastBinlog(place.dataDir, signal))
}

/**
 * The same from the error log and the head of the newest binlog alone, in a millisecond: for the moment in which a
 * death is to be reported. Only a Stop event behind an in-use flag escapes it, which `endedHow` finds later.
 */
export async function glanceAtEnding(place: ErrorLogPlace): Promise<Ending> {
  return judgeEnding(await readErrorLog(place), await readHead(place.dataDir))
}

async function readHead(dataDir: string): Promise<BinlogEvidence> {
  try {
    const path = await lastBinlogFile(dataDir)
    if (path === undefined) return { kind: 'none' }
    const file = await open(path, 'r')
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(eventFlagsAt + 2), 0, eventFlagsAt + 2, 0)
      if (bytesRead < eventFlagsAt + 2) return { kind: 'unreadable', why: `${basename(path)} has no head` }
      return {
        kind: 'read',
        name: basename(path),
        inUse: (buffer.readUInt16LE(eventFlagsAt) & 1) === 1,
        stopIsLast: false,
      }
    } finally {
      await file.close()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { kind: 'none' }
    throw error
  }
}

/** Pure. */
export function judgeEnding(log: ErrorLogEvidence, binlog: BinlogEvidence): Ending {
  return stopIn(log) ?? unbegunIn(log, binlog) ?? closedIn(binlog) ?? doubtIn(log, binlog) ?? crash
}

const crash: Ending = {
  how: 'crashed',
  sentence:
    'mysqld crashed or was killed: its error log has no word of a shutdown since its start, and its last binlog was not closed',
}

function stopIn(log: ErrorLogEvidence): Ending | undefined {
  if (log.kind === 'missing') return undefined
  if (log.seen.has('receivedShutdown'))
    return { how: 'stopped', sentence: 'its error log says "Received SHUTDOWN" (MY-013172)' }
  return log.seen.has('receivedRestart')
    ? { how: 'stopped', sentence: 'its error log says "Received RESTART" (MY-011086)' }
    : undefined
}

/**
 * Before it is ready and has a binlog of its own it serves nobody; the file that is there then, closed or not, is of an
 * earlier life.
 */
function unbegunIn(log: ErrorLogEvidence, binlog: BinlogEvidence): Ending | undefined {
  if (log.kind === 'missing' || !log.couldWrite || log.seen.has('ready')) return undefined
  const hasOwnBinlog = binlog.kind === 'unreadable' || (binlog.kind === 'read' && binlog.name !== log.lastBinlog)
  return hasOwnBinlog
    ? undefined
    : { how: 'crashed', sentence: 'mysqld ended before it served anybody: it never was ready, and began no binlog' }
}

function closedIn(binlog: BinlogEvidence): Ending | undefined {
  if (binlog.kind !== 'read') return undefined
  if (!binlog.inUse) return { how: 'stopped', sentence: `${binlog.name} was closed in order` }
  return binlog.stopIsLast ? { how: 'stopped', sentence: `${binlog.name} ends in a Stop event` } : undefined
}

function doubtIn(log: ErrorLogEvidence, binlog: BinlogEvidence): Ending | undefined {
  if (log.kind === 'missing') return { how: 'unknown', sentence: log.why }
  if (!log.couldWrite)
    return {
      how: 'unknown',
      sentence: 'its file system was full: a message about a shutdown may be missing from its error log',
    }
  if (!log.seen.has('starting'))
    return { how: 'unknown', sentence: 'its error log does not even say that it started: messages go elsewhere' }
  if (binlog.kind === 'unreadable') return { how: 'unknown', sentence: `its last binlog cannot be read: ${binlog.why}` }
  return binlog.kind === 'none' ? { how: 'unknown', sentence: 'it has no binlog' } : undefined
}

async function readLastBinlog(dataDir: string, signal?: AbortSignal): Promise<BinlogEvidence> {
  try {
    const file = await lastBinlogFile(dataDir)
    if (file === undefined) return { kind: 'none' }
    const scan = await scanBinlog(file, () => undefined, { signal, verify: false })
    return { kind: 'read', name: basename(file), inUse: scan.inUse, stopIsLast: scan.lastType === eventTypes.stop }
  } catch (error) {
    if (error instanceof RegentError && error.code === 'REGENT_BINLOG_UNREADABLE')
      return { kind: 'unreadable', why: describeError(error) }
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { kind: 'none' }
    throw error
  }
}
