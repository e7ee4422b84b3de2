import { mebibytes, say, type Said } from '#common/sentence/sentence.ts'
import type { Manifest } from '../objects/manifest.ts'

/** What the pieces of the archive hold that are replayed, as they are once decoded. */
export interface ReplaySize {
  readonly bytes: number
  /** Of the largest piece. */
  readonly largestBytes: number
}

/** So much is written as relay logs before the server applies that: the volume holds no more of an archive at once. */
export const relayBatchBytes = 536_870_912

/** Data, with what their server writes at once. */
const growth = 1.1

export function bytesOfData({ rawBytes }: Pick<Manifest, 'rawBytes'>): number {
  return Math.ceil(rawBytes * growth)
}

/**
 * What a restore takes on the volume for sure: the data, and where anything is replayed, a batch of relay logs and as
 * much for the server. A batch is of whole pieces, so the last one of a batch may be the largest. Pieces are decoded
 * while they come: they never lie on the volume themselves.
 */
export function bytesToRestore(backup: Pick<Manifest, 'rawBytes'>, replay: ReplaySize | null): number {
  return bytesOfData(backup) + (replay === null ? 0 : 2 * relayBatchBytes + replay.largestBytes)
}

/**
 * How much the data may grow by a replay. A row that is inserted takes about as much there as in the binary log. Rows
 * that are changed or deleted take nothing: so nobody knows before, and this alone is no reason to refuse a restore.
 */
export function mayGrowBy(replay: ReplaySize | null): number {
  return replay?.bytes ?? 0
}

/** Where a restore is to be, and what has to be free there besides. */
export interface RoomAsked {
  readonly backup: Pick<Manifest, 'name' | 'rawBytes'>
  /** Null where nothing is replayed. */
  readonly replay: ReplaySize | null
  /** What else has to lie there in the end. */
  readonly besidesBytes: number
  readonly freeBytes: number
}

/** `backup … needs 5.2 GiB on …: 4.0 GiB of data, 1.0 GiB of binary logs to replay; 2.0 GiB are free`; '' for room. */
export function whyNoRoom({ backup, replay, besidesBytes, freeBytes }: RoomAsked, where: Said): Said {
  const neededBytes = bytesToRestore(backup, replay) + besidesBytes
  if (freeBytes >= neededBytes) return ''
  const parts = say`${mebibytes(backup.rawBytes)} of data, ${mebibytes(replay?.bytes ?? 0)} of binary logs to replay`
  return say`backup ${backup.name} needs ${mebibytes(neededBytes)} ${where} (${parts}), and ${mebibytes(freeBytes)} are free`
}
