import { createHash } from 'node:crypto'
import type { Acknowledgement } from '#failover/protocol/annotations.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import type { WatchedRecovery } from '#manager/clusters/watched.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { Cluster } from './fleet.ts'
import type { Key } from '../documents/key.ts'
import { nobody } from '../documents/key.ts'
import { clusterInfo } from './cluster-info.ts'
import { moment } from '../documents/moment.ts'

/** Here a recovery is named by a text: the number that scripts ask for is made of it, the same each time. */
export function recoveryNumber(id: string): number {
  return createHash('sha256').update(id).digest().readUIntBE(0, 6)
}

/** A change of the primary as orchestrator records recoveries. */
export function recoveryDocument(recovery: WatchedRecovery, cluster: Cluster) {
  const { id, from, outcome } = recovery
  const key = (member: Recovery['from']): Key | null =>
    member === null ? null : (cluster.keyOf(instanceOf(member)) ?? null)
  const participants = cluster.servers.map(({ instance }) => instance.Key)
  return {
    Id: recoveryNumber(id),
    UID: id,
    AnalysisEntry: {
      AnalyzedInstanceKey: key(from) ?? nobody,
      ClusterDetails: clusterInfo(cluster),
      Analysis: analysisCode(recovery),
      Description: recovery.analysis,
      StructureAnalysis: [],
      IsMaster: !/Intermediate|CoMaster/.test(analysisCode(recovery)),
      CountReplicas: Math.max(0, participants.length - 1),
      CommandHint: recovery.kind === 'switchover' ? 'graceful-master-takeover' : '',
    },
    ...successorFields(recovery, key),
    IsActive: outcome === 'running',
    IsSuccessful: outcome === 'succeeded',
    LostReplicas: (recovery.lost ?? []).flatMap((name) => cluster.keyOf(name) ?? []),
    ParticipatingInstanceKeys: participants,
    ...endFields(recovery),
    ProcessingNodeHostname: 'regent',
    ProcessingNodeToken: '',
    ...acknowledgedFields(cluster.known.notes.annotations?.acknowledged?.[id]),
    LastDetectionId: recoveryNumber(id),
    RelatedRecoveryId: 0,
    ...kindFields(recovery),
  }
}

function successorFields({ to, outcome }: Recovery, key: (member: Recovery['to']) => Key | null) {
  const successor = outcome === 'succeeded' ? key(to) : null
  return {
    SuccessorKey: successor,
    SuccessorAlias: successor && to ? instanceOf(to) : '',
    SuccessorBinlogCoordinates: null,
  }
}

function endFields({ outcome, sentence, startedWallMs, timeline }: Recovery) {
  const endedMs = startedWallMs + (timeline.at(-1)?.atMs ?? 0)
  return {
    AllErrors: outcome === 'undone' || outcome === 'abandoned' ? [sentence] : [],
    RecoveryStartTimestamp: moment(startedWallMs),
    RecoveryEndTimestamp: moment(outcome === 'running' ? null : endedMs),
  }
}

function acknowledgedFields(said: Acknowledgement | undefined) {
  const { wallMs = null, by = '', comment = '' } = said ?? {}
  return {
    Acknowledged: said !== undefined,
    AcknowledgedAt: moment(wallMs),
    AcknowledgedBy: by,
    AcknowledgedComment: comment,
  }
}

function kindFields(recovery: Recovery) {
  const code = analysisCode(recovery)
  if (code.includes('Intermediate')) return { Type: 'IntermediateMasterRecovery', RecoveryType: 'NotMasterRecovery' }
  if (code.includes('CoMaster')) return { Type: 'CoMasterRecovery', RecoveryType: 'MasterRecoveryGTID' }
  return recovery.kind === 'repair'
    ? { Type: 'ReplicaRecovery', RecoveryType: 'NotMasterRecovery' }
    : { Type: 'MasterRecovery', RecoveryType: 'MasterRecoveryGTID' }
}

/** Regent's words for what orchestrator calls the same. */
const codes: Readonly<Record<string, string>> = {
  DeadPrimary: 'DeadMaster',
  FrozenPrimary: 'DeadMaster',
  DeadPrimaryAndSomeReplicas: 'DeadMasterAndSomeReplicas',
  DeadPrimaryAndReplicas: 'DeadMasterAndReplicas',
  DeadPrimaryWithoutReplicas: 'DeadMasterWithoutReplicas',
  UnreachablePrimary: 'UnreachableMaster',
}

/** A switchover is recorded by orchestrator as the recovery of a dead master. */
function analysisCode({ analysis, kind }: Recovery): string {
  const code = /^\w+/.exec(analysis)?.[0] ?? ''
  if (code.includes('Master')) return code
  return codes[code] ?? (kind === 'repair' ? 'NoProblem' : 'DeadMaster')
}

/** The steps of a recovery, the oldest first. */
export function recoverySteps({ id, startedWallMs, timeline }: Recovery) {
  return timeline.map(({ atMs, what }, at) => ({
    Id: at + 1,
    RecoveryUID: id,
    AuditAt: moment(startedWallMs + atMs),
    Message: what,
  }))
}
