import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import { liveView, type Situation } from '../situation.ts'
import { isWell, judgePrimary } from './verdict.ts'

/**
 * Why writes at a primary that runs wait, and would wait whatever its server does: too few replicas are connected that
 * acknowledge. Null where enough are, or none is needed.
 */
export function whyNotAcknowledged({ snapshot, record }: Situation): Sentence | null {
  const server = liveView(snapshot, record.primary)?.observation.server
  if (server == null || !server.semiSyncSource.enabled) return null
  const { acks } = server.semiSyncSource
  const able = server.dumpThreads.filter(({ semiSync }) => semiSync).length
  return able >= acks
    ? null
    : say`a write needs ${counted(acks, 'acknowledgement')}, and ${counted(able, 'replica')} can give one`
}

/** The primary is well, and its writes are acknowledged: a failover would mend nothing. Null where it could. */
export function whyNothingToMend(situation: Situation): Sentence | null {
  const verdict = judgePrimary(situation)
  return isWell(verdict) && whyNotAcknowledged(situation) === null ? verdict.sentence : null
}
