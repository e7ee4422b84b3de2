import { allOf } from '../../src/common/text/words.ts'
import type { GroupMember, GroupState, MemberState, Observation } from '../snapshot/observation.ts'
import { hasMajority } from './majority.ts'
import { soleWriter, writersOf } from './writers.ts'
import type { InstanceName } from '../snapshot/member.ts'
import type { InstanceView, Snapshot } from '../snapshot/snapshot.ts'

/**
 * What can be said of a replication group by what its members say. `online`: a majority agrees on a view, and each
 * expected member is ONLINE in that view. `partial`: a majority agrees, and somebody is missing. `noQuorum`: members
 * are there, and none of them hears a majority. `outage`: each expected member answers, and none of them is in the
 * group. `uncertain`: nobody who answers is in the group, and somebody does not answer. `splitBrain`: two majorities of
 * different members.
 */
export type GroupCondition = 'online' | 'partial' | 'noQuorum' | 'outage' | 'uncertain' | 'splitBrain'

export interface GroupView {
  readonly condition: GroupCondition
  /** The member that the majority calls primary; null where there is none. */
  readonly primary: InstanceName | null
  /** Everybody of the majority's newest view, by instance; without a majority, of the largest view. */
  readonly members: ReadonlyMap<InstanceName, MemberState>
  /** Of that view; '' without a majority. */
  readonly viewId: string
  readonly sentence: string
}

/** What is to be known of a group beforehand. */
export interface KnownGroup {
  /** `group_replication_group_name` */
  readonly name: string
  /** Who is to be a member; first whoever is primary by the record. */
  readonly expected: readonly InstanceName[]
  /** What a server said longer ago counts for nothing. */
  readonly frozenMs: number
}

interface Witness {
  readonly name: InstanceName
  readonly group: GroupState
}

export function groupView({ instances }: Snapshot, { name, expected, frozenMs }: KnownGroup): GroupView {
  const witnesses = instances.flatMap((view): readonly Witness[] => {
    const group = groupSeenBy(view, frozenMs)
    return group?.name === name && isMember(group.state) ? [{ name: view.name, group }] : []
  })
  const seen = witnesses.map((witness) => ({ witness, members: membersOf(witness.group, instances) }))
  const agreeing = seen.filter(({ witness }) => hasMajority(witness.group))
  const [first, ...others] = agreeing.toSorted(newestFirst)
  if (first === undefined)
    return withoutMajority(
      instances,
      expected,
      seen.map(({ members }) => members),
    )
  const apart = others.find(({ members }) => ![...members.keys()].some((one) => first.members.has(one)))
  if (apart !== undefined)
    return {
      condition: 'splitBrain',
      primary: null,
      members: first.members,
      viewId: '',
      sentence: `two groups: ${allOf([...first.members.keys()])}, and ${allOf([...apart.members.keys()])}. Nothing is done; a person decides whose writes count`,
    }
  return withMajority(
    agreeing.map(({ witness }) => witness).filter(({ group }) => group.viewId === first.witness.group.viewId),
    first.members,
    { instances, expected },
  )
}

function withMajority(
  witnesses: readonly Witness[],
  members: ReadonlyMap<InstanceName, MemberState>,
  { instances, expected }: { instances: readonly InstanceView[]; expected: readonly InstanceName[] },
): GroupView {
  const primary = primaryBy(witnesses, instances, expected[0])
  const viewId = witnesses[0]?.group.viewId ?? ''
  const missing = expected.filter((one) => members.get(one) !== 'ONLINE')
  const size = `${expected.length - missing.length} of ${expected.length} members online`
  const leads = primary === null ? 'the group has no primary at this moment' : `${primary} is primary of the group`
  if (missing.length === 0) return { condition: 'online', primary, members, viewId, sentence: `${leads}, ${size}` }
  const states = missing.map((one) => `${one} is ${members.get(one)?.toLowerCase() ?? 'missing'}`)
  return { condition: 'partial', primary, members, viewId, sentence: `${leads}, ${size}: ${allOf(states)}` }
}

/**
 * Of the newest view alone: a member that has not heard of it yet still names whom the view before made primary. Of
 * several writers the members make one go on alone, the same one as here.
 */
