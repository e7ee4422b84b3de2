import type { Server } from '../fleet/fleet.ts'
import type { Instance } from '../documents/instance.ts'
import { isSameKey } from '../documents/key.ts'
import { isReplicating, reasonableLagSeconds } from '../documents/problems.ts'

/** What the analysis of one server rests upon: the server itself, and those that follow it. */
export interface Figures {
  readonly server: Server
  readonly replicas: readonly Instance[]
  readonly isMaster: boolean
  readonly isCoMaster: boolean
  /** What is no master, and has replicas. A co-master is one for what has no word of its own, as at orchestrator. */
  readonly isIntermediate: boolean
  readonly isGroupMember: boolean
  readonly isValid: boolean
  /** The agent answers, and mysqld does not. */
  readonly isPartlySeen: boolean
  readonly count: number
  readonly valid: number
  /** Replicas by which a failover is judged: those that answer, or all where nobody does. */
  readonly supporting: readonly Instance[]
  readonly isByGtids: boolean
  readonly replicating: number
  readonly failingToConnect: number
  readonly delayed: number
  readonly lagging: number
  readonly downtimed: number
  readonly logging: readonly Instance[]
  readonly isFailingToConnect: boolean
  /** Whether anybody waits for an acknowledgement now; agents tell of a source only where that may be so. */
  readonly isWaiting: boolean
}

export function figuresOf(server: Server): Figures {
  const { instance, cluster, name } = server
  const replicas = cluster.servers
    .map((other) => other.instance)
    .filter(({ MasterKey }) => isSameKey(MasterKey, instance.Key))
  const valid = replicas.filter(({ IsLastCheckValid }) => IsLastCheckValid)
  const isGroupMember = instance.ReplicationGroupName !== '' && instance.ReplicationGroupMemberState !== 'OFFLINE'
  const isAlone = instance.MasterKey.Hostname === '' || instance.IsDetachedMaster
  const isMaster = isAlone && (!isGroupMember || leadsGroup(server))
  return {
    server,
    replicas,
    isMaster,
    isCoMaster: instance.IsCoMaster,
    isIntermediate: !isMaster && !isGroupMember && replicas.length > 0,
    isGroupMember,
    isValid: instance.IsLastCheckValid,
    isPartlySeen: server.isHalfSeen,
    count: replicas.length,
    valid: valid.length,
    ...supportOf(valid, replicas),
    replicating: valid.filter(isReplicating).length,
    failingToConnect: valid.filter(failsToConnect).length,
    delayed: valid.filter(({ SQLDelay }) => SQLDelay > 0).length,
    lagging: valid.filter(({ ReplicationLagSeconds }) => ReplicationLagSeconds.Int64 > reasonableLagSeconds).length,
    downtimed: replicas.filter(({ IsDowntimed }) => IsDowntimed).length,
    logging: replicas.filter(({ LogBinEnabled, LogSlaveUpdatesEnabled }) => LogBinEnabled && LogSlaveUpdatesEnabled),
    isFailingToConnect: failsToConnect(instance),
    isWaiting: cluster.known.watched?.servers[name]?.more?.semiSync.waiting !== 0,
  }
}

function supportOf(valid: readonly Instance[], replicas: readonly Instance[]) {
  return {
    supporting: valid.length > 0 ? valid : replicas,
    isByGtids: valid.length > 0 && valid.every(({ UsingOracleGTID }) => UsingOracleGTID),
  }
}

/** The group's primary alone counts as its leader: a member that is alone with itself has that role, too. */
function leadsGroup({ instance, cluster }: Server): boolean {
  const isFirst = cluster.clusterName === `${instance.Key.Hostname}:${instance.Key.Port}`
  return instance.ReplicationGroupMemberRole === 'PRIMARY' || isFirst
}

/** The replica applies what it has, and its source does not answer. */
function failsToConnect(one: Instance): boolean {
  return (
    one.ReplicationIOThreadState !== 1 &&
    one.ReplicationSQLThreadState === 1 &&
    /connecting to (?:source|master)/i.test(one.LastIOError)
  )
}
