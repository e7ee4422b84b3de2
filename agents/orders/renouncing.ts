import { say } from '#common/sentence/sentence.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { RenounceOrder } from '#failover/protocol/order.ts'
import type { Parts } from '../instance/parts.ts'

/**
 * Its volume went back in time (docs/why/safety.md, "A volume that went back in time"): it becomes a new member, with
 * an id of its own, that promised nothing and waits to be seeded. Everything that could accept or acknowledge a write
 * ends first, then one write to disk changes who it is: an agent that dies before it is told again, one that dies after
 * it is the new member. `checkOrder` has passed.
 */
export async function renounce(
  parts: Learner & Pick<Parts, 'file' | 'notices' | 'process' | 'server' | 'world'>,
  order: RenounceOrder,
): Promise<void> {
  const { file, process, server, world, notices } = parts
  const { assignment, volume } = file.current
  const up = process.state !== 'dead' && process.state !== 'absent'
  if (up && assignment?.role === 'primary') await process.kill()
  else if (process.state === 'running') await server.stopReceiver()
  learn(parts, { fact: 'renounced' })
  // Its tail and its memory are doubtful like everything else here: it is archived where the cluster lacks it, and
  // replaced.
  const cleared = { mayHaveTail: false, unsettled: false, forgetful: false, stoppedInOrder: false }
  await file.update({
    ...cleared,
    volume: world.random.hex(12),
    assignment: null,
    revision: order.revision,
    fromThePast: true,
  })
  notices.add(
    'VolumeFromThePast',
    say`the volume went back in time: it was ${volume} and is a new member, ${file.current.volume}, from now on`,
  )
}
