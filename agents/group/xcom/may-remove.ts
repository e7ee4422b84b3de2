import { counted, noneOr, say, text, type Sentence } from '#common/sentence/sentence.ts'
import type { Configuration, MemberIdentity } from './messages.ts'

/** A group as one snapshot of it, and what SQL says of its members. */
export interface KnownGroup {
  /** A hash of `group_replication_group_name`. 0 is no group. */
  readonly id: number
  readonly configuration: Configuration
  /** `MEMBER_VERSION` of every member, from `performance_schema.replication_group_members`. */
  readonly versions: readonly string[]
  /** `group_replication_paxos_single_leader`. */
  readonly singleLeader: boolean
}

export type RefusalReason =
  | 'version'
  | 'singleLeader'
  | 'noGroup'
  | 'severalVictims'
  | 'noIncarnation'
  | 'notAMember'
  | 'otherIncarnation'
  | 'noMajority'
  | 'stoodStill'
  | 'membersRefused'

export interface Refusal {
  readonly removed: 'refused'
  readonly reason: RefusalReason
  readonly sentence: Sentence
}

export interface RemovalQuestion {
  readonly group: KnownGroup
  /** All members whose removal was asked for in this configuration, the present victim among them. */
  readonly victims: readonly MemberIdentity[]
  /** Addresses of members that answer. */
  readonly answering: readonly string[]
}

/** Nobody has promised that another release does the same: each is tried before it is added here. */
const triedVersion = /^9\.7\.\d+(?!\d|\.)/

/**
 * Why a member may not be removed; null where it may. Nobody in the group asks whether the victim is dead, so this is
 * the only check. The check is pure, and nothing is sent before it has said yes.
 */
export function whyNotRemove({ group, victims, answering }: RemovalQuestion): Refusal | null {
  const [victim, ...others] = victims
  if (victim === undefined || others.length > 0)
    return refused('severalVictims', say`${counted(victims.length, 'member')} are named; one at a time can be removed`)
  return whyNotIn(group) ?? whyNotThis(group, victim) ?? whyTooFew(group, victim, answering)
}

/** How many members of a configuration must agree on its successor. */
export function majorityOf({ members }: Configuration): number {
  return Math.floor(members.length / 2) + 1
}

export function isSame(one: MemberIdentity, other: MemberIdentity): boolean {
  return one.address === other.address && one.incarnation === other.incarnation
}

export function refused(reason: RefusalReason, sentence: Sentence): Refusal {
  return { removed: 'refused', reason, sentence }
}

function whyNotIn({ id, configuration, versions, singleLeader }: KnownGroup): Refusal | null {
  const untried = versions.find((version) => !triedVersion.test(version))
  if (versions.length === 0) return refused('version', say`the versions of the members are not known`)
  if (untried !== undefined)
    return refused(
      'version',
      say`a member is MySQL ${untried}; the removal was tried on 9.7 only, the group does it later`,
    )
  if (singleLeader || configuration.mostLeaders === 1)
    return refused(
      'singleLeader',
      say`the group has group_replication_paxos_single_leader=ON and removes nobody before its own time-out`,
    )
  return id === 0 ? refused('noGroup', say`the group has no id; XCom would take 0 for any group`) : null
}

function whyNotThis({ configuration: { members } }: KnownGroup, victim: MemberIdentity): Refusal | null {
  if (victim.incarnation === '')
    return refused('noIncarnation', say`${victim.address} is named without its incarnation; XCom would remove any`)
  const member = members.find(({ address }) => address === victim.address)
  if (member === undefined)
    return refused('notAMember', say`${victim.address} is none of ${members.map(({ address }) => address).join(', ')}`)
  if (!isSame(member, victim))
    return refused(
      'otherIncarnation',
      say`${victim.address} is in the group as incarnation ${text(member.incarnation)}, not ${text(victim.incarnation)}`,
    )
  return null
}

function whyTooFew(
  { configuration }: KnownGroup,
  victim: MemberIdentity,
  answering: readonly string[],
): Refusal | null {
  const left = configuration.members.filter(
    ({ address }) => address !== victim.address && answering.includes(address),
  ).length
  const needed = majorityOf(configuration)
  if (left >= needed) return null
  return refused(
    'noMajority',
    say`${noneOr(left)} of ${counted(configuration.members.length, 'member')} answer without ${victim.address}, and ${needed} must agree`,
  )
}
