import { readFile, stat } from 'node:fs/promises'
import { basename, isAbsolute, join } from 'node:path'
import { codeOf } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import { decodePreviousGtids, eventTypes, unreadable } from '#binlog/events.ts'
import type { BinlogFile } from '../ports/volume.ts'
import { scanBinlog, stopScan, type BinlogScan, type ScanOptions } from './file.ts'
import { GroupFold } from './groups.ts'
import { GtidCollector } from './gtid-collector.ts'
import { readPurgedNote } from './purged-note.ts'

/** The binlog files of a data directory, oldest first, as absolute paths: the lines of its index file. */
export async function binlogFiles(dataDir: string, indexName = 'binlog.index'): Promise<readonly string[]> {
  const lines = (await readIndex(join(dataDir, indexName))).split('\n').filter((line) => line !== '')
  return lines.map((line) => (isAbsolute(line) ? line : join(dataDir, line)))
}

/**
 * mysqld writes the next index beside the one that is there, removes that, and renames the next one. Killed in between
 * it leaves the next one alone, and takes that at its next start (`open_index_file` in the server's `sql/binlog.cc`).
 * Rejects with the file system's error where there is neither.
 */
async function readIndex(path: string): Promise<string> {
  const read = (file: string): Promise<string | undefined> => readFile(file, 'utf8').catch(nothingIfGone)
  // A server that runs may rename between the two looks.
  return (await read(path)) ?? (await read(`${path}_crash_safe`)) ?? readFile(path, 'utf8')
}

/** The relay log files of a data directory, oldest first; none where the server never was a replica. */
export async function relayLogFiles(dataDir: string): Promise<readonly string[]> {
  return binlogFiles(dataDir, 'relay-bin.index').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}

/** The newest binlog file, or undefined where the index lists none. Rejects where there is no index. */
export async function lastBinlogFile(dataDir: string): Promise<string | undefined> {
  return (await binlogFiles(dataDir)).at(-1)
}

export interface BinlogSet {
  /**
   * Everything in the binlogs ever: executed, and prepared by transactions that a crash cut short; what was received
   * and perhaps not applied yet; and what was executed and is in no binlog.
   */
  readonly set: GtidText
  readonly lastFile: string
}

/**
 * All transactions an instance has: those in its binlogs, read from the last file: what was there before it
 * (Previous_gtids) and what is in it. A server that runs may be ahead of it. A transaction that the file ends within is
 * not counted: the server forgets it too. What a CLONE copied is in none of its files: a note tells (`purged-note.ts`).
 * To them belongs what its relay logs have: a replica that was promoted and died before it had applied everything holds
 * that as well.
 *
 * Throws `REGENT_BINLOG_UNREADABLE`, also where there is no binlog.
 */
export async function readBinlogSet(dataDir: string, signal?: AbortSignal): Promise<BinlogSet> {
  const lastFile = await lastBinlogFile(dataDir)
  if (lastFile === undefined) throw unreadable(say`the binlog index in ${dataDir} lists no file`)
  const { previous, own } = await readFileSets(lastFile, { signal })
  const received = await readReceivedSet(dataDir, signal)
  const purged = await readPurgedNote(dataDir)
  return { set: previous.union(own).union(received).union(purged).toString(), lastFile }
}

/**
 * What a receiver has ever got, from the last relay log. An unreadable relay log has nothing that counts: what a
 * promise reports as received was fsynced before, and a new relay log that was not may be anything after a power cut.
 */
async function readReceivedSet(dataDir: string, signal?: AbortSignal): Promise<GtidSet> {
  const last = (await relayLogFiles(dataDir)).at(-1)
  if (last === undefined) return GtidSet.empty
  try {
    const { previous } = await readBinlogHead(last)
    return previous.union((await readFileSets(last, { isRelayLog: true, signal })).own)
  } catch (error) {
    if (codeOf(error) === 'REGENT_BINLOG_UNREADABLE' || (error as NodeJS.ErrnoException).code === 'ENOENT')
      return GtidSet.empty
    throw error
  }
}

export interface FileSets {
  /** What was executed before this file began. */
  readonly previous: GtidSet
  /** What is in this file, whole. */
  readonly own: GtidSet
  /** Transactions without a GTID in it. */
  readonly anonymous: number
  readonly scan: BinlogScan
}

/**
 * Reads the sets in one pass over a file. Throws `REGENT_BINLOG_UNREADABLE`, also where the file has no Previous_gtids
 * event.
 */
export async function readFileSets(path: string, options: ScanOptions = {}): Promise<FileSets> {
  const collected = new GtidCollector()
  let previous: GtidSet | undefined
  let anonymous = 0
  const fold = new GroupFold((group) => {
    if (group.ending.kind === 'incomplete') return
    if (group.gtid === null) anonymous += 1
    else collected.add(group.gtid)
  })
  const scan = await scanBinlog(
    path,
    (event) => {
      if (event.type === eventTypes.previousGtids) previous = GtidSet.parse(decodePreviousGtids(event.body))
      fold.add(event)
    },
    options,
  )
  fold.finish()
  if (previous === undefined) throw unreadable(say`${path} has no Previous_gtids event`)
  return { previous, own: collected.set(), anonymous, scan }
}

/** The binlog files of a data directory that are there, oldest first. */
export async function listBinlogs(dataDir: string): Promise<readonly BinlogFile[]> {
  const files = await Promise.all(
    (await binlogFiles(dataDir)).map(async (path) => {
      const found = await stat(path).catch(nothingIfGone)
      return found ? [{ name: basename(path), bytes: found.size, writtenAtMs: found.mtimeMs }] : []
    }),
  )
  return files.flat()
}

function nothingIfGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
  return undefined
}

/** What was executed before this file began, or null where it cannot be read. */
export async function previousGtids(path: string): Promise<GtidText | null> {
  try {
    return (await readBinlogHead(path)).previous.toString()
  } catch (error) {
    if (codeOf(error) === 'REGENT_BINLOG_UNREADABLE') return null
    throw error
  }
}

export interface BinlogHead {
  readonly previous: GtidSet
  /** Where the Previous_gtids event ends: the part of the file that any copy of its transactions begins with. */
  readonly end: number
}

/** Only the beginning of a file. Throws `REGENT_BINLOG_UNREADABLE`. */
export async function readBinlogHead(path: string): Promise<BinlogHead> {
  let head: BinlogHead | undefined
  await scanBinlog(path, (event) => {
    if (event.type === eventTypes.formatDescription) return undefined
    if (event.type === eventTypes.previousGtids)
      head = { previous: GtidSet.parse(decodePreviousGtids(event.body)), end: event.end }
    return stopScan
  })
  if (head === undefined) throw unreadable(say`${path} has no Previous_gtids event behind its Format_description event`)
  return head
}
