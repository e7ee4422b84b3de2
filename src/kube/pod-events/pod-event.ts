import type { MergePatch } from '#controller-runtime/client/kube-client.ts'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { marks } from './marks.ts'

/**
 * An Event of core/v1, as agents write it. Their count grows in place, which an Event of `events.k8s.io/v1` cannot, so
 * this is another type than `KubeEvent`.
 */
export interface PodEvent extends KubeObject {
  readonly involvedObject?: {
    readonly kind?: string
    readonly name?: string
    readonly uid?: string
    readonly fieldPath?: string
  }
  readonly reason?: string
  readonly message?: string
  readonly count?: number
  readonly eventTime?: string | null
  readonly firstTimestamp?: string | null
  readonly lastTimestamp?: string | null
  /** `reportingController` in Go. */
  readonly reportingComponent?: string
  /** Set where it was too large to be kept: so many letters, and nothing of what it said. */
  readonly unread?: number
}

export const podEvents: Resource<PodEvent> = {
  group: '',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
}

const agent = 'kbagent'
const legacyReason = 'checkRole'
const legacyPaths: ReadonlySet<string> = new Set([
  'spec.containers{lorry}',
  'spec.containers{kb-checkrole}',
  'spec.containers{kb-role-probe}',
])

/**
 * What the API server is asked to watch. Both fields are selectable, and the rest of a cluster's Events, which are
 * many, never leaves the API server. A field selector knows no "or", so there are two.
 */
export const selections = {
  agents: { as: 'of agents', fieldSelector: `reportingComponent=${agent}` },
  legacy: { as: 'of older agents', fieldSelector: `reason=${legacyReason}` },
} as const

/** Whether an agent wrote it about its pod: KubeBlocks' agent, or what was there before. */
export function isOfAgent({ involvedObject, reason, reportingComponent }: PodEvent): boolean {
  if (involvedObject?.kind !== 'Pod') return false
  return reportingComponent === agent || isLegacy({ involvedObject, reason: reason ?? '' })
}

/** Whether the agent before KubeBlocks' 1.0, or a readiness probe, wrote it. */
export function isLegacy({ involvedObject, reason }: Pick<PodEvent, 'involvedObject' | 'reason'>): boolean {
  return reason === legacyReason && legacyPaths.has(involvedObject?.fieldPath ?? '')
}

/** Whether the Event was handled, this often as it happened. A repeat counts on, and is to be handled again. */
export function isHandled({ metadata, count = 0 }: PodEvent): boolean {
  return metadata.annotations?.[marks.handled] === String(count)
}

/** Says that it was handled. Without a version: a count that grows meanwhile shows that there is more to handle. */
export function handledPatch({ count = 0 }: PodEvent, isAboutRole: boolean): MergePatch {
  const annotations = {
    [marks.handled]: String(count),
    ...(isAboutRole && { [marks.roleHandled]: `count-${count}` }),
  }
  return { metadata: { annotations } }
}

/**
 * When it happened last, in microseconds since 1970; 0 where it does not say. An agent moves `eventTime` on with each
 * repeat and leaves `lastTimestamp` as it was: the second only stands in for the first.
 */
export function happenedMicros({ eventTime, lastTimestamp, firstTimestamp }: PodEvent): bigint {
  const [, seconds, fraction = ''] =
    /^(.+?)(?:\.(\d+))?Z$/.exec(eventTime ?? lastTimestamp ?? firstTimestamp ?? '') ?? []
  const ms = Date.parse(`${seconds ?? ''}Z`)
  if (Number.isNaN(ms)) return 0n
  return BigInt(ms) * 1_000n + BigInt(fraction.padEnd(6, '0').slice(0, 6))
}
