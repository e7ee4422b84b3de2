import { eventName, microTime } from '#common/events/event-writing.ts'

/** The pod that Events are about. */
export interface EventPod {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly node: string
}

/** An Event of core/v1, as far as anybody here looks at one. The rest is kept as it was read. */
export interface KubeEvent {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly [key: string]: unknown }
  readonly count?: number
  readonly eventTime?: string | null
  readonly [key: string]: unknown
}

/** By these names the manager tells a lifecycle agent's Events from all others. */
const component = 'kbagent'

/** The 32-bit FNV-1a hash of a text in UTF-8, as lower-case hexadecimal without leading zeroes. */
function fnv1a32(text: string): string {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 0).toString(16)
}

/** The name of an Event of a pod: the same for the same content, so that a repetition is counted, not stored again. */
export function contentName({ name, uid }: Pick<EventPod, 'name' | 'uid'>, reason: string, text: string): string {
  return eventName(name, fnv1a32(`${uid}.${reason}.${text}`))
}

/** A new Event. `micros` are microseconds since 1970 UTC. */
export function newEvent(
  pod: EventPod,
  { reason, text }: { readonly reason: string; readonly text: string },
  micros: number,
): KubeEvent {
  const { namespace, name, uid, node } = pod
  const seconds = `${new Date(micros / 1_000).toISOString().slice(0, 19)}Z`
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: contentName(pod, reason, text), namespace },
    involvedObject: { kind: 'Pod', namespace, name, uid, fieldPath: `spec.containers{${component}}` },
    reason,
    message: text,
    source: { component, host: node },
    firstTimestamp: seconds,
    lastTimestamp: seconds,
    count: 1,
    type: 'Normal',
    eventTime: microTime(micros),
    action: reason,
    reportingComponent: component,
    reportingInstance: name,
  }
}

/** The same Event, seen once more. Its last timestamp stays, as KubeBlocks' agent leaves it. */
export function repeatedEvent(event: KubeEvent, micros: number): KubeEvent {
  return { ...event, count: (event.count ?? 0) + 1, eventTime: microTime(micros) }
}
