import type { ClusterRecord } from '#failover/protocol/record.ts'
import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import { ordinalOf } from '#topology/snapshot/member.ts'
import { notesOf } from '../operations/after-healing.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import type { Groups } from './groups.ts'
import type { Ledger } from './ledger.ts'
import type { Member } from './member.ts'

/** The first rule of mode `group` that does not hold now; undefined where all do. */
export function whatBreaksInGroup(
  cluster: SimulatedCluster,
  groups: Groups,
  { acknowledged }: { readonly acknowledged: GtidSet },
): string | undefined {
  // What a group does that another hand formed is that hand's: nobody is to be sent there.
  const able = groups.ledgers.filter((ledger) => ledger.isAble && !ledger.byHand && !isGivenUp(cluster, ledger))
  return (
    twoWriters(able) ??
    able.map((ledger) => lacksAcknowledged(ledger, acknowledged) ?? namesFewer(cluster, ledger)).find(isBroken)
  )
}

function isBroken(rule: string | undefined): rule is string {
  return rule !== undefined
}

/** A person had another group formed, and accepted what this one may still do until its members hear of that. */
function isGivenUp({ excuses, groups, record }: SimulatedCluster, ledger: Ledger): boolean {
  // A group that is to be formed without something has another name already.
  return excuses.isLossAccepted && (ledger !== groups?.ledgers.at(-1) || ledger.name !== record?.group?.name)
}

/** Two groups, each of which could agree on a write and has somebody who takes writes. */
function twoWriters(able: readonly Ledger[]): string | undefined {
  const [one, other] = able.flatMap(({ now: { primary } }) =>
    primary !== null && takesWrites(primary) ? [primary] : [],
  )
  return one && other && `G1: ${one.name} and ${other.name} take writes, each in a group of its own`
}

function takesWrites({ isThere, mysqld, sessions }: Member): boolean {
  return isThere && (mysqld.mayWrite || sessions.hasClients)
}

/** A group that can go on has all that any client was told. */
function lacksAcknowledged({ holds, former }: Ledger, acknowledged: GtidSet): string | undefined {
  const lost = acknowledged.subtract(holds)
  return lost.isEmpty() ? undefined : `G2: the group that ${former.name} formed lacks ${lost.toString()}, acknowledged`
}

/** The record never names fewer than may be members: whoever may hold what was acknowledged is compared. */
function namesFewer(cluster: SimulatedCluster, { now: { seats } }: Ledger): string | undefined {
  const { record } = cluster
  const stranger = record && seats.find((seat) => seat.isThere && !isNamed(cluster, record, seat))
  return stranger && `G3: ${stranger.name} is in the group, and the record does not name it`
}

function isNamed(cluster: SimulatedCluster, { primary, syncSet }: ClusterRecord, { name }: Member): boolean {
  const member = cluster.observation(name)?.member
  if (member === undefined || member === primary || syncSet.includes(member)) return true
  // A person takes it away, and nobody hears whether it still joins.
  return ordinalOf(name) >= (notesOf(cluster)?.instances ?? cluster.spec.instances)
}
