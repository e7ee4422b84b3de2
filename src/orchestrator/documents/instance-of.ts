import { downtimesAt } from '#failover/judge/downtime.ts'
import { isServing } from '#failover/judge/situation.ts'
import type { Downtime } from '#failover/protocol/notes.ts'
import type { KnownCluster } from '#manager/clusters/cluster-service.ts'
import { delaySecondsOf } from '#topology/snapshot/channel-delay.ts'
import { errantOf } from '#topology/snapshot/comparison.ts'
import type { Channel, GroupState, Observation, ServerState } from '#topology/snapshot/observation.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import type { Coordinates, Instance, ThreadState } from './instance.ts'
import { nobody, type Key } from './key.ts'
import { moment, nullableNumber } from './moment.ts'
import { problemsOf } from './problems.ts'
import { promotionRuleOf } from './promotion-rule.ts'
import { watchedFields } from './watched-fields.ts'

/** What is the same for all servers of a cluster. */
export interface Surroundings {
  readonly known: KnownCluster
  readonly clusterName: string
  readonly alias: string
  readonly keyOf: (view: InstanceView) => Key
  /** Whom a server follows; undefined for nobody. */
  sourceOf(view: InstanceView): Key | undefined
  followersOf(view: InstanceView): readonly Key[]
  depthOf(view: InstanceView): number
  isCoMaster(view: InstanceView): boolean
}

const recentlyMs = 25_000

/** A server as orchestrator would show the server, by what its agent and the manager know. */
export function instanceDocument(view: InstanceView, around: Surroundings): Instance {
  const { known, clusterName, alias } = around
  const replicas = around.followersOf(view)
  const document = {
    Key: around.keyOf(view),
    InstanceAlias: view.name,
    ClusterName: clusterName,
    SuggestedClusterAlias: alias,
    DataCenter: '',
    Region: '',
    PhysicalEnvironment: '',
    ReplicationDepth: around.depthOf(view),
    IsCoMaster: around.isCoMaster(view),
    SlaveHosts: replicas,
    Replicas: replicas,
    ...processFields(view.observation),
    ...serverFields(view.observation?.server ?? null, view.observation),
    ...channelFields(view, around),
    GtidErrant: errantText(view, known),
    ...semiSyncFields(view.observation?.server ?? null),
    ...lookFields(view, known),
    ...policyFields(view, known),
    ...downtimeFields(downtimesAt(known.notes, known.wallMs).find(({ instance }) => instance === view.name)),
    UnresolvedHostname: '',
    CountMySQLSnapshots: 0,
    LastDiscoveryLatency: 0,
    ...groupFields(view.observation?.server ?? null, around),
    ...ofWatched(view, known),
  }
  return { ...document, Problems: problemsOf(document) }
}

function ofWatched({ name }: InstanceView, { watched }: KnownCluster) {
  const seen = watched?.servers[name]
  return seen === undefined ? {} : watchedFields(seen)
}

function processFields(seen: Observation | null) {
  return { Uptime: seen?.process === 'running' ? Math.floor(seen.processSinceMs / 1_000) : 0 }
}

const nowhere: Coordinates = { LogFile: '', LogPos: 0, Type: 0 }

function binlogPlace(file: number | undefined, position: number | undefined): Coordinates {
  return file === undefined
    ? nowhere
    : { LogFile: `binlog.${String(file).padStart(6, '0')}`, LogPos: position ?? 0, Type: 0 }
}

type Said = Pick<ServerState, 'uuid' | 'version' | 'readOnly' | 'executed' | 'purged'> &
  Partial<Pick<ServerState, 'binlogNumber' | 'binlogPosition'>>

/** Values of a server that never answered. */
const nothingSaid: Said = { uuid: '', version: '', readOnly: true, executed: '', purged: '' }

function serverFields(server: ServerState | null, seen: Observation | null) {
  const isLogging = seen?.stored.binlogOff !== true
  const said: Said = server ?? nothingSaid
  return {
    ServerID: 0,
    ServerUUID: said.uuid,
    Version: said.version,
    VersionComment: '',
    FlavorName: 'MySQL',
    ReadOnly: said.readOnly,
    Binlog_format: 'ROW',
    BinlogRowImage: 'FULL',
    LogBinEnabled: isLogging,
    LogSlaveUpdatesEnabled: isLogging,
    LogReplicationUpdatesEnabled: isLogging,
    SelfBinlogCoordinates: binlogPlace(said.binlogNumber, said.binlogPosition),
    GTIDMode: 'ON',
    SupportsOracleGTID: true,
    UsingMariaDBGTID: false,
    UsingPseudoGTID: false,
    ExecutedGtidSet: said.executed,
    GtidPurged: said.purged,
  }
}

const ioStates = { yes: 1, connecting: 2, no: 0 } as const

function channelFields(view: InstanceView, around: Surroundings) {
  const { channel = null, uuid = '' } = view.observation?.server ?? {}
  const source = around.sourceOf(view)
  const followed = source === undefined ? null : channel
  return {
    MasterKey: source ?? nobody,
    ...uuidFields(uuid, followed),
    IsDetachedMaster: false,
    IsDetached: false,
    ...threadFields(followed),
    ...errorFields(followed),
    ...lagFields(view, followed),
    HasReplicationFilters: followed?.filtered === true,
    UsingOracleGTID: followed !== null,
    ReadBinlogCoordinates: readPlace(followed),
    ExecBinlogCoordinates: nowhere,
    RelaylogCoordinates: { ...nowhere, Type: 1 as const },
    HasReplicationCredentials: followed !== null,
    ReplicationCredentialsAvailable: true,
    AllowTLS: followed?.encrypted === true,
  }
}

