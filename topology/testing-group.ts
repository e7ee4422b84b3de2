import type { InstanceName } from './snapshot/member.ts'
import type { GroupMember, GroupState, MemberState } from './snapshot/observation.ts'
import { hostOf, uuidOf, type ServerOverrides, type ViewOverrides } from './testing.ts'

/** The replication group of `shop`, as its members see it: shop-0 is primary, and all are ONLINE in view 5. */
export interface GroupShape extends Partial<Omit<GroupState, 'members'>> {
  /** Everybody of the view, by instance; by default shop-0, shop-1 and shop-2, all ONLINE. */
  readonly members?: Readonly<Record<InstanceName, MemberState>>
  /** Whom this view calls primary; null for nobody. By default shop-0. */
  readonly primary?: InstanceName | null
  /** Whom it calls primary in multi-primary mode, in place of `primary`. */
  readonly writers?: readonly InstanceName[]
  readonly versions?: Readonly<Record<InstanceName, string>>
}

export const groupName = '0a0a0a0a-0b0b-8c0c-8d0d-0e0e0e0e0e0e'
export const allOnline: Readonly<Record<InstanceName, MemberState>> = {
  'shop-0': 'ONLINE',
  'shop-1': 'ONLINE',
  'shop-2': 'ONLINE',
}

export function viewId(number: number): string {
  return `17321234567890123:${number}`
}

/** What `instance` says of the group. */
export function aGroupState(instance: InstanceName, shape: GroupShape = {}): GroupState {
  const { members = allOnline, primary = 'shop-0', versions = {}, ...more } = shape
  const { writers = primary === null ? [] : [primary], ...rest } = more
  return {
    name: groupName,
    state: members[instance] ?? 'OFFLINE',
    viewId: viewId(5),
    members: Object.entries(members).map(([name, state]): GroupMember => ({
      uuid: uuidOf(name),
      host: hostOf(name),
      port: 3306,
      state,
      role: state !== 'ONLINE' && state !== 'UNREACHABLE' ? '' : writers.includes(name) ? 'PRIMARY' : 'SECONDARY',
      version: versions[name] ?? '9.7.4',
    })),
    certifying: 0,
    applying: 0,
    error: '',
    ...rest,
  }
}

/** What a server shows that is in no group. */
export function outsideGroup(shape: GroupShape = {}): GroupShape {
  return { state: 'OFFLINE', viewId: '', members: {}, ...shape }
}

/** The server of `instance`, as a member of the group or outside of the group. */
export function inGroup(instance: InstanceName, shape: GroupShape = {}, more: ServerOverrides = {}): ServerOverrides {
  return { channel: null, group: aGroupState(instance, shape), ...more }
}

/** All three instances, with what a test overrides of what each of them sees. */
export function groupViews(
  shapes: Readonly<Record<InstanceName, GroupShape>> = {},
  more: Readonly<Record<InstanceName, ViewOverrides>> = {},
): Readonly<Record<InstanceName, ViewOverrides>> {
  return Object.fromEntries(
    ['shop-0', 'shop-1', 'shop-2'].map((name): [InstanceName, ViewOverrides] => {
      const { server, ...rest } = more[name] ?? {}
      return [name, { ...rest, server: server === null ? null : inGroup(name, shapes[name], server) }]
    }),
  )
}
