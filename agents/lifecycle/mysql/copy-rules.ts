import { mebibytes, say, type Sentence } from '#common/sentence/sentence.ts'
import type { Parts } from '#agents/instance/parts.ts'
import { hasDataInDoubt } from '#agents/instance/stored-state.ts'
import type { VolumePort } from '#agents/ports/volume.ts'
import type { Role, RoleParts } from './role.ts'

export type CopyParts = RoleParts &
  Pick<Parts, 'copying' | 'jobs' | 'pod' | 'world'> & {
    readonly volume: Pick<VolumePort, 'dataBytes'>
  }

/**
 * Free space that a copy leaves, as a multiple of the space at which a primary closes: below four times that space
 * the agent purges binlogs that others may still need, and no copy is worth that.
 */
const reserve = 4
/** What a server writes while it is copied comes on top of what was there. */
const growth = 1.1

/** Why no copy of this server may begin; undefined where one may. */
export async function whyNoCopy(parts: CopyParts, role: Role): Promise<Sentence | undefined> {
  if (role.is === 'unknown' || role.is === 'none') return role.why
  const foreign = parts.observer.server?.foreignTables ?? []
  if (foreign.length > 0)
    return say`this server has tables that are not InnoDB, whose rows no CLONE copies: ${foreign.slice(0, 3).join(', ')}`
  return whyUnfit(parts) ?? whyNoSpace(parts)
}

/**
 * Why a copy under way must end; undefined where it may go on. While CLONE is at work on the server, whatever the
 * server is to become comes first: a promise of another epoch, or another role.
 *
 * @param during what was when the copy began; null once the copy is made, and only sent
 */
export function whyStop(
  parts: CopyParts,
  during: { readonly role: Role; readonly promise: number } | null,
): Sentence | undefined {
  const unfit = whyUnfit(parts)
  if (unfit !== undefined) return unfit
  const { observer, config, file } = parts
  if (observer.freeBytes !== null && observer.freeBytes < config.lowSpaceBytes * 2)
    return say`${mebibytes(observer.freeBytes)} are free on the volume, which its server needs itself`
  if (during === null) return undefined
  const { promise, assignment } = file.current
  const isPrimary = assignment?.role === 'primary'
  if (promise !== during.promise || isPrimary !== (during.role.is === 'primary'))
    return say`the cluster is changing its primary, and a server that is copied may be slow to follow`
  return undefined
}

function whyUnfit({ file, copying, pod, world }: CopyParts): Sentence | undefined {
  const { seeding, unproven } = file.current
  if (seeding || unproven || copying.progress !== null) return say`this instance is made anew as a copy of another one`
  if (hasDataInDoubt(file.current))
    return say`the data of this instance are in doubt, and nobody would know of that where they are copied to`
  if (pod.termination !== null) return say`this pod is ending`
  if (pod.hasLeft || pod.leavesUntilMs > world.clock.monotonicMs()) return say`this instance is leaving its cluster`
  return undefined
}

/** The rules of a copy under way go by the same look: space that was made since the one before counts. */
async function whyNoSpace({ volume, observer, config }: CopyParts): Promise<Sentence | undefined> {
  const [bytes, freeBytes] = [await volume.dataBytes(), await observer.freeBytesNow()]
  const needed = Math.ceil(bytes * growth) + config.lowSpaceBytes * reserve
  if (freeBytes >= needed) return undefined
  const takes = say`a copy takes ${mebibytes(bytes)} for a while, and with what a server needs ${mebibytes(needed)} must be free`
  return say`the volume has ${mebibytes(freeBytes)} free; ${takes}`
}
