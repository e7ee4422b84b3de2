import type { Action } from '../protocol/decision.ts'
import { orderVersion } from '../protocol/message.ts'
import { isLive, type Situation } from '../judge/situation.ts'
import type { Mode } from './mode.ts'

/**
 * Tells those who went back in time that they are new members, which cannot be taken back: only while somebody else
 * leads. Else they may be all there is, and a person decides. A paused cluster leaves them as they are: a person may be
 * about to put the right volume back.
 */
export function renounceOrders(situation: Situation, mode: Pick<Mode, 'judge'>): readonly Action[] {
  const { snapshot, record, notes, cluster } = situation
  if (notes.paused || mode.judge(situation).kind !== 'well') return []
  return snapshot.instances.flatMap((view): readonly Action[] => {
    if (!isLive(view) || view.past === undefined) return []
    const { promise, revision, incarnation } = view.observation.stored
    const order = {
      version: orderVersion,
      cluster,
      member: view.past,
      epoch: Math.max(record.epoch, promise),
      revision: Math.max(record.revision, revision),
      incarnation,
    }
    return [{ kind: 'renounce', to: view.name, order }]
  })
}
