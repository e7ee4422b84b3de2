import { say } from '#common/sentence/sentence.ts'
import type { PasswordsOrder } from '#failover/protocol/order.ts'
import type { Parts } from '../instance/parts.ts'
import type { Learner } from '../instance/learn.ts'
import { inBackground } from './in-background.ts'

type PasswordParts = Learner & Pick<Parts, 'changed' | 'file' | 'notices' | 'observer' | 'process' | 'server' | 'world'>

/** Twice this long, and a change of an account waits for an acknowledgement: no lock is waited for so long. */
const halfPatienceMs = 5_000

/**
 * Gives the accounts for people and applications other passwords, in the background. Seen on 9.7: a change of an
 * account that waits for its acknowledgement lets nobody log in, the replicas neither that could give it. So it begins
 * right after a marker was acknowledged; and where the acknowledgement fails to come all the same, the server is
 * killed, never drained: what waits is then cut off or committed as in every crash, and the order is given again.
 */
export function beginPasswords(parts: PasswordParts, order: PasswordsOrder): void {
  inBackground(
    parts,
    'changesPasswords',
    () => changePasswords(parts, order),
    (error) => parts.notices.failed('PasswordsNotChanged', say`the passwords of accounts were not changed`, error),
  )
}

async function changePasswords(parts: PasswordParts, order: PasswordsOrder): Promise<void> {
  const { server, world, notices } = parts
  await server.writeMarker(world.random.hex(16), 2)
  if (!stillLeads(parts, order)) return
  const watch = watchLockout(parts, order)
  try {
    await server.setPasswords(order)
  } finally {
    watch.cancel()
  }
  notices.add(
    'PasswordsChanged',
    order.old === 'kept'
      ? say`accounts have new passwords; the old ones are accepted too`
      : say`the old passwords of accounts are not accepted any more`,
  )
}

/** In two halves: a machine that slept wakes up after the first, and hears the answer before the second is over. */
function watchLockout(
  parts: Pick<Parts, 'file' | 'notices' | 'process' | 'world'>,
  order: PasswordsOrder,
): { cancel(): void } {
  const { world, process } = parts
  const { pid } = process
  let timer = world.timers.after(halfPatienceMs, () => {
    timer = world.timers.after(halfPatienceMs, () => {
      if (stillLeads(parts, order) && process.pid === pid) endLockout(parts)
    })
  })
  return { cancel: () => timer.cancel() }
}

function endLockout({ process, notices }: Pick<Parts, 'notices' | 'process'>): void {
  notices.add(
    'AccountChangeKilled',
    say`a change of passwords was not acknowledged within ${(2 * halfPatienceMs) / 1_000} s and let nobody log in, replicas neither: mysqld is killed`,
  )
  process
    .kill()
    .catch((error: unknown) => notices.failed('AccountChangeKilled', say`mysqld could not be killed`, error))
}

function stillLeads({ file: { current } }: Pick<Parts, 'file'>, { epoch }: PasswordsOrder): boolean {
  return current.assignment?.role === 'primary' && current.assignment.epoch === epoch && current.promise === epoch
}
