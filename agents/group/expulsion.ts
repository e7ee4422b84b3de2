import { groupAddress } from '../../failover/protocol/group-address.ts'
import type { Clock, Timers } from '../../src/common/ports/ports.ts'
import type { GroupState } from '../../topology/snapshot/observation.ts'
import type { ExpulsionPort } from '../ports/expulsion.ts'
import { GroupMembership } from './xcom/membership.ts'
import { removeDeadMember } from './xcom/removal.ts'
import type { XcomStack } from './xcom/stream.ts'

export interface ExpulsionOptions {
  /** Where the own mysqld listens. */
  readonly host: string
  readonly port: number
  readonly stack: XcomStack
  readonly world: { readonly clock: Clock; readonly timers: Timers }
}

/** Through XCom, as Group Replication itself asks for the removal of a silent member (`xcom/`). */
export function createExpulsion({ host, port, stack, world }: ExpulsionOptions): ExpulsionPort {
  const own = groupAddress({ host, port })
  const membership = new GroupMembership({ own, stack: () => stack, ...world })
  let known = ''
  return {
    know({ members, viewId }) {
      const seeds = membersBeside(own, members)
      // A member that has recovered is asked from then on, and the view stays as it is.
      const now = [viewId, ...seeds].join(' ')
      if (now === known) return
      known = now
      const facts = { versions: members.map(({ version }) => version), singleLeader: false }
      // Asked again at the next look.
      if (seeds.length > 0) membership.refresh(seeds, facts).catch(() => (known = ''))
    },
    async expel() {
      const { group } = membership
      const victim = membership.identityOf(own)
      if (group === null || victim === null)
        return 'who is in the group was not known: the time-outs of the group remove the dead member'
      return (await removeDeadMember({ group, victim, through: membership }, world)).sentence
    },
    close: () => membership.close(),
  }
}

function membersBeside(own: string, members: GroupState['members']): readonly string[] {
  return members
    .filter(({ state }) => state === 'ONLINE')
    .map(groupAddress)
    .filter((address) => address !== own)
}
