import type { ObjectMeta } from '#controller-runtime/objects/objects.ts'
import type { Pod } from '../pods/stateful-set.ts'
import type { Owner } from './component.ts'
import { decideRole, hearRole, type RoleQuestion, type Speaker } from './decide-role.ts'
import type { Change, PodDecision } from './decision.ts'
import { marks, roleLabel } from './marks.ts'
import type { PodEvent } from './pod-event.ts'

/** A component for tests: StatefulSet `db` with pods `db-0`, `db-1`, …, and what their agents say. */

export const exclusivePrimary = '[{"name":"primary","isExclusive":true},{"name":"secondary"}]'

export function anOwner(annotations: Readonly<Record<string, string>> = {}, spec: Owner['spec'] = {}): Owner {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace: 'shops', uid: 'set-1', resourceVersion: '1', annotations },
    spec: { replicas: 3, selector: { matchLabels: { app: 'db' } }, ...spec },
  }
}

export interface MemberShape {
  readonly role?: string
  readonly snapshot?: string
  readonly authoritative?: string
  readonly ready?: boolean
  readonly metadata?: Partial<ObjectMeta>
}

/** Ready unless said otherwise; its uid is `uid-<ordinal>`. */
export function aMember(ordinal: number, shape: MemberShape = {}): Pod {
  const { role, snapshot, authoritative, ready = true, metadata } = shape
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `db-${ordinal}`,
      namespace: 'shops',
      uid: `uid-${ordinal}`,
      resourceVersion: '7',
      labels: { app: 'db', ...(role !== undefined && { [roleLabel]: role }) },
      annotations: {
        ...(snapshot !== undefined && { [marks.snapshotVersion]: snapshot }),
        ...(authoritative !== undefined && { [marks.authoritativeVersion]: authoritative }),
      },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'set-1', controller: true }],
      ...metadata,
    },
    status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  }
}

export interface SaidShape {
  readonly code?: number
  readonly message?: string
  readonly uid?: string
  /** Seconds after midnight. */
  readonly at?: number
  readonly event?: Partial<PodEvent>
}

/** What the agent in `db-<ordinal>` says of its role. */
export function roleSaid(ordinal: number, output: string, shape: SaidShape = {}): PodEvent {
  const { code = 0, message, ...rest } = shape
  const text = Buffer.from(output).toString('base64')
  return said(ordinal, 'roleProbe', { instance: 'db', probe: 'roleProbe', code, output: text, message }, rest)
}

/** What an agent before 1.0 says. */
export function legacySaid(ordinal: number, message: string, shape: SaidShape = {}): PodEvent {
  const event = said(ordinal, 'checkRole', {}, shape)
  return {
    ...event,
    message,
    reportingComponent: 'lorry',
    involvedObject: { ...event.involvedObject, fieldPath: 'spec.containers{lorry}' },
  }
}

/** Any Event of an agent, with its message as JSON. */
export function said(
  ordinal: number,
  reason: string,
  message: object,
  { uid, at = 60, event }: SaidShape = {},
): PodEvent {
  const name = `db-${ordinal}`
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.${reason}-${at}`, namespace: 'shops', uid: `event-${ordinal}-${at}` },
    involvedObject: { kind: 'Pod', name, uid: uid ?? `uid-${ordinal}`, fieldPath: 'spec.containers{kbagent}' },
    reportingComponent: 'kbagent',
    reason,
    message: JSON.stringify(message),
    count: 1,
    eventTime: momentOf(at),
    ...event,
  }
}

/** The µs of that moment, as annotations have them. */
export function microsOf(at: number): string {
  return String(BigInt(Date.parse(momentOf(at))) * 1_000n)
}

/** So many seconds after midnight, as the API server writes an `eventTime`. */
export function momentOf(at: number): string {
  return new Date(Date.UTC(2026, 0, 1) + Math.round(at * 1_000)).toISOString().replace('Z', '000Z')
}

/** The pods after these changes. */
export function changed(all: readonly Pod[], changes: readonly Change[]): readonly Pod[] {
  return changes.reduce<readonly Pod[]>((now, change) => now.map((pod) => patched(pod, change)), all)
}

function patched(pod: Pod, { key, patch }: Change): Pod {
  if (pod.metadata.name !== key.name) return pod
  const { labels = {}, annotations = {} } = patch['metadata'] as {
    readonly labels?: Readonly<Record<string, string | null>>
    readonly annotations?: Readonly<Record<string, string | null>>
  }
  const { metadata } = pod
  return {
    ...pod,
    metadata: {
      ...metadata,
      labels: merged(metadata.labels, labels),
      annotations: merged(metadata.annotations, annotations),
    },
  }
}

function merged(before: Readonly<Record<string, string>> = {}, patch: Readonly<Record<string, string | null>>) {
  const all = Object.entries({ ...before, ...patch })
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== null))
}

/** What becomes of a pod's word about its role, with owner and peers at hand. */
export function decidedRole(
  event: PodEvent,
  { pod, ...known }: Omit<RoleQuestion, keyof Speaker> & { readonly pod: Pod | undefined },
): PodDecision {
  const heard = hearRole(event, pod)
  return 'claim' in heard ? decideRole({ ...heard, ...known }) : heard
}
