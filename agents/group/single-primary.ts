import { say } from '#common/sentence/sentence.ts'
import type { Watch } from '#common/watch/watch.ts'
import type { Assignment } from '#failover/protocol/assignment.ts'
import { hasMajority } from '#topology/group/majority.ts'
import { soleWriter, writersOf } from '#topology/group/writers.ts'
import type { GroupMember, GroupState, ServerState } from '#topology/snapshot/observation.ts'
import type { Parts } from '../instance/parts.ts'

/** The group agrees on it once each member is online, and ends transactions of those that write no more. */
const switchMs = 20_000
const againMs = 1_000

/** Whether this member is the one that writes, or is to go on alone where another hand made several write. */
export function writesHere({ uuid }: Pick<ServerState, 'uuid'>, group: GroupState, assignment: Assignment): boolean {
  return soleWriter(writersOf(group), isLeader(assignment, uuid))?.uuid === uuid
}

function isLeader(assignment: Assignment, ownUuid: string): (member: GroupMember) => boolean {
  if (assignment.role === 'primary') return ({ uuid }) => uuid === ownUuid
  const { source, sourceUuid } = assignment
  return ({ uuid, host, port }) =>
    sourceUuid === '' ? host === source.host && port === source.port : uuid === sourceUuid
}

type SinglePrimaryWatchParts = Pick<Parts, 'config' | 'file' | 'notices' | 'observer' | 'process' | 'server' | 'world'>

/**
 * A person has the group be in multi-primary mode by a function. Several write then, and nobody joins who expects one
 * primary. The member that is to go on alone has the group switch back; the others close themselves at once.
 */
export class SinglePrimaryWatch implements Watch {
  readonly name = 'a group in multi-primary mode'
  readonly #parts: SinglePrimaryWatchParts
  #notBeforeMs = -Infinity

  constructor(parts: SinglePrimaryWatchParts) {
    this.#parts = parts
  }

  isDue(): boolean {
    return this.#parts.world.clock.monotonicMs() >= this.#notBeforeMs
  }

  async look(): Promise<void> {
    await this.#switchBack()
    this.#notBeforeMs = this.#parts.world.clock.monotonicMs() + againMs
  }

  while(): boolean {
    const { observer, process, file } = this.#parts
    const { server } = observer
    const { assignment } = file.current
    if (!server?.group || assignment === null || process.state !== 'running' || !observer.isFresh) return false
    const { group } = server
    if (group.state !== 'ONLINE' || !hasMajority(group)) return false
    return (writersOf(group).length > 1 || isMultiPrimary(server)) && writesHere(server, group, assignment)
  }

  async #switchBack(): Promise<void> {
    const { server, observer, notices, config } = this.#parts
    const uuid = observer.server?.uuid ?? ''
    try {
      await server.group?.leadAlone(uuid, switchMs)
      notices.add(
        'SinglePrimaryAgain',
        say`the group was in multi-primary mode by another hand, and has one primary again: ${config.instance}`,
      )
    } catch (error) {
      notices.failed(
        'MultiPrimaryStays',
        say`the group is in multi-primary mode by another hand, and could not be switched back`,
        error,
      )
    } finally {
      observer.outdate()
      await observer.refresh().catch(() => undefined)
    }
  }
}

/** Also where only one is left of those that were made to write. */
function isMultiPrimary({ changedSettings = [] }: ServerState): boolean {
  return changedSettings.some(({ name }) => name === 'group_replication_single_primary_mode')
}
