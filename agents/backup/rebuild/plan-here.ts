import type { Plan } from '#backup/restore/restore-plan.ts'
import type { WantedState } from '#backup/restore/restore-target.ts'
import { releaseOf } from '#backup/restore/server-fit.ts'
import { whyNoRoom, type ReplaySize } from '#backup/restore/space.ts'
import { planOf } from '#backup/transfer/plan-from-store.ts'
import { requireKeys } from '#backup/transfer/require-keys.ts'
import { requireParts } from '#backup/transfer/require-parts.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Parts } from '#agents/instance/parts.ts'
import type { OpenedStore } from '#agents/ports/backup-port.ts'
import type { HalfCopy } from '#agents/ports/volume.ts'
import { copyNameOf } from './fetch-base.ts'

export interface PlanHere {
  readonly plan: Plan
  /** Where that grows. */
  readonly folder: string
  /** What is in there. */
  readonly half: HalfCopy
}

/**
 * What is to be rebuilt on the volume of this instance. A half copy of anything else is removed. Throws
 * `REGENT_REFUSED`, and `REGENT_BACKUP_UNUSABLE` where a part is missing, before anything is downloaded.
 */
export async function planHere(
  parts: Pick<Parts, 'config' | 'observer' | 'volume'>,
  wanted: WantedState & { readonly of: string },
  opened: OpenedStore,
): Promise<PlanHere> {
  const { volume } = parts
  const plan = await planOf(wanted, opened, releaseOf(parts.observer.server?.version ?? ''))
  await requireParts(plan.backup, opened.store)
  const size = await requireKeys(plan, opened)
  const half = await volume.halfCopy(copyNameOf(plan.backup))
  const folder = half.kept?.folder ?? (await volume.freshSeedFolder())
  await requireRoom(parts, plan, { size, hereBytes: half.kept?.end.bytes ?? 0 })
  return { plan, folder, half }
}

async function requireRoom(
  { observer, config }: Pick<Parts, 'config' | 'observer'>,
  { backup, steps }: Plan,
  { size, hereBytes }: { readonly size: ReplaySize; readonly hereBytes: number },
): Promise<void> {
  // What is here of the backup is not needed once more.
  const freeBytes = hereBytes + (await observer.freeBytesNow())
  const replay = steps.length === 0 ? null : size
  const asked = { backup, replay, besidesBytes: config.lowSpaceBytes, freeBytes }
  const why = whyNoRoom(asked, say`on the volume of ${config.instance}`)
  if (why !== '') throw new RegentError('REGENT_REFUSED', why)
}
