import { holdsOf } from '../snapshot/holdings.ts'
import type { InstanceName } from '../snapshot/member.ts'
import type { GroupState, MemberState } from '../snapshot/observation.ts'
import type { InstanceView, Snapshot } from '../snapshot/snapshot.ts'
import { groupSeenBy, type GroupCondition, type GroupView, type KnownGroup } from './group-view.ts'

/** A replication group as people are shown it. */
export interface ShownGroup {
  readonly name: string
  readonly condition: GroupCondition
  /** '' without a majority. */
  readonly viewId: string
  readonly primary: InstanceName | null
  /** Online members, of those that there are to be. */
  readonly online: number
  readonly expected: number
  /** So many of those that are online may be lost at once, and the rest is still a majority. */
  readonly mayBeLost: number
  readonly members: ReadonlyMap<InstanceName, ShownMember>
}

interface ShownMember {
  /** As the majority's view has it; without a majority as its own server has it. Null: nothing is known. */
  readonly state: MemberState | 'MISSING' | null
  readonly role: 'PRIMARY' | 'SECONDARY' | null
  /** Transactions that wait there to be certified, and to be applied. Null: it is not heard. */
  readonly certifying: number | null
  readonly applying: number | null
  /** Transactions of the primary that it lacks while it recovers. Null: it does not recover, or that is not known. */
  readonly lacks: number | null
}

export function shownGroup(view: GroupView, snapshot: Snapshot, { name, expected, frozenMs }: KnownGroup): ShownGroup {
  const online = expected.filter((one) => view.members.get(one) === 'ONLINE').length
  const names = [...new Set([...expected, ...snapshot.instances.map((instance) => instance.name)])]
  return {
    name,
    condition: view.condition,
    viewId: view.viewId,
    primary: view.primary,
    online,
    expected: expected.length,
    mayBeLost: mayBeLost(view, online),
    members: new Map(names.map((one) => [one, shownMember(one, view, { snapshot, frozenMs })])),
  }
}

/** The group counts everybody of its view, members that it does not hear among them. */
function mayBeLost({ members, viewId }: GroupView, online: number): number {
  const majority = Math.floor(members.size / 2) + 1
  return viewId === '' ? 0 : Math.max(0, online - majority)
}

function shownMember(
  name: InstanceName,
  view: GroupView,
  { snapshot, frozenMs }: { readonly snapshot: Snapshot; readonly frozenMs: number },
): ShownMember {
  const instance = snapshot.instances.find((one) => one.name === name)
  const own = instance && groupSeenBy(instance, frozenMs)
  const state = stateIn(view, name, own?.state ?? null)
  return {
    state,
    role: roleIn(view, name, state),
    ...workOf(own),
    lacks: state === 'RECOVERING' && instance !== undefined ? lackedBy(instance, view.primary, snapshot) : null,
  }
}

function stateIn({ viewId, members }: GroupView, name: InstanceName, own: MemberState | null): ShownMember['state'] {
  return viewId === '' ? own : (members.get(name) ?? 'MISSING')
}

function roleIn({ viewId, primary }: GroupView, name: InstanceName, state: ShownMember['state']): ShownMember['role'] {
  if (state !== 'ONLINE' || viewId === '') return null
  return name === primary ? 'PRIMARY' : 'SECONDARY'
}

function workOf(own: GroupState | undefined): Pick<ShownMember, 'certifying' | 'applying'> {
  return own === undefined
    ? { certifying: null, applying: null }
    : { certifying: own.certifying, applying: own.applying }
}

/**
 * What the primary has executed and this instance has not. Null where the primary or the instance is not heard now:
 * what it lacks may change.
 */
export function lackedBy(one: InstanceView, primary: InstanceName | null, { instances }: Snapshot): number | null {
  const source = instances.find(({ name }) => name === primary)
  const [own, other] = [one, source].map((view) => (view?.reachable === true ? view.observation : null))
  if (!own?.server || !other?.server) return null
  const has = holdsOf({ promiseReport: null, binlogSet: null, server: { ...own.server, received: '', owned: '' } })
  return holdsOf(other).subtract(has).count()
}
