import { open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import { archiveVersion, writeArchive } from './archive.ts'
import { forgetServer } from '../instance/server-id.ts'
import { scanBinlog, stopScan } from './file.ts'
import { endingOfPayload, GroupFold, type TransactionGroup } from './groups.ts'
import { lastBinlogFile, readBinlogHead, readFileSets } from './set.ts'
import { GtidCollector, GtidMatcher, printGtid } from './gtid-collector.ts'
import { readPurgedNote } from './purged-note.ts'
import { isProvenVersion, provenSeries, whyNotTrimmable } from './trimmable.ts'
import { syncFolder } from '#common/files/sync-folder.ts'
import { counted } from '#common/text/words.ts'

/**
 * A primary killed under load has transactions in its binlog that nobody acknowledged; in InnoDB they are only
 * prepared. Before its server starts again they are cut off the binlog, and InnoDB rolls them back (docs/why/safety.md,
 * "The unacknowledged tail"). The caller checks that the server is dead, that its end was a crash, and that another
 * primary is committed.
 */
export type TrimPlan =
  /** The primary holds everything. */
  | { readonly kind: 'nothing' }
  | {
      readonly kind: 'trim'
      readonly file: string
      readonly size: number
      readonly headEnd: number
      readonly offset: number
      readonly end: number
      readonly gtids: GtidText
    }
  /**
   * Not to be cut: archive and seed again. The GTIDs are those the primary does not hold, '' where they cannot be read.
   */
  | { readonly kind: 'refuse'; readonly reason: string; readonly gtids: GtidText }

/** The last binlog file of a dead server. */
export interface LastBinlog {
  readonly file: string
  readonly size: number
  readonly serverVersion: string
  /** Where its Previous_gtids event ends. */
  readonly headEnd: number
  /** What was executed before it began, in an older binlog or copied. */
  readonly previous: GtidSet
  /** Transactions without a GTID in it. */
  readonly anonymous: number
  /**
   * Its transactions in order, at least from the first one on that the primary does not hold; compressed ones opened.
   */
  readonly groups: readonly TransactionGroup[]
}

/** What is to be done with the end of a binlog, given what the new primary holds. Pure. */
export function planTrim(last: LastBinlog, held: GtidSet): TrimPlan {
  const earlier = last.previous.subtract(held)
  const isHeld = new GtidMatcher(held)
  const whole = last.groups.filter((group) => group.ending.kind !== 'incomplete')
  const first = whole.findIndex((group) => group.gtid !== null && !isHeld.has(group.gtid))
  const tail = first < 0 ? [] : whole.slice(first)
  const gtids = missingOf(tail, isHeld).union(earlier).toString()
  const reason = whyRefused(last, earlier, tail, isHeld)
  if (reason !== undefined) return { kind: 'refuse', reason, gtids }
  const offset = tail[0]?.offset
  if (offset === undefined) return { kind: 'nothing' }
  return {
    kind: 'trim',
    file: last.file,
    size: last.size,
    headEnd: last.headEnd,
    offset,
    end: tail.at(-1)?.end ?? offset,
    gtids,
  }
}

function missingOf(tail: readonly TransactionGroup[], isHeld: GtidMatcher): GtidSet {
  const missing = new GtidCollector()
  for (const { gtid } of tail) if (gtid !== null && !isHeld.has(gtid)) missing.add(gtid)
  return missing.set()
}

function whyRefused(
  last: LastBinlog,
  earlier: GtidSet,
  tail: readonly TransactionGroup[],
  isHeld: GtidMatcher,
): string | undefined {
  const file = basename(last.file)
  if (last.anonymous > 0)
    return `${file} has ${counted(last.anonymous, 'transaction')} without a GTID: nobody can tell who holds that`
  if (!earlier.isEmpty())
    return `${earlier.toString()} is in a binlog older than ${file}, or was copied: only the last one can end in what was never acknowledged`
  if (tail.length > 0 && !isProvenVersion(last.serverVersion)) {
    return `cutting is proven for MySQL ${provenSeries.join(', ')}; ${file} was written by ${last.serverVersion}`
  }
  for (const group of tail) {
    if (group.gtid !== null && isHeld.has(group.gtid))
      return `${printGtid(group.gtid)} comes after the first missing transaction in ${file}, and the primary holds it`
    const why = whyNotTrimmable(group.ending)
    if (why !== undefined)
      return `${group.gtid === null ? 'a transaction' : printGtid(group.gtid)} in ${file} cannot be cut off: ${why}`
  }
  return undefined
}

/**
 * Reads the last binlog of a data directory and plans. A binlog that cannot be read (encrypted, damaged, a
 * format that is not understood) is a refusal with that reason; other failures reject.
 */
export async function readTrimPlan(dataDir: string, held: GtidSet, signal?: AbortSignal): Promise<TrimPlan> {
  const file = await lastBinlogFile(dataDir)
  if (file === undefined) return { kind: 'nothing' }
  try {
    const last = await readLastBinlog(dataDir, file, { held, signal })
    const plan = last.tooMany === undefined ? planTrim(last, held) : { kind: 'refuse' as const, reason: last.tooMany }
    return plan.kind === 'refuse' ? { ...plan, gtids: last.missing.toString() } : plan
  } catch (error) {
    if (error instanceof RegentError && error.code === 'REGENT_BINLOG_UNREADABLE')
      return { kind: 'refuse', reason: describeError(error), gtids: '' }
    throw error
  }
}

/**
 * What nobody acknowledged has a session each that waits for it, so that a longer tail is something else. Its
 * transactions are not judged one by one: gathered, a file full of small transactions takes an agent several times the
 * memory it may have.
 */
export const longestTail = 10_000

interface ReadBinlog extends LastBinlog {
  /** What the primary does not hold, wherever it lies. */
  readonly missing: GtidSet
  /** Why nothing of it was gathered. */
  readonly tooMany?: string
}

/** Two passes, so that of a large file only the transactions from the first missing one on are kept in memory. */
async function readLastBinlog(
  dataDir: string,
  file: string,
  { held, signal }: { readonly held: GtidSet; readonly signal: AbortSignal | undefined },
): Promise<ReadBinlog> {
  const { previous: before, own, anonymous, scan } = await readFileSets(file, { signal })
  const head = await readBinlogHead(file)
  const previous = before.union(await readPurgedNote(dataDir))
  const missing = own.subtract(held)
  const last = {
    file,
    size: scan.size,
    serverVersion: scan.serverVersion,
    headEnd: head.end,
    previous,
    anonymous,
    groups: [],
    missing: missing.union(previous.subtract(held)),
  }
  if (missing.isEmpty()) return last
  const count = missing.count()
  if (count > longestTail)
    return {
      ...last,
      tooMany:
        `the primary lacks ${counted(count, 'transaction')} of ${basename(file)}, and never do more than ` +
        `${longestTail} of them wait for an acknowledgement`,
    }
  return { ...last, groups: await groupsFrom(file, missing, signal) }
}

/** Up to the first one that is held behind one that is missing: what follows that changes nothing. */
async function groupsFrom(file: string, missing: GtidSet, signal?: AbortSignal): Promise<readonly TransactionGroup[]> {
  const isMissing = new GtidMatcher(missing)
  const groups: TransactionGroup[] = []
  const fold = new GroupFold((group) => {
    const isWanted = group.gtid !== null && isMissing.has(group.gtid)
    if (groups.length === 0 && !isWanted) return undefined
    groups.push(group)
    return isWanted || group.ending.kind === 'incomplete' ? undefined : stopScan
  })
  await scanBinlog(file, (event) => fold.add(event), { signal, verify: false })
  fold.finish()
  // Payloads are read one at a time: each decompression takes megabytes while it goes on, and a tail may have hundreds.
  for (const [at, group] of groups.entries())
    groups[at] = { ...group, ending: await endingOfPayload(file, group.ending, signal) }
  return groups
}

export interface TrimPlace {
  readonly dataDir: string
  readonly archiveDir: string
  readonly instance: string
  readonly wallMs: number
}

/**
 * Archives the tail, makes the server take a new `server_uuid` at its next start (else it could issue a GTID that was
 * cut off again, for something else), then cuts the binlog. In this order, and on the disk after each step: whoever
 * dies in between plans and trims again. The in-use flag stays, so that the server recovers from what is left; relay
 * logs are not touched.
 *
 * Returns the archive's folder. Throws `REGENT_REFUSED` where the file is no longer the one that was planned for, and
 * rejects with the file system's error where archiving fails (a full disk): nothing is cut then.
 */
export async function trimTail(plan: Extract<TrimPlan, { kind: 'trim' }>, place: TrimPlace): Promise<string> {
  const binlog = await open(plan.file, 'r+')
  try {
    const { size } = await binlog.stat()
    if (size !== plan.size)
      throw new RegentError(
        'REGENT_REFUSED',
        say`${place.instance}: ${plan.file} has ${size} bytes instead of ${plan.size}: it changed after the cut was planned`,
      )
    const archive = await writeArchive(
      place.archiveDir,
      [{ path: plan.file, headEnd: plan.headEnd, ranges: [{ offset: plan.offset, end: plan.end }] }],
      {
        version: archiveVersion,
        kind: 'tail',
        instance: place.instance,
        gtids: plan.gtids,
        wallMs: place.wallMs,
        reason: 'in the binlog of a primary that crashed, and never acknowledged by a replica',
      },
    )
    await forgetServer(place.dataDir)
    await binlog.truncate(plan.offset)
    await binlog.sync()
    await syncFolder(dirname(plan.file))
    return archive
  } finally {
    await binlog.close()
  }
}
