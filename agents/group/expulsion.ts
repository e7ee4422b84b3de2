import { say } from '#common/sentence/sentence.ts'
import { groupAddress } from '#failover/protocol/group-address.ts'
import type { Clock, Timers } from '#common/ports/ports.ts'
import type { ExpulsionPort } from '../ports/expulsion.ts'
import { linesThrough } from './xcom/connection.ts'
import type { OpenLine } from './xcom/line.ts'
import { GroupMembership } from './xcom/member-connections.ts'
import { removeDeadMember } from './xcom/removal.ts'
import type { XcomStack } from './xcom/stream.ts'

export interface ExpulsionOptions {
  readonly open: OpenLine
  readonly world: { readonly clock: Clock; readonly timers: Timers }
}

export function expulsionThrough(stack: XcomStack, world: ExpulsionOptions['world']): ExpulsionPort {
  return createExpulsion({ open: linesThrough(() => stack, world.timers), world })
}

/** Through XCom, as Group Replication itself asks for the removal of a silent member (`xcom/`). */
export function createExpulsion({ open, world }: ExpulsionOptions): ExpulsionPort {
  const membership = new GroupMembership({ open, ...world })
  let known = ''
  return {
    know({ members, viewId }) {
      const seeds = members.filter(({ state }) => state === 'ONLINE').map(groupAddress)
      // A member that has recovered is asked from then on, and the view stays as it is.
      const now = [viewId, ...seeds].join(' ')
      if (now === known) return
      known = now
      const facts = { versions: members.map(({ version }) => version), singleLeader: false }
      // Asked again at the next look.
      if (members.length > 1 && seeds.length > 0) membership.refresh(seeds, facts).catch(() => (known = ''))
    },
    rest() {
      known = ''
      membership.rest()
    },
    get silence() {
      return membership.silence
    },
    async expel(address) {
      const { group } = membership
      const victim = membership.identityOf(address)
      if (group === null || victim === null)
        return say`the members of the group were not known: the time-outs of the group remove ${address}`
      return (await removeDeadMember({ group, victim, through: membership }, world)).sentence
    },
  }
}
