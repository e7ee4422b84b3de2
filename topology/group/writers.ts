import { compareVersions } from './versions.ts'
import type { GroupMember, GroupState } from '../snapshot/observation.ts'

/** Members that the group has write: several in multi-primary mode, to which only a person switches. */
export function writersOf({ members }: Pick<GroupState, 'members'>): readonly GroupMember[] {
  return members.filter(({ role, state }) => role === 'PRIMARY' && state === 'ONLINE')
}

/**
 * The writer that is to go on alone, of several: whoever is primary already, or else as a group elects, by the lowest
 * version and the lowest server uuid. Everybody who sees the same view says the same.
 */
export function soleWriter(
  writers: readonly GroupMember[],
  isPrimary: (member: GroupMember) => boolean,
): GroupMember | undefined {
  const elected = writers.toSorted((a, b) => compareVersions(a.version, b.version) || (a.uuid < b.uuid ? -1 : 1))
  return writers.find(isPrimary) ?? elected[0]
}
