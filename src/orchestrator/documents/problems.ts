import type { Instance } from './instance.ts'

/** From this lag on a replica is called lagging. */
export const reasonableLagSeconds = 10

type Judged = Omit<Instance, 'Problems'>

/** What of a server is wrong, each with orchestrator's word. The first is all there is where the server is not seen. */
const tests: readonly (readonly [string, (one: Judged) => boolean])[] = [
  ['not_replicating', (one) => one.ReplicationIOThreadState >= 0 && !isReplicating(one)],
  ['replication_lag', (one) => one.ReplicationLagSeconds.Int64 - one.SQLDelay > reasonableLagSeconds],
  ['errant_gtid', (one) => one.GtidErrant !== ''],
  [
    'group_replication_member_not_online',
    (one) => one.ReplicationGroupName !== '' && one.ReplicationGroupMemberState !== 'ONLINE',
  ],
]

export function problemsOf(one: Judged): readonly string[] {
  if (!one.IsLastCheckValid) return ['last_check_invalid']
  if (!one.IsRecentlyChecked) return ['not_recently_checked']
  return tests.filter(([, applies]) => applies(one)).map(([name]) => name)
}

/** From this lag on a replica is not fit for maintenance. */
export const maintenanceLagSeconds = 20

/** A replica that is delayed on purpose lags by what is beyond its delay. */
export function lagsTooMuch({ SecondsBehindMaster, SQLDelay }: Pick<Instance, 'SecondsBehindMaster' | 'SQLDelay'>) {
  const { Int64 } = SecondsBehindMaster
  return (SQLDelay > 0 ? Math.abs(Int64 - SQLDelay) : Int64) > maintenanceLagSeconds
}

export function isReplicating(one: Pick<Instance, 'ReplicationIOThreadState' | 'ReplicationSQLThreadState'>): boolean {
  return one.ReplicationIOThreadState === 1 && one.ReplicationSQLThreadState === 1
}
