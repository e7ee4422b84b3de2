import { delaySecondsOf } from './channel-delay.ts'
import type { Heartbeat } from './copies.ts'
import { lagByHeartbeat } from './lag.ts'
import type { Channel, Observation } from './observation.ts'

/** How far a replica is behind, by what its own server says. */
export interface Replicating {
  /** Replication is as it should be: neither stopped, filtered nor delayed. */
  readonly follows: boolean
  /** Whatever arrives is applied, and at once; also while the source is away. */
  readonly isWhole: boolean
  /** By the words of its own server; a source that is silent counts. */
  readonly lagMs: number
  /** By how much the server is behind with what has arrived. */
  readonly applyLagMs: number
  readonly appliedUpToMs: number | undefined
}

/** A source sends something twice a second. */
export const silentSourceMs = 2_000

export function replicatingOf({ server, stored }: Pick<Observation, 'server' | 'stored'>): Replicating {
  if (server?.group !== undefined) {
    const { state, lagSeconds, appliedUpToMs } = server.group
    const isWhole = state === 'ONLINE'
    const lagMs = inMs(lagSeconds)
    return { follows: isWhole, isWhole, lagMs, applyLagMs: lagMs, appliedUpToMs }
  }
  const channel = server?.channel
  if (!channel) return { follows: false, isWhole: false, lagMs: 0, applyLagMs: 0, appliedUpToMs: undefined }
  const { ioRunning, sqlRunning, lagSeconds, appliedUpToMs } = channel
  const isWhole = sqlRunning && !channel.filtered && !stored.filterSeen && delaySecondsOf(channel) === 0
  return {
    follows: ioRunning === 'yes' && isWhole,
    isWhole,
    lagMs: Math.max(inMs(lagSeconds), silenceOf(channel)),
    applyLagMs: inMs(lagSeconds),
    appliedUpToMs,
  }
}

/** Lag of a replica: what its server says, or what the heartbeat of its primary shows. */
export function lagMsOf(
  { lagMs, appliedUpToMs }: Pick<Replicating, 'lagMs' | 'appliedUpToMs'>,
  heartbeat: Heartbeat | undefined,
): number {
  return Math.max(lagMs, (lagByHeartbeat(heartbeat, appliedUpToMs) ?? 0) * 1_000)
}

function inMs(seconds: number | null | undefined): number {
  return (seconds ?? 0) * 1_000
}

function silenceOf({ silentMs }: Channel): number {
  return silentMs !== null && silentMs > silentSourceMs ? silentMs : 0
}
