import { codeOf } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { Interruptible, ObjectStore } from '#object-store/object-store.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { keyOf } from '../objects/object-key.ts'
import type { Plan } from '../restore/restore-plan.ts'
import { formatVersion } from '../objects/stored-json.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { whyUnproven } from './piece-object.ts'
import type { ReplaySize } from '../restore/space.ts'
import { headRange, requireKeys } from './require-keys.ts'

export interface SignedPart {
  readonly plan: Plan
  readonly replay: ReplaySize
}

interface ReadStore {
  readonly store: Pick<ObjectStore, 'get'>
  readonly key: KeyRing | null
}

/**
 * The part of a plan that can be rehearsed with these keys. Behind a backup of an older Regent lie pieces of that
 * Regent, whose names nobody signed. The rehearsal then takes the backup itself, and the signed pieces before the first
 * unsigned piece. Behind a backup of this format each piece is signed, unless a stranger put one there. So the function
 * throws there, as `requireKeys` in all other cases.
 */
export async function signedPart(plan: Plan, from: ReadStore, options: Interruptible = {}): Promise<SignedPart> {
  try {
    return { plan, replay: await requireKeys(plan, from, options) }
  } catch (error) {
    const isOlder = plan.backup.formatVersion === formatVersion && plan.backup.encryption !== null
    const end = isOlder && codeOf(error) === 'REGENT_REFUSED' ? await firstUnproven(plan, from, options) : null
    if (end === null) throw error
    const part = cutAt(plan, end.at, end.why)
    return { plan: part, replay: await requireKeys(part, from, options) }
  }
}

async function firstUnproven(
  { backup: { cluster, lineage }, steps }: Plan,
  { store, key }: ReadStore,
  { signal }: Interruptible,
): Promise<{ readonly at: number; readonly why: Sentence } | null> {
  for (const [at, { piece }] of steps.entries()) {
    const stored = store.get(keyOf({ kind: 'piece', cluster, piece }), headRange, { signal })
    const why = await whyUnproven(stored, { cluster, lineage, piece }, key)
    if (why !== '') return { at, why: say`${why}` }
  }
  return null
}

function cutAt({ hole: _beyond, ...plan }: Plan, at: number, unsigned: Sentence): Plan {
  const steps = plan.steps.slice(0, at)
  const gtids = steps.reduce((all, step) => all.union(step.gtids), GtidSet.parse(plan.backup.gtids))
  return { ...plan, steps, gtids, unsigned: say`${unsigned}. The next backup needs nothing of that` }
}