function readPlace(followed: Channel | null): Coordinates {
  const { file, position } = followed?.hasRead ?? {}
  return binlogPlace(file, position)
}

function uuidFields(own: string, followed: Channel | null) {
  const source = followed?.sourceUuid ?? ''
  return { MasterUUID: source, AncestryUUID: [source, own].filter((uuid) => uuid !== '').join(',') }
}

function threadFields(followed: Channel | null) {
  const [io, sql]: readonly [ThreadState, ThreadState] =
    followed === null ? [-1, -1] : [ioStates[followed.ioRunning], followed.sqlRunning ? 1 : 0]
  return {
    Slave_SQL_Running: sql === 1,
    ReplicationSQLThreadRuning: sql === 1,
    Slave_IO_Running: io === 1,
    ReplicationIOThreadRuning: io === 1,
    ReplicationSQLThreadState: sql,
    ReplicationIOThreadState: io,
  }
}

function errorFields(followed: Channel | null) {
  return { LastSQLError: followed?.sqlError ?? '', LastIOError: followed?.ioError ?? '' }
}

/** A replica that runs and has nothing left to apply is up to date; of a primary orchestrator says zero too. */
function lagFields(view: InstanceView, followed: Channel | null) {
  const lag = nullableNumber(lagOf(view.observation?.server?.group, followed))
  return {
    SecondsBehindMaster: lag,
    SlaveLagSeconds: lag,
    ReplicationLagSeconds: lag,
    SQLDelay: delaySecondsOf(followed),
  }
}

function lagOf(group: GroupState | undefined, followed: Channel | null): number | null {
  if (followed === null) return group?.lagSeconds ?? 0
  const runs = followed.ioRunning === 'yes' && followed.sqlRunning
  return runs ? (followed.lagSeconds ?? 0) : followed.lagSeconds
}

/** A primary whose server was never heard cannot be compared with. */
function errantText({ observation: seen }: InstanceView, { record, snapshot }: KnownCluster): string {
  const primary = snapshot.instances.find(({ observation }) => observation?.member === record?.primary)?.observation
  if (!seen?.server || !primary?.server || seen.member === primary.member) return ''
  return errantOf(seen, primary).toString()
}

const noSemiSync = { enabled: false, acks: 0 } as const

function semiSyncFields(server: ServerState | null) {
  const { enabled, acks } = server?.semiSyncSource ?? noSemiSync
  const { dumpThreads = [], channel = null } = server ?? {}
  const isReplica = channel?.semiSync === true
  return {
    SemiSyncAvailable: server !== null,
    SemiSyncPriority: 0,
    SemiSyncMasterPluginNewVersion: true,
    SemiSyncReplicaPluginNewVersion: true,
    SemiSyncMasterEnabled: enabled,
    SemiSyncReplicaEnabled: isReplica,
    SemiSyncMasterTimeout: 0,
    SemiSyncMasterWaitForReplicaCount: acks,
    SemiSyncMasterStatus: enabled,
    SemiSyncMasterClients: dumpThreads.filter(({ semiSync }) => semiSync).length,
    SemiSyncReplicaStatus: isReplica,
  }
}

/** Nothing is polled: a server that is heard in time was seen just now. */
function lookFields(view: InstanceView, { timings, nowMs, wallMs }: KnownCluster) {
  const isValid = isServing(view, timings)
  const agoMs = view.heardAtMs === null ? null : nowMs - view.heardAtMs + (view.observation?.silentMs ?? 0)
  return {
    IsLastCheckValid: isValid,
    IsUpToDate: isValid,
    IsRecentlyChecked: agoMs !== null && agoMs < recentlyMs,
    LastSeenTimestamp: agoMs === null ? '' : moment(wallMs - agoMs),
    SecondsSinceLastSeen: nullableNumber(agoMs === null ? null : agoMs / 1_000),
  }
}

function policyFields({ name }: InstanceView, { spec }: KnownCluster) {
  const rule = promotionRuleOf(spec.policies[name])
  return { PromotionRule: rule, IsCandidate: rule === 'prefer' }
}

/** When it began is not kept: what has passed of it is said as nothing. */
function downtimeFields(downtime: Downtime | undefined) {
  return {
    IsDowntimed: downtime !== undefined,
    DowntimeReason: downtime?.reason ?? '',
    DowntimeOwner: downtime?.owner ?? '',
    DowntimeEndTimestamp: moment(downtime?.untilWallMs ?? null),
    ElapsedDowntime: 0,
  }
}

const noGroup = {
  ReplicationGroupName: '',
  ReplicationGroupIsSinglePrimary: false,
  ReplicationGroupMemberState: '',
  ReplicationGroupMemberRole: '',
  ReplicationGroupMembers: [],
  ReplicationGroupPrimaryInstanceKey: nobody,
} satisfies Partial<Instance>

function groupFields(server: ServerState | null, { known, keyOf }: Surroundings) {
  const group = server?.group
  if (server === null || group === undefined) return noGroup
  const keyAt = (uuid: string): readonly Key[] =>
    known.snapshot.instances.filter(({ observation }) => observation?.server?.uuid === uuid).map(keyOf)
  const primary = group.members.find(({ role }) => role === 'PRIMARY')
  return {
    ReplicationGroupName: group.name,
    ReplicationGroupIsSinglePrimary: true,
    ReplicationGroupMemberState: group.state,
    ReplicationGroupMemberRole: group.members.find(({ uuid }) => uuid === server.uuid)?.role ?? '',
    ReplicationGroupMembers: group.members.flatMap(({ uuid }) => keyAt(uuid)),
    ReplicationGroupPrimaryInstanceKey: (primary && keyAt(primary.uuid)[0]) ?? nobody,
  }
}
