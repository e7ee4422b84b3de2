import { joined, mebibytes, say, type Said, type Sentence } from '#common/sentence/sentence.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { BinlogFile } from '../ports/volume.ts'

export interface KeepingLimits {
  /** So long after its last write a binlog is kept in any case. */
  readonly keepBinlogsSeconds: number
  /** Binlogs that are older are held for members that lack some of them, up to so much of all of them together. */
  readonly heldBinlogsBytes: number
  readonly lowSpaceBytes: number
}

/** A file whose time has come. */
export interface DueBinlog extends BinlogFile {
  /** The file after it. */
  readonly next: string
  /** Why the file goes even if somebody lacks some of what is in it; null: then it is held. */
  readonly force: 'space' | 'limit' | null
}

/** Binlogs are held for the archive as for a member. */
export const archiveOfBackups = 'the archive of backups'

export interface MemberHoldings {
  /** Or `archiveOfBackups`. */
  readonly instance: InstanceName
  /** What the peer had executed when it last said so; null: it has not since this agent began. */
  readonly executed: GtidText | null
}

/** Four times the space at which a primary closes itself: purging has to come first. */
const enoughSpace = 4
const [oftenMs, seldomMs] = [2_000, 60_000]

/** How often an agent looks whether a binlog is due. */
export function keepingEveryMs({ keepBinlogsSeconds }: KeepingLimits): number {
  return Math.min(seldomMs, Math.max(oftenMs, keepBinlogsSeconds * 10))
}

export function isShortOfSpace(freeBytes: number | null, { lowSpaceBytes }: KeepingLimits): boolean {
  return freeBytes !== null && freeBytes < lowSpaceBytes * enoughSpace
}

/**
 * The files that are old enough, or in the way of a disk that fills up: a beginning of `files`, which are all there
 * are, oldest first. Never the newest, which is written to.
 */
export function dueBinlogs(
  files: readonly BinlogFile[],
  now: { readonly wallMs: number; readonly freeBytes: number | null },
  limits: KeepingLimits,
): readonly DueBinlog[] {
  const due: DueBinlog[] = []
  let totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0)
  let { freeBytes } = now
  for (const [index, file] of files.slice(0, -1).entries()) {
    const isShort = isShortOfSpace(freeBytes, limits)
    const isOld = now.wallMs - file.writtenAtMs >= limits.keepBinlogsSeconds * 1_000
    if (!isShort && !isOld) break
    const overLimit = totalBytes > limits.heldBinlogsBytes ? 'limit' : null
    due.push({ ...file, next: files[index + 1]?.name ?? '', force: isShort ? 'space' : overLimit })
    totalBytes -= file.bytes
    freeBytes = freeBytes === null ? null : freeBytes + file.bytes
  }
  return due
}

/**
 * Members that would need a file whose end is `upTo`: all transactions up to there. A member that lacks what was purged
 * before is not among them: binlogs help that member no more. The archive takes what another instance still has.
 * @param purged what this server no longer has
 */
export function membersLacking(
  upTo: GtidText,
  purged: GtidText,
  members: readonly MemberHoldings[],
): readonly MemberHoldings[] {
  const [wanted, gone] = [parseGtidSet(upTo), parseGtidSet(purged)]
  return members.filter(({ instance, executed }) => {
    if (executed === null) return true
    const holds = parseGtidSet(executed)
    if (instance === archiveOfBackups) return !holds.union(gone).contains(wanted)
    return holds.contains(gone) && !holds.contains(wanted)
  })
}

export function sentenceAboutHeld({ name }: DueBinlog, lacking: readonly MemberHoldings[]): Sentence {
  return say`binlogs from ${name} on are kept longer than asked for: ${named(lacking)}`
}

/** @param purged at least one, all by force */
export function sentenceAboutForced(
  purged: readonly DueBinlog[],
  lacking: readonly MemberHoldings[],
  limits: KeepingLimits,
): Sentence {
  const names = [purged[0], purged.length > 1 ? purged.at(-1) : undefined]
    .flatMap((file) => (file ? [file.name] : []))
    .join(' to ')
  const why = purged.some(({ force }) => force === 'space')
    ? say`the disk is nearly full`
    : say`more than ${mebibytes(limits.heldBinlogsBytes)} of binlogs were there`
  const size = mebibytes(purged.reduce((sum, { bytes }) => sum + bytes, 0))
  return say`${names} (${size}) are purged, as ${why}; ${consequence(lacking)}: ${named(lacking)}`
}

function consequence(lacking: readonly MemberHoldings[]): Said {
  const [archive, members] = [isOfArchive, (holder: MemberHoldings) => !isOfArchive(holder)].map((of) =>
    lacking.some(of),
  )
  return joined(
    [
      members === true ? say`who needed them is seeded again` : '',
      archive === true ? say`the archive has a hole unless another instance holds that, until the next backup` : '',
    ].filter((said) => said !== ''),
    ', ',
  )
}

const isOfArchive = ({ instance }: MemberHoldings): boolean => instance === archiveOfBackups

function named(members: readonly MemberHoldings[]): Said {
  const said = members.map(({ instance, executed }) =>
    executed === null ? say`${instance} has not said what it holds` : say`${instance} lacks some of what is in them`,
  )
  return joined(said, '; ')
}
