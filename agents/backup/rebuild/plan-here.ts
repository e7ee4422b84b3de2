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

/**
 * What is to be rebuilt on the volume of this instance. Throws `REGENT_REFUSED`, and `REGENT_BACKUP_UNUSABLE` where a
 * part is missing, before anything is downloaded.
 */
export async function planHere(
  parts: Pick<Parts, 'config' | 'observer'>,
  wanted: WantedState & { readonly of: string },
  opened: OpenedStore,
): Promise<Plan> {
  const plan = await planOf(wanted, opened, releaseOf(parts.observer.server?.version ?? ''))
  await requireParts(plan.backup, opened.store)
  await requireRoom(parts, plan, await requireKeys(plan, opened))
  return plan
}

async function requireRoom(
  { observer, config }: Pick<Parts, 'config' | 'observer'>,
  { backup, steps }: Plan,
  size: ReplaySize,
): Promise<void> {
  const [freeBytes, replay] = [await observer.freeBytesNow(), steps.length === 0 ? null : size]
  const asked = { backup, replay, besidesBytes: config.lowSpaceBytes, freeBytes }
  const why = whyNoRoom(asked, say`on the volume of ${config.instance}`)
  if (why !== '') throw new RegentError('REGENT_REFUSED', why)
}
