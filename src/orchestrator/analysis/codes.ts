import type { Figures } from './figures.ts'

/** A code of orchestrator's: when it holds, and what it says. The first code that holds is the analysis of a server. */
export interface CodeRule {
  readonly code: string
  readonly description: string
  /** Replicas are the matter, rather than the source: replicas that are all in downtime excuse it. */
  readonly isOfReplicas?: true
  readonly holds: (figures: Figures) => boolean
}

const nobodyReplicates = ({ replicating }: Figures) => replicating === 0
const allValid = ({ valid, count }: Figures) => count > 0 && valid === count
const someValid = ({ valid, count }: Figures) => valid > 0 && valid < count
const noneValid = ({ valid, count }: Figures) => count > 0 && valid === 0
const dead = (figures: Figures) => !figures.isValid && nobodyReplicates(figures)
const deadMaster = (figures: Figures) => figures.isMaster && dead(figures)
const deadIntermediate = (figures: Figures) => figures.isIntermediate && dead(figures)
const unseen = ({ isValid, isPartlySeen, valid, replicating }: Figures) =>
  !isValid && !isPartlySeen && valid > 0 && replicating > 0
const allLag = ({ isValid, lagging, delayed, count, replicating }: Figures) =>
  !isValid && lagging === count && delayed < count && replicating > 0
const sourceIsWell = (figures: Figures) => figures.isValid && nobodyReplicates(figures)
const masterAlone = (figures: Figures) => figures.isMaster && sourceIsWell(figures)
const intermediateAlone = (figures: Figures) => figures.isIntermediate && sourceIsWell(figures)

/** Writes wait there for acknowledgements, and too few replicas give any. */
const waitsForAcks = ({ server: { instance } }: Figures) =>
  instance.SemiSyncMasterEnabled &&
  instance.SemiSyncMasterStatus &&
  instance.SemiSyncMasterClients < instance.SemiSyncMasterWaitForReplicaCount

