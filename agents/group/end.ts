import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { GroupMember, GroupState } from '#topology/snapshot/observation.ts'
import type { Parts } from '../instance/parts.ts'
import type { StoredState } from '../instance/stored-state.ts'
import { hasMajority, ownMember } from '#topology/group/majority.ts'
import { compareVersions, mayLead } from '#topology/group/versions.ts'

/**
 * A primary waits so long for the manager to hand it over, which lets transactions end first. A primary that leaves in
 * order loses nothing either: the group elects at once.
 */
const handOverMs = 20_000
/** So long a member waits to be let out of the record, and a primary for members that are just joining. */
const leaveMs = 5_000
/**
 * The plugin waits for a view without this member, which does not come where there is no majority. Meanwhile the agent
 * neither closes its server nor promises anything.
 */
const stopMs = 4_000

/** Why an instance that was told to end goes on for now; null where its server may go. */
export function waitsToEnd(
  { file, observer, process }: Pick<Parts, 'file' | 'observer' | 'process'>,
  waitedMs: number,
): Sentence | null {
  const { server } = observer
  if (process.state !== 'running' || !server?.group) return null
  const own = ownMember(server.group, server.uuid)
  if (own?.state !== 'ONLINE') return null
  if (own.role === 'PRIMARY')
    return waitedMs < handOverWithin(server.group, own) ? say`mysqld stops once another member is primary` : null
  return counts(file.current) && waitedMs < leaveMs
    ? say`mysqld stops once the instance does not count in the group`
    : null
}

function counts({ assignment }: Pick<StoredState, 'assignment'>): boolean {
  return assignment?.role === 'replica' && assignment.counted
}

/** 0 where nobody else is in the group, or nobody of the others can be made primary before this member has left. */
function handOverWithin({ members }: GroupState, own: GroupMember): number {
  const others = members.filter(({ uuid }) => uuid !== own.uuid)
  const versions = members.map(({ version }) => version).filter((version) => version !== '')
  const able = others.filter(({ state, version }) => state === 'ONLINE' && mayLead(version, versions))
  if (able.length > 0) return handOverMs
  // The lowest version leads: where all others are higher the group elects another once this member has left.
  const follows = others.some(({ state, version }) => state !== 'ONLINE' && compareVersions(version, own.version) <= 0)
  return follows ? leaveMs : 0
}

/**
 * Out of the group before its server is stopped: nobody waits for a member that is gone. A member that cannot leave in
 * time is stopped all the same.
 */
export async function leaveBeforeEnd({
  server,
  observer,
  notices,
}: Pick<Parts, 'notices' | 'observer' | 'server'>): Promise<void> {
  const group = observer.server?.group
  // Nobody is there who could agree that it leaves.
  if (group === undefined || group.state === 'OFFLINE' || !hasMajority(group)) return
  try {
    await server.group?.stop(stopMs)
  } catch (error) {
    notices.failed('Terminating', say`the member stops without having left its group`, error)
  }
}
