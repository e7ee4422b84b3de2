import type { InstanceName } from '../snapshot/member.ts'
import type { GroupState, MemberState } from '../snapshot/observation.ts'
import { hasMajority, hasOnline } from './majority.ts'
import { isOfAnotherGroup } from './view-id.ts'

/** An instance that says what its group is, and everybody of its view, by instance. */
export interface Witness {
  readonly name: InstanceName
  readonly group: GroupState
  readonly members: ReadonlyMap<InstanceName, MemberState>
}

/** Witnesses of the group, and witnesses of another group that has the same name. */
export interface Parted {
  readonly own: readonly Witness[]
  /** Each is of a group that another hand formed (`group_replication_bootstrap_group`), and that is to be ended. */
  readonly forks: readonly Witness[]
  /**
   * A witness of such a group that has the primary, where clients are sent, and most of the others, while nobody else
   * goes on. A person may have helped clients by that: nobody ends such a group but a person.
   */
  readonly large: Witness | undefined
}

/**
 * Only the record says who forms a group. A group that was formed at another time than the record knows is a fork: its
 * members compare what they hold with nobody outside of the fork. Where everybody is online in a fork, nobody is left
 * to compare with, and the fork is the group from then on.
 * @param expected who is to be a member, the primary first
 * @param formed a view of the group that the record knows; '' where that is not known
 */
export function partedBy(
  witnesses: readonly Witness[],
  { formed, expected }: { readonly formed: string; readonly expected: readonly InstanceName[] },
): Parted {
  const foreign = witnesses.filter(({ group }) => isOfAnotherGroup(group.viewId, formed))
  const whole = foreign.filter(
    ({ group, members }) => hasMajority(group) && expected.every((one) => members.get(one) === 'ONLINE'),
  )
  const own = whole.length > 0 ? whole : witnesses.filter((one) => !foreign.includes(one))
  const forks = witnesses.filter((one) => !own.includes(one))
  const large = own.some(goesOn) ? undefined : forks.find((one) => isLarge(one, expected))
  return { own, forks: large === undefined ? forks : [], large }
}

/**
 * The witness hears a majority of its view, and somebody there is online: members that only recover can elect nobody.
 */
export function goesOn({ group }: Witness): boolean {
  return hasMajority(group) && hasOnline(group)
}

function isLarge({ group, members }: Witness, expected: readonly InstanceName[]): boolean {
  const [primary = ''] = expected
  const count = expected.filter((one) => members.has(one)).length
  return hasMajority(group) && members.has(primary) && count * 2 > expected.length
}