function primaryBy(
  witnesses: readonly Witness[],
  instances: readonly InstanceView[],
  recorded: InstanceName | undefined,
): InstanceName | null {
  const named = witnesses.flatMap(({ group }) => {
    const primary = soleWriter(writersOf(group), (member) => nameOf(member, instances) === recorded)
    return (primary && nameOf(primary, instances)) ?? []
  })
  const [first, ...others] = new Set(named)
  return first === undefined || others.length > 0 ? null : first
}

interface Seen {
  readonly witness: Witness
  readonly members: ReadonlyMap<InstanceName, MemberState>
}

/** Of two that call themselves the same view the larger one comes first. */
function newestFirst(a: Seen, b: Seen): number {
  return compareViews(b.witness.group.viewId, a.witness.group.viewId) || b.members.size - a.members.size
}

/**
 * `VIEW_ID` is `<fixed>:<number>`. `fixed` is the time at which the group was formed (100 ns); the number grows with
 * each view of that group.
 */
function compareViews(one: string, other: string): number {
  const [a, b] = [partsOf(one), partsOf(other)]
  const difference = a.fixed === b.fixed ? a.number - b.number : a.fixed - b.fixed
  return difference === 0n ? 0 : difference > 0n ? 1 : -1
}

/** Of the same group as `viewId`, and newer. */
export function isLaterView(other: string, viewId: string): boolean {
  return partsOf(other).fixed === partsOf(viewId).fixed && compareViews(other, viewId) > 0
}

function partsOf(viewId: string): { readonly fixed: bigint; readonly number: bigint } {
  const [, fixed = '0', number = '0'] = /^(\d+):(\d+)$/.exec(viewId) ?? []
  return { fixed: BigInt(fixed), number: BigInt(number) }
}

function withoutMajority(
  instances: readonly InstanceView[],
  expected: readonly InstanceName[],
  seen: readonly ReadonlyMap<InstanceName, MemberState>[],
): GroupView {
  const largest = seen.toSorted((a, b) => b.size - a.size)[0]
  if (largest !== undefined) {
    const lost = [...largest].filter(([, state]) => state === 'UNREACHABLE').map(([one]) => one)
    const sentence = `no majority: ${allOf(lost)} cannot be reached by the rest of the group, and writes wait`
    return { condition: 'noQuorum', primary: null, members: largest, viewId: '', sentence }
  }
  const members = new Map<InstanceName, MemberState>()
  const silent = expected.filter((one) => !instances.some(({ name, reachable }) => name === one && reachable))
  if (silent.length > 0) {
    const sentence = `nobody who answers is in the group, and nothing is known of ${allOf(silent)}`
    return { condition: 'uncertain', primary: null, members, viewId: '', sentence }
  }
  return { condition: 'outage', primary: null, members, viewId: '', sentence: 'no instance is in the group' }
}

/** Of a server that answered lately; undefined for any other. */
export function groupSeenBy({ reachable, observation }: InstanceView, frozenMs: number): GroupState | undefined {
  return reachable && observation !== null ? groupOf(observation, frozenMs) : undefined
}

function groupOf({ process, server, silentMs }: Observation, frozenMs: number): GroupState | undefined {
  return process === 'running' && silentMs < frozenMs ? server?.group : undefined
}

function isMember(state: MemberState): boolean {
  return state === 'ONLINE' || state === 'RECOVERING'
}

function membersOf(group: GroupState, instances: readonly InstanceView[]): ReadonlyMap<InstanceName, MemberState> {
  return new Map(
    group.members.map((member) => [nameOf(member, instances) ?? `${member.host}:${member.port}`, member.state]),
  )
}

/**
 * The instance that a member is, by its server. One that came back at another address is the same as the member that
 * the group has not expelled yet; and what is now at the address of a member that is gone may be another instance. The
 * address tells where nothing is known of the server.
 */
function nameOf({ uuid, host, port }: GroupMember, instances: readonly InstanceView[]): InstanceName | undefined {
  const uuidOf = ({ observation }: InstanceView) => observation?.server?.uuid
  const isThere = (view: InstanceView) => view.host === host && view.port === port && uuidOf(view) === undefined
  return (instances.find((view) => uuidOf(view) === uuid) ?? instances.find(isThere))?.name
}
