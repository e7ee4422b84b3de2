import { RegentError } from '../../src/common/errors/errors.ts'
import type { Assignment, DemoteOrder, PromiseOrder } from '../../failover/protocol/order.ts'
import type { Mode } from '../instance/mode.ts'
import type { Parts } from '../instance/parts.ts'
import type { StoredState } from '../instance/stored-state.ts'
import type { NextPass, View } from '../instance/pass.ts'
import type { ServerState } from '../../topology/snapshot/observation.ts'
import { hasMajority, ownMember } from './majority.ts'
import { nextAsMember } from './membership.ts'
import { underPromise } from './under-promise.ts'

/** Members of one replication group (MySQL Group Replication, single-primary). The group elects who takes writes. */
export class Group implements Mode {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  start(): void {}

  stop(): void {}

  next(view: View, assignment: Assignment): NextPass {
    const { server: state, jobs } = view
    if (state?.group === undefined || assignment.group === undefined) return { next: 'after a look' }
    const { startingGroup, groupFailure: failure } = jobs
    return nextAsMember(view, {
      assignment,
      task: assignment.group,
      state,
      group: state.group,
      isStarting: startingGroup !== null,
      failure,
    })
  }

  /** What the group did is seen by a look alone. */
  isReadyFor(): boolean {
    return false
  }

  underPromise(view: View): NextPass | null {
    return underPromise(view)
  }

  async promise(order: PromiseOrder): Promise<void> {
    const { file, course } = this.#parts
    if (file.current.promise !== order.epoch) course.promiseReport = null
    await file.update({ promise: order.epoch, revision: order.revision })
  }

  async prepareToLead(): Promise<void> {}

  /** The group elects, and takes read-only off at the new primary: nothing is promised. */
  async demote({ electUuid = '', graceMs, deadlineMs }: DemoteOrder): Promise<void> {
    const { observer, server } = this.#parts
    observer.outdate()
    const refusal = whyNotElect(await observer.refresh(), electUuid)
    if (refusal !== null) throw new RegentError('REGENT_ORDER_NOT_ALLOWED', `switchover refused: ${refusal}`)
    await server.group?.electPrimary(electUuid, { graceMs, deadlineMs })
    observer.outdate()
    await observer.refresh()
  }

  async stepDown(): Promise<void> {}

  /** What a member has in its binlog the group has agreed on: there is no tail. */
  marksOfPrimary(): Partial<StoredState> {
    return {}
  }
}

function whyNotElect({ group, uuid }: ServerState, candidate: string): string | null {
  if (group === undefined || ownMember(group, uuid)?.role !== 'PRIMARY') return 'the group has another primary by now'
  if (!hasMajority(group)) return 'this member hears no majority of its group'
  const state = ownMember(group, candidate)?.state
  return state === 'ONLINE' ? null : `the candidate is ${state?.toLowerCase() ?? 'no member'} in the group`
}
