import { mebibytes, say, type Said } from '#common/sentence/sentence.ts'
import type { Manifest } from '../objects/manifest.ts'

/** The size of the pieces to be replayed, once decoded. */
export interface ReplaySize {
  readonly bytes: number
  /** Bytes of the largest piece. */
  readonly largestBytes: number
}

/**
 * Bytes that are written as relay logs before the server applies them: the volume holds no more of an archive at once.
 */
export const relayBatchBytes = 536_870_912

/** Growth of the data by what their server writes at once. */
const growth = 1.1

export function bytesOfData({ rawBytes }: Pick<Manifest, 'rawBytes'>): number {
  return Math.ceil(rawBytes * growth)
}

/**
 * Bytes that a restore takes on the volume for sure. The bytes are the data and, where anything is replayed, a batch of
 * relay logs and as much for the server. A batch has whole pieces, so its last piece may be the largest. Pieces are
 * decoded while they come: a piece itself never lies on the volume.
 */
export function bytesToRestore(backup: Pick<Manifest, 'rawBytes'>, replay: ReplaySize | null): number {
  return bytesOfData(backup) + (replay === null ? 0 : 2 * relayBatchBytes + replay.largestBytes)
}

/**
 * Bytes by which the data may grow in a replay. A row that is inserted takes about as much there as in the binary log.
 * Rows that are changed or deleted take nothing. So nobody knows the growth before, and the growth alone is no reason
 * to refuse a restore.
 */
export function mayGrowBy(replay: ReplaySize | null): number {
  return replay?.bytes ?? 0
}

/** A restore, and the space that must be free besides. */
export interface RoomAsked {
  readonly backup: Pick<Manifest, 'name' | 'rawBytes'>
  /** Null where nothing is replayed. */
  readonly replay: ReplaySize | null
  /** Bytes of all else that has to lie there in the end. */
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
