import { parseGtidSet, type GtidSet } from '../gtid/gtid-set.ts'
import { holdsOf } from './holdings.ts'
import type { BinlogPlace, Observation } from './observation.ts'
import type { GtidText } from './gtid-text.ts'

/** What a server had executed, at the latest, when its binlogs ended here. */
export interface SourceLook {
  readonly uuid: string
  readonly executed: GtidText
  readonly end: BinlogPlace
}

/** Null where the server did not say where its binlogs end: none answered, or its agent is older. */
export function sourceLookOf({ server }: Observation): SourceLook | null {
  if (server?.binlogPosition === undefined) return null
  const { uuid, executed, binlogNumber, binlogPosition } = server
  return { uuid, executed, end: { file: binlogNumber, position: binlogPosition } }
}

/**
 * What a replica lacks and gets no more, as long as it stays connected: its source executed that, and the replica has
 * read the source's binlogs beyond. What it lacks behind that place is a tail, and on its way. Neither look need be the
 * older one: the place in the binlogs says which transactions both are about. The source's place is read after its
 * set, and what the replica holds is read after its place.
 * @returns undefined while it has not read so far, or nobody can say
 */
export function passedOver(replica: Observation, source: SourceLook): GtidSet | undefined {
  const channel = replica.server?.channel
  if (!channel?.hasRead || channel.ioRunning !== 'yes' || channel.sourceUuid !== source.uuid) return undefined
  if (isBefore(channel.hasRead, source.end)) return undefined
  return parseGtidSet(source.executed).subtract(heldAtLook(replica))
}

/** What was passed over and has not come since: a receiver that connects anew asks for all that it lacks. */
export function stillLacking(lacking: GtidText, replica: Observation): GtidText {
  return lacking === '' ? '' : parseGtidSet(lacking).subtract(heldAtLook(replica)).toString()
}

/** By the look that tells how far it has read: a promise of before names less than what a kept receiver got since. */
function heldAtLook(replica: Observation): GtidSet {
  return holdsOf({ ...replica, promiseReport: null })
}

export function isBefore(one: BinlogPlace, other: BinlogPlace): boolean {
  return one.file !== other.file ? one.file < other.file : one.position < other.position
}
