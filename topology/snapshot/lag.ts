import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import type { Heartbeat } from './copies.ts'
import type { Channel } from './observation.ts'

/** To apply while writes wait for it: more than this is an outage of its own, whatever the clock says. */
export const maxBacklog = 1_000

type Lag = Pick<Channel, 'lagSeconds' | 'backlogTransactions'>

/**
 * Whether a replica is too far behind to be called whole. Its acknowledgement counts all the same: what it acknowledged
 * it has received. A backlog without a lag belongs to a replica that applies nothing at this moment; one that applies a
 * large backlog within a second or two is not behind.
 */
export function isBehind({ lagSeconds, backlogTransactions }: Lag, maxLagSeconds: number): boolean {
  return lagSeconds === null ? backlogTransactions > maxBacklog : lagSeconds > maxLagSeconds
}

/** `666 s behind with 9104 transactions to apply`. */
export function describeLag({ lagSeconds, backlogTransactions }: Lag): Sentence {
  const behind = lagSeconds === null ? 'behind' : say`${Math.round(lagSeconds)} s behind`
  return say`${behind} with ${counted(backlogTransactions, 'transaction')} to apply`
}

/**
 * Seconds by which a replica is behind the heartbeat of its primary, also where nothing is to be applied: what does not
 * arrive is seen as well. Both times were taken by the clock of the primary's machine. Less than two heartbeats is
 * nothing: the two servers are not looked at in the same moment. Null where one of the times is not known.
 */
export function lagByHeartbeat(heartbeat: Heartbeat | undefined, appliedUpToMs: number | undefined): number | null {
  if (heartbeat === undefined || appliedUpToMs === undefined) return null
  const behindMs = heartbeat.atMs - appliedUpToMs
  return behindMs < 2 * heartbeat.everyMs ? 0 : Math.round(behindMs / 100) / 10
}
