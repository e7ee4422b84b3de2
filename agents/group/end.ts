import { describeError } from '../../src/common/errors/errors.ts'
import type { GroupMember, GroupState } from '../../topology/snapshot/observation.ts'
import type { Parts } from '../instance/parts.ts'
import type { StoredState } from '../instance/stored-state.ts'
import { hasMajority, ownMember } from '../../topology/group/majority.ts'

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
export function waitsToEnd({ file, observer, process }: Parts, waitedMs: number): string | null {
  const { server } = observer
  if (process.state !== 'running' || !server?.group) return null
  const own = ownMember(server.group, server.uuid)
  if (own?.state !== 'ONLINE') return null
  if (own.role === 'PRIMARY')
    return waitedMs < handOverWithin(server.group, own)
      ? 'the pod ends: it waits for another member to take over'
      : null
  return counts(file.current) && waitedMs < leaveMs ? 'the pod ends: it waits to be let out of the group' : null
}

function counts({ assignment }: Pick<StoredState, 'assignment'>): boolean {
  return assignment?.role === 'replica' && assignment.counted
}

/** 0 where nobody else is in the group. */
function handOverWithin({ members }: GroupState, { uuid }: GroupMember): number {
  const others = members.filter((member) => member.uuid !== uuid)
  if (others.length === 0) return 0
  return others.some(({ state }) => state === 'ONLINE') ? handOverMs : leaveMs
}

/**
 * Out of the group before its server is stopped: nobody waits for a member that is gone. One that cannot leave in time
 * is stopped all the same.
 */
export async function leaveBeforeEnd({ server, observer, notices }: Parts): Promise<void> {
  const group = observer.server?.group
  // Nobody is there who could agree that it leaves.
  if (group === undefined || group.state === 'OFFLINE' || !hasMajority(group)) return
  try {
    await server.group?.stop(stopMs)
  } catch (error) {
    notices.add('Terminating', `the member stops without having left its group: ${describeError(error)}`)
  }
}
