import { groupAddress } from '#failover/protocol/group-address.ts'
import type { ExpelOrder } from '#failover/protocol/order.ts'
import { silentMemberMs } from '#failover/protocol/timings.ts'
import { RegentError } from '#common/errors/errors.ts'
import { duration, lasting, type Said, say } from '#common/sentence/sentence.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import type { ExpulsionPort } from '../ports/expulsion.ts'

/**
 * Has the group remove a member that nobody hears: a machine without power, or cut off. Such a member may live, and
 * loses nothing by that: without the others it agrees on no write, and the group would give it up in the same way 5 s
 * later. So the word of those who do not hear it is enough, and no proof of its death is asked for.
 */
export function beginToExpel(
  parts: Learner & Pick<Parts, 'expulsion' | 'notices' | 'timings'>,
  { silent }: ExpelOrder,
): void {
  const { expulsion, notices, jobs } = parts
  const address = groupAddress(silent)
  const why = whyHeard(parts, expulsion, address)
  if (why !== '' || expulsion === undefined)
    throw new RegentError('REGENT_ORDER_NOT_ALLOWED', say`${silent.instance} is not removed from the group: ${why}`)
  // Asked for once more it could take who has come back to that address meanwhile.
  if (jobs.expellingSilent.has(address)) return
  learn(parts, { fact: 'removalBegan', address })
  void expulsion.expel(address).then((sentence) => {
    learn(parts, { fact: 'removalEnded', address })
    notices.add('GroupMemberExpelled', sentence)
  })
}

function whyHeard({ timings }: Pick<Parts, 'timings'>, expulsion: ExpulsionPort | undefined, address: string): Said {
  const silentMs = expulsion?.silence.get(address)
  if (silentMs === undefined) return say`this agent knows of no member at ${address}`
  const enoughMs = silentMemberMs(timings)
  return silentMs < enoughMs
    ? say`its server is silent ${lasting(silentMs)}, and ${duration(enoughMs)} say something`
    : ''
}
