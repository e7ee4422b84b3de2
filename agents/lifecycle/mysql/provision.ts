import type { Parts } from '../../instance/parts.ts'
import type { BuiltInAction, Patience } from '../built-in/built-in-action.ts'
import { refusal, succeeded, type ActionResult } from '../wire/calls.ts'
import { roleAfterLook, type RoleParts } from './role.ts'

type ProvisionedParts = RoleParts & Pick<Parts, 'world' | 'course' | 'volume'>

const lookMs = 200
/** A call without a limit waits so long. */
const longestMs = 600_000

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

async function waitUntilProvisioned(parts: ProvisionedParts, { deadlineMs, signal }: Patience): Promise<ActionResult> {
  const { world } = parts
  const untilMs = world.clock.monotonicMs() + (deadlineMs ?? longestMs)
  for (;;) {
    const why = await whyNotProvisioned(parts)
    if (why === undefined) return succeeded(Buffer.alloc(0))
    if (world.clock.monotonicMs() + lookMs >= untilMs || signal.aborted) return refusal('timedOut', why)
    await world.timers.sleep(lookMs)
  }
}

async function whyNotProvisioned(parts: ProvisionedParts): Promise<string | undefined> {
  const role = await roleAfterLook(parts)
  if (role.is === 'none' || role.is === 'unknown') return role.why
  const { done, sentence } = parts.course.converged
  return done ? undefined : sentence
}
