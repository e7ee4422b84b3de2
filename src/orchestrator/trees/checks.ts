import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Instance } from '../documents/instance.ts'
import { isSameKey, keyText } from '../documents/key.ts'
import { lagsTooMuch, maintenanceLagSeconds } from '../documents/problems.ts'

/** What a check gives: why not, in orchestrator’s words; undefined where nothing is in the way. */
export type WhyNot = string | undefined

/** The server follows a source, also where that source is detached or unknown. */
export function isReplica({ MasterKey, ReplicationIOThreadState: io }: Instance): boolean {
  return MasterKey.Hostname !== '' && MasterKey.Hostname !== '_' && MasterKey.Port !== 0 && io !== -1
}

export function whyNoReplica(one: Instance): WhyNot {
  return isReplica(one) ? undefined : `instance is not a replica: ${keyText(one.Key)}`
}

export function whyNotSeen({ Key, IsLastCheckValid, IsRecentlyChecked }: Instance): WhyNot {
  if (!IsLastCheckValid) return `${keyText(Key)}: last check invalid`
  return IsRecentlyChecked ? undefined : `${keyText(Key)}: not recently checked`
}

/** By places in binlogs: it replicates, and is not far behind. */
export function whyNotMove(one: Instance): WhyNot {
  return whyNotSeen(one) ?? whyNotReplicating(one) ?? whyLags(one)
}

export function whyNotReplicating(one: Instance): WhyNot {
  const runs = one.ReplicationSQLThreadState === 1 && one.ReplicationIOThreadState === 1
  return runs ? undefined : `${keyText(one.Key)}: instance is not replicating`
}

/** Too far behind to be waited for. */
export function whyLags(one: Instance): WhyNot {
  return lagsTooMuch(one) ? `${keyText(one.Key)}: lags too much` : undefined
}

const formats = ['STATEMENT', 'MIXED', 'ROW']

/** In the order in which orchestrator asks. */
export function whyNotFrom(one: Instance, other: Instance): WhyNot {
  const [key, from] = [keyText(one.Key), keyText(other.Key)]
  if (isSameKey(one.Key, other.Key)) return `instance cannot replicate from itself: ${key}`
  return (
    whyOtherGtids(one) ??
    whyNoSource(other) ??
    whyOtherKind(one, other) ??
    (one.ServerID === other.ServerID
      ? `Identical server id: ${from}, ${key} both have ${other.ServerID}`
      : one.ServerUUID === other.ServerUUID && one.ServerUUID !== ''
        ? `Identical server UUID: ${from}, ${key} both have ${other.ServerUUID}`
        : whyDelayed(one, other))
  )
}

/** Places alone would end that such a server goes by its own GTIDs. */
export function whyOtherGtids({ Key, FlavorName }: Instance): WhyNot {
  return FlavorName === 'MariaDB'
    ? `${keyText(Key)} is a MariaDB, whose GTIDs are not understood here; please do it manually`
    : undefined
}

function whyNoSource(other: Instance): WhyNot {
  const from = keyText(other.Key)
  if (!other.LogBinEnabled) return `instance does not have binary logs enabled: ${from}`
  return isReplica(other) && !other.LogSlaveUpdatesEnabled
    ? `instance does not have log_slave_updates enabled: ${from}`
    : undefined
}

function whyOtherKind(one: Instance, other: Instance): WhyNot {
  const [key, from] = [keyText(one.Key), keyText(other.Key)]
  if (isOlder(one.Version, other.Version))
    return `instance ${key} has version ${one.Version}, which is lower than ${other.Version} on ${from}`
  const writesOn = one.LogBinEnabled && one.LogSlaveUpdatesEnabled
  if (writesOn && formats.indexOf(one.Binlog_format) < formats.indexOf(other.Binlog_format))
    return `Cannot replicate from ${other.Binlog_format} binlog format on ${from} to ${one.Binlog_format} on ${key}`
  return other.HasReplicationFilters && !one.HasReplicationFilters ? `${from} has replication filters` : undefined
}

function whyDelayed(one: Instance, other: Instance): WhyNot {
  return one.SQLDelay < other.SQLDelay && other.SQLDelay > maintenanceLagSeconds
    ? `${keyText(other.Key)} has higher SQL_Delay (${other.SQLDelay} seconds) than ${keyText(one.Key)} does (${one.SQLDelay} seconds)`
    : undefined
}

/** Whether `one` is of an older series than `other`: `8.4` beside `9.7`. */
function isOlder(one: string, other: string): boolean {
  const [a, b] = [one, other].map((version) => version.split('.').slice(0, 2).map(Number))
  const [major = 0, minor = 0] = a ?? []
  const [otherMajor = 0, otherMinor = 0] = b ?? []
  return major < otherMajor || (major === otherMajor && minor < otherMinor)
}

/** The server follows by GTIDs, and `other` has GTIDs. */
export function canMoveByGtids(one: Instance, other: Instance): boolean {
  return one.UsingOracleGTID && other.SupportsOracleGTID
}

export function whyNotByGtids(one: Instance, other: Instance): WhyNot {
  const [key, from] = [keyText(one.Key), keyText(other.Key)]
  if (!canMoveByGtids(one, other)) return `Instances ${key}, ${from} not GTID compatible or not using GTID`
  const gone = GtidSet.parse(other.GtidPurged).subtract(GtidSet.parse(one.ExecutedGtidSet))
  return gone.isEmpty() ? undefined : `Instance ${from} has purged GTID entries not found on ${key}`
}

export function whyMember({ Key, ReplicationGroupMemberRole: role }: Instance, what: string): WhyNot {
  return role === 'SECONDARY'
    ? `${what}: ${keyText(Key)} is a secondary replication group member, hence, it cannot be relocated`
    : undefined
}
