import { describeError } from '../../src/common/errors/errors.ts'
import type { Parts } from '../instance/parts.ts'
import { ownMember } from './majority.ts'

/**
 * A primary waits so long for the manager to hand it over, which lets transactions end first. A primary that leaves in
 * order loses nothing either: the group elects at once.
 */
const handOverMs = 20_000
/** So long a member waits to be let out of the record, and a primary for members that are just joining. */
const leaveMs = 5_000
/** The plugin waits for a view without this member, which does not come where there is no majority. */
const stopMs = 10_000

/** Why an instance that was told to end goes on for now; null where its server may go. */
export function waitsToEnd({ file, observer, process }: Parts, waitedMs: number): string | null {
  const { server } = observer
  const own = process.state === 'running' && server?.group && ownMember(server.group, server.uuid)
  if (!server?.group || !own || own.state !== 'ONLINE') return null
  const others = server.group.members.filter(({ uuid }) => uuid !== server.uuid)
  if (own.role === 'PRIMARY') {
    const mostMs = others.some(({ state }) => state === 'ONLINE') ? handOverMs : leaveMs
    return others.length > 0 && waitedMs < mostMs ? 'the pod ends: it waits for another member to take over' : null
  }
  const { assignment } = file.current
  const counted = assignment?.role === 'replica' && assignment.counted
  return counted && waitedMs < leaveMs ? 'the pod ends: it waits to be let out of the group' : null
}

/**
 * Out of the group before its server is stopped: nobody waits for a member that is gone. One that cannot leave in time
 * is stopped all the same.
 */
export async function leaveBeforeEnd({ server, observer, notices }: Parts): Promise<void> {
  const state = observer.server?.group?.state ?? 'OFFLINE'
  if (state === 'OFFLINE') return
  try {
    await server.group?.stop(stopMs)
  } catch (error) {
    notices.add('Terminating', `the member stops without having left its group: ${describeError(error)}`)
  }
}
