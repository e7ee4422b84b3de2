import type { Said } from '#common/sentence/sentence.ts'
import type { Parts } from '#agents/instance/parts.ts'
import { askUntil } from './ask-until.ts'
import type { BuiltInAction, Patience } from '../built-in/built-in-action.ts'
import { refusal, succeeded, type ActionResult } from '../wire/calls.ts'
import { roleAfterLook, type RoleParts } from './role.ts'

type ProvisionedParts = RoleParts & Pick<Parts, 'world' | 'course' | 'volume'>

const lookMs = 200

/**
 * `postProvision` waits until the instance is what the record wants: its accounts, its schema and its replication come
 * with the first assignment. `preTerminate` has on disk what the instance received, so that the volumes that stay are
 * whole; nothing is registered anywhere that would have to be taken out.
 */
export function provisionActions(parts: ProvisionedParts): readonly BuiltInAction[] {
  return [
    { name: 'postProvision', run: (_given, patience) => waitUntilProvisioned(parts, patience) },
    {
      name: 'preTerminate',
      async run() {
        await parts.volume.syncRelayLogs()
        return succeeded(Buffer.from('nothing is registered elsewhere; what this instance received is on its disk'))
      },
    },
  ]
}

async function waitUntilProvisioned(parts: ProvisionedParts, patience: Patience): Promise<ActionResult> {
  const { why } = await askUntil(parts.world, patience, lookMs, async () => {
    const reason = await whyNotProvisioned(parts)
    return { done: reason === undefined, why: reason }
  })
  return why === undefined ? succeeded(Buffer.alloc(0)) : refusal('timedOut', why)
}

async function whyNotProvisioned(parts: ProvisionedParts): Promise<Said | undefined> {
  const role = await roleAfterLook(parts)
  if (role.is === 'none' || role.is === 'unknown') return role.why
  const { done, sentence } = parts.course.converged
  return done ? undefined : sentence
}