/** In the order in which orchestrator asks. */
export const codeRules: readonly CodeRule[] = [
  {
    code: 'DeadMasterWithoutReplicas',
    description: 'Master cannot be reached and has no replicas',
    holds: (f) => f.isMaster && !f.isValid && f.count === 0,
  },
  {
    code: 'DeadMaster',
    description: 'Master cannot be reached and none of its replicas is replicating',
    holds: (f) => deadMaster(f) && allValid(f),
  },
  {
    code: 'DeadMasterAndReplicas',
    description: 'Neither the master nor any of its replicas can be reached',
    holds: (f) => deadMaster(f) && noneValid(f),
  },
  {
    code: 'DeadMasterAndSomeReplicas',
    description: 'Master and some of its replicas cannot be reached; no replica is replicating',
    holds: (f) => deadMaster(f) && someValid(f),
  },
  {
    code: 'UnreachableMasterWithLaggingReplicas',
    description: 'Master cannot be reached and all of its replicas are lagging',
    holds: (f) => f.isMaster && allLag(f),
  },
  {
    code: 'UnreachableMaster',
    description: 'Master cannot be reached, but it has replicating replicas',
    holds: (f) => f.isMaster && unseen(f),
  },
  {
    code: 'UnreachableMaster',
    description: 'Master does not answer, and some of its replicas fail to connect to it',
    holds: (f) => f.isMaster && !f.isValid && f.failingToConnect > 0 && f.replicating > 0,
  },
  {
    code: 'LockedSemiSyncMaster',
    description: 'Writes of the master wait for acknowledgements of more replicas than give any',
    holds: (f) => f.isMaster && waitsForAcks(f) && f.isWaiting,
  },
  {
    code: 'LockedSemiSyncMasterHypothesis',
    description: 'The next write of the master would wait for acknowledgements of more replicas than give any',
    holds: (f) => f.isMaster && waitsForAcks(f),
  },
  {
    code: 'NoWriteableMasterStructureWarning',
    description: 'Master is read-only while its replicas replicate',
    holds: (f) => f.isMaster && f.isValid && f.server.instance.ReadOnly && f.replicating > 0,
  },
  {
    code: 'MasterSingleReplicaNotReplicating',
    description: 'Master is reachable, and its only replica is not replicating',
    isOfReplicas: true,
    holds: (f) => masterAlone(f) && f.count === 1 && allValid(f),
  },
  {
    code: 'MasterSingleReplicaDead',
    description: 'Master is reachable, and its only replica cannot be reached',
    isOfReplicas: true,
    holds: (f) => masterAlone(f) && f.count === 1 && noneValid(f),
  },
  {
    code: 'AllMasterReplicasNotReplicating',
    description: 'Master is reachable, and none of its replicas is replicating',
    isOfReplicas: true,
    holds: (f) => masterAlone(f) && f.count > 1 && allValid(f),
  },
  {
    code: 'AllMasterReplicasNotReplicatingOrDead',
    description: 'Master is reachable, none of its replicas is replicating, and some cannot be reached',
    isOfReplicas: true,
    holds: (f) => masterAlone(f) && f.count > 1 && someValid(f),
  },
  {
    code: 'DeadCoMaster',
    description: 'Co-master cannot be reached and none of its replicas is replicating',
    holds: (f) => f.isCoMaster && dead(f) && allValid(f),
  },
  {
    code: 'DeadCoMasterAndSomeReplicas',
    description: 'Co-master and some of its replicas cannot be reached; no replica is replicating',
    holds: (f) => f.isCoMaster && dead(f) && someValid(f),
  },
  {
    code: 'UnreachableCoMaster',
    description: 'Co-master cannot be reached, but it has replicating replicas',
    holds: (f) => f.isCoMaster && unseen(f),
  },
  {
    code: 'AllCoMasterReplicasNotReplicating',
    description: 'Co-master is reachable, and none of its replicas is replicating',
    isOfReplicas: true,
    holds: (f) => f.isCoMaster && sourceIsWell(f) && f.count > 0,
  },
  {
    code: 'DeadIntermediateMasterWithSingleReplicaFailingToConnect',
    description: 'Intermediate master cannot be reached, and its only replica fails to connect to it',
    isOfReplicas: true,
    holds: (f) => deadIntermediate(f) && f.count === 1 && allValid(f) && f.failingToConnect === 1,
  },
  {
    code: 'DeadIntermediateMasterWithSingleReplica',
    description: 'Intermediate master cannot be reached, and its only replica is not replicating',
    isOfReplicas: true,
    holds: (f) => deadIntermediate(f) && f.count === 1 && allValid(f),
  },
  {
    code: 'DeadIntermediateMaster',
    description: 'Intermediate master cannot be reached, and none of its replicas is replicating',
    isOfReplicas: true,
    holds: (f) => deadIntermediate(f) && allValid(f),
  },
  {
    code: 'DeadIntermediateMasterAndSomeReplicas',
    description: 'Intermediate master and some of its replicas cannot be reached; no replica is replicating',
    isOfReplicas: true,
    holds: (f) => deadIntermediate(f) && someValid(f),
  },
  {
    code: 'DeadIntermediateMasterAndReplicas',
    description: 'Neither the intermediate master nor any of its replicas can be reached',
    isOfReplicas: true,
    holds: (f) => deadIntermediate(f) && noneValid(f),
  },
  {
    code: 'UnreachableIntermediateMasterWithLaggingReplicas',
    description: 'Intermediate master cannot be reached and all of its replicas are lagging',
    holds: (f) => f.isIntermediate && allLag(f),
  },
  {
    code: 'UnreachableIntermediateMaster',
    description: 'Intermediate master cannot be reached, but it has replicating replicas',
    holds: (f) => f.isIntermediate && unseen(f),
  },
  {
    code: 'AllIntermediateMasterReplicasFailingToConnectOrDead',
    description: 'Intermediate master is reachable, and all its replicas fail to connect to it or are dead',
    isOfReplicas: true,
    holds: (f) => intermediateAlone(f) && f.count > 1 && f.failingToConnect > 0 && f.failingToConnect === f.valid,
  },
  {
    code: 'AllIntermediateMasterReplicasNotReplicating',
    description: 'Intermediate master is reachable, and none of its replicas is replicating',
    isOfReplicas: true,
    holds: (f) => intermediateAlone(f) && f.valid > 0,
  },
  {
    code: 'FirstTierReplicaFailingToConnectToMaster',
    description: 'Replica of the master fails to connect to it',
    holds: (f) => f.server.instance.ReplicationDepth === 1 && f.isFailingToConnect,
  },
  {
    code: 'DeadReplicationGroupMemberWithReplicas',
    description: 'Group member cannot be reached and all of its replicas are not replicating',
    holds: (f) => f.isGroupMember && dead(f) && f.count > 0,
  },
]
