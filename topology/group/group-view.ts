import { command, counted, say, together, type Sentence } from '#common/sentence/sentence.ts'
import { allOf } from '#common/text/words.ts'
import type { GroupMember, GroupState, MemberState, Observation } from '../snapshot/observation.ts'
import { goesOn, partedBy, type Parted, type Witness } from './forks.ts'
import { hasMajority } from './majority.ts'
import { soleWriter, writersOf } from './writers.ts'
import type { InstanceName } from '../snapshot/member.ts'
import type { InstanceView, Snapshot } from '../snapshot/snapshot.ts'
import { compareViews } from './view-id.ts'

/**
 * What can be said of a replication group by what its members say. `online`: a majority agrees on a view, and each
 * expected member is ONLINE in that view. `partial`: a majority agrees, and somebody is missing. `noQuorum`: members
 * are there, and none of them hears a majority with somebody online. `outage`: each expected member answers, and none
 * of them is in the group. `uncertain`: nobody who answers is in the group, and somebody does not answer. `splitBrain`:
 * two majorities of different members, or one that another hand formed.
 */
export type GroupCondition = 'online' | 'partial' | 'noQuorum' | 'outage' | 'uncertain' | 'splitBrain'

export interface GroupView {
  readonly condition: GroupCondition
  /** The member that the majority calls primary; null where there is none. */
  readonly primary: InstanceName | null
  /** Everybody of the majority's newest view, by instance; without a majority, of the largest view. */
  readonly members: ReadonlyMap<InstanceName, MemberState>
  /** The id of that view; '' without a majority. */
  readonly viewId: string
  /** Instances that are in groups which another hand formed, and that are to leave those. */
  readonly forks: readonly InstanceName[]
  readonly sentence: Sentence
}

/** What is to be known of a group beforehand. */
export interface KnownGroup {
  /** `group_replication_group_name` */
  readonly name: string
  /** Instances that are to be members; first the primary by the record. */
  readonly expected: readonly InstanceName[]
  /** What a server said longer ago counts for nothing. */
  readonly frozenMs: number
  /** A view of the group, whichever: no other group of its name counts. '' or absent where none is known. */
  readonly formed?: string
}

export function groupView({ instances }: Snapshot, known: KnownGroup): GroupView {
  const { name, expected, frozenMs, formed = '' } = known
  const witnesses = instances.flatMap((view): readonly Witness[] => {
    const group = groupSeenBy(view, frozenMs)
    return group?.name === name && isMember(group.state)
      ? [{ name: view.name, group, members: membersOf(group, instances) }]
      : []
  })
  const parted = partedBy(witnesses, { formed, expected })
  return besideForks(viewBy(parted, instances, expected), parted)
}

type View = Omit<GroupView, 'forks'>

function viewBy({ own, large }: Parted, instances: readonly InstanceView[], expected: readonly InstanceName[]): View {
  if (large !== undefined) {
    const without = allOf(expected.filter((one) => !large.members.has(one)))
    return split(large, say`another hand formed one of ${namesIn(large)}, without ${without}`)
  }
  const agreeing = own.filter(goesOn)
  const [first, ...others] = agreeing.toSorted(newestFirst)
  if (first === undefined) return withoutMajority(instances, expected, own)
  const apart = others.find(({ members }) => ![...members.keys()].some((one) => first.members.has(one)))
  if (apart !== undefined) return split(first, say`${namesIn(first)}, and ${namesIn(apart)}`)
  const witnesses = agreeing.filter(({ group }) => group.viewId === first.group.viewId)
  return withMajority(witnesses, first.members, { instances, expected })
}

function split({ members }: Witness, groups: Sentence): View {
  const decides = say`a person decides whose writes count: ${command('failover', '--accept-loss', '--to', '<instance>')}`
  const sentence = say`two groups: ${groups}. Nothing is done; ${decides}`
  return { condition: 'splitBrain', primary: null, members, viewId: '', sentence }
}

function besideForks(view: View, { forks }: Parted): GroupView {
  const names = forks.map(({ name }) => name)
  if (names.length === 0) return { ...view, forks: names }
  const leave = names.length === 1 ? say`leaves a group` : say`leave groups`
  const sentence = say`${view.sentence}; ${allOf(names)} ${leave} formed by hand`
  return { ...view, forks: names, sentence }
}

