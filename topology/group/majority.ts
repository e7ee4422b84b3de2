import type { GroupMember, GroupState, ServerState } from '../snapshot/observation.ts'

/** Whether this member still hears a majority of its view: only then anything can be agreed on. */
export function hasMajority({ members }: Pick<GroupState, 'members'>): boolean {
  const heard = members.filter(({ state }) => state !== 'UNREACHABLE').length
  return heard * 2 > members.length
}

/** Somebody can be elected, and can give others what they lack. */
export function hasOnline({ members }: Pick<GroupState, 'members'>): boolean {
  return members.some(({ state }) => state === 'ONLINE')
}

/** A member as the view shows it; undefined where it is none. */
export function ownMember({ members }: GroupState, uuid: string): GroupMember | undefined {
  return members.find((member) => member.uuid === uuid)
}

/** The group whose primary this server is, while each member of that group is online; undefined otherwise. */
export function wholeGroupUnder(server: ServerState | null): GroupState | undefined {
  const { group, uuid = '' } = server ?? {}
  if (group === undefined || ownMember(group, uuid)?.role !== 'PRIMARY') return undefined
  return group.members.every(({ state }) => state === 'ONLINE') ? group : undefined
}