function namesIn({ members }: Witness): string {
  return allOf([...members.keys()])
}

function withMajority(
  witnesses: readonly Witness[],
  members: ReadonlyMap<InstanceName, MemberState>,
  { instances, expected }: { instances: readonly InstanceView[]; expected: readonly InstanceName[] },
): View {
  const primary = primaryBy(witnesses, instances, expected[0])
  const viewId = witnesses[0]?.group.viewId ?? ''
  const missing = expected.filter((one) => members.get(one) !== 'ONLINE')
  const size = say`${expected.length - missing.length} of ${counted(expected.length, 'member')} online`
  const leads = primary === null ? whyNoPrimary(witnesses, instances) : say`${primary} is primary of the group`
  if (missing.length === 0) return { condition: 'online', primary, members, viewId, sentence: say`${leads}, ${size}` }
  const states = missing.map((one) => say`${one} is ${members.get(one)?.toLowerCase() ?? 'missing'}`)
  return { condition: 'partial', primary, members, viewId, sentence: say`${leads}, ${size}: ${together(states)}` }
}

/**
 * The primary by the newest view alone: a member that has not heard of it yet still names whom the view before made
 * primary. Where several write, the members make one go on alone, the same as here.
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

/** The server of an instance that was given up may live on, and be elected. */
function whyNoPrimary(witnesses: readonly Witness[], instances: readonly InstanceView[]): Sentence {
  const [stranger] = witnesses.flatMap(({ group }) =>
    writersOf(group).filter((member) => nameOf(member, instances) === undefined),
  )
  return stranger === undefined
    ? say`the group has no primary now`
    : say`a server at ${stranger.host}:${stranger.port} is primary of the group and no instance of the cluster`
}

/** The larger of two that call themselves the same view comes first. */
function newestFirst(a: Witness, b: Witness): number {
  return compareViews(b.group.viewId, a.group.viewId) || b.members.size - a.members.size
}

function withoutMajority(
  instances: readonly InstanceView[],
  expected: readonly InstanceName[],
  seen: readonly Witness[],
): View {
  const largest = seen.toSorted((a, b) => b.members.size - a.members.size)[0]
  if (largest !== undefined) {
    const sentence = say`no majority: ${whyNoMajority(largest)}`
    return { condition: 'noQuorum', primary: null, members: largest.members, viewId: '', sentence }
  }
  const members = new Map<InstanceName, MemberState>()
  const silent = expected.filter((one) => !instances.some(({ name, reachable }) => name === one && reachable))
  if (silent.length > 0) {
    const sentence = say`nobody who answers is in the group; silent: ${allOf(silent)}`
    return { condition: 'uncertain', primary: null, members, viewId: '', sentence }
  }
  return { condition: 'outage', primary: null, members, viewId: '', sentence: say`no instance is in the group` }
}

function whyNoMajority({ group, members }: Witness): Sentence {
  const are = (wanted: MemberState) => [...members].flatMap(([one, state]) => (state === wanted ? [one] : []))
  if (!hasMajority(group)) return say`the group does not reach ${allOf(are('UNREACHABLE'))}, and writes wait`
  const recovering = are('RECOVERING')
  const recover = recovering.length === 1 ? say`recovers` : say`recover`
  return say`${allOf(recovering)} ${recover}, and nobody is online whom to recover from`
}

/** The group by a server that answered lately; undefined for any other. */
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
 * The instance that a member is, by its server. An instance that came back at another address is the same as the member
 * that the group has not expelled yet; and what is now at the address of a member that is gone may be another instance.
 * The address tells where nothing is known of the server.
 */
function nameOf({ uuid, host, port }: GroupMember, instances: readonly InstanceView[]): InstanceName | undefined {
  const uuidOf = ({ observation }: InstanceView) => observation?.server?.uuid
  const isThere = (view: InstanceView) => view.host === host && view.port === port && uuidOf(view) === undefined
  return (instances.find((view) => uuidOf(view) === uuid) ?? instances.find(isThere))?.name
}
