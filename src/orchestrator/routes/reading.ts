import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { analysesOf } from '../analysis/replication-analysis.ts'
import { clusterInfo } from '../fleet/cluster-info.ts'
import type { Instance } from '../documents/instance.ts'
import { keyText, isSameKey } from '../documents/key.ts'
import { topologyText } from '../fleet/topology-text.ts'
import { headOf, writableHeadOf, type Cluster, type Server } from '../fleet/fleet.ts'
import { whyNotByGtids, whyNotFrom } from '../trees/checks.ts'
import { ok, plain, refused } from './answers.ts'
import type { Call, Route } from './route.ts'

const documents = (servers: readonly Server[]): readonly Instance[] => servers.map(({ instance }) => instance)

/** The server that leads, also while read-only; throws in orchestrator's words where there is none. */
function masterOf(cluster: Cluster): Instance {
  const head = headOf(cluster)
  if (head === undefined) throw new RegentError('REGENT_NOT_FOUND', say`No masters found for ${cluster.clusterName}`)
  return head.instance
}

/** A cluster without one hinders nobody from seeing the others. */
function masters({ fleet }: Call): readonly Instance[] {
  return documents(fleet.map(writableHeadOf).filter((head) => head !== undefined))
}

function byAlias(call: Call): Cluster {
  return call.clusterNamed(call.param('clusterAlias'))
}

/** What a route for a cluster answers, by whatever name the cluster is given. */
const ofCluster = (path: string, does: string, answer: (cluster: Cluster) => unknown): readonly Route[] => [
  { path: `${path}/:clusterHint`, does, answer: (call) => plain(answer(call.cluster)) },
  {
    path: `${path}/alias/:clusterAlias`,
    does: `${does}, by its alias`,
    answer: (call) => plain(answer(byAlias(call))),
  },
]

const topology = (path: string, layout: Parameters<typeof topologyText>[1]): readonly Route[] =>
  [`${path}/:clusterHint`, `${path}/:host/:port`].map((each) => ({
    path: each,
    does: 'the tree as text',
    differs:
      'figures are those that agents streamed last, not those of the last poll: a lag below one second is shown as 0s',
    answer: (call) => ok(`Topology for cluster ${call.cluster.clusterName}`, topologyText(call.cluster, layout)),
  }))

/** Replicas that a schema change may watch: alive, not the primary, not in downtime. */
function oscReplicas(cluster: Cluster): readonly Instance[] {
  const head = headOf(cluster)
  return documents(cluster.servers.filter((server) => server !== head)).filter(
    ({ IsLastCheckValid, IsDowntimed }) => IsLastCheckValid && !IsDowntimed,
  )
}

function found(call: Call): readonly Instance[] {
  const text = call.said('searchString', 's').toLowerCase()
  const words = ({ cluster, instance, name }: Server) => [
    keyText(instance.Key),
    name,
    cluster.alias,
    cluster.name,
    cluster.clusterName,
    instance.Version,
    instance.VersionComment,
  ]
  const isMeant = (server: Server) =>
    words(server).some((word) => word.toLowerCase().includes(text)) || String(server.instance.ServerID) === text
  return documents(call.servers.filter(isMeant))
}

const inDowntime = (servers: readonly Server[]) => documents(servers).filter(({ IsDowntimed }) => IsDowntimed)
const inTrouble = (servers: readonly Server[]) => documents(servers).filter(({ Problems }) => Problems.length > 0)

const ofAnalysis = {
  differs:
    'the codes are computed from what agents see, and decide nothing: what Regent does, and why, is in regent ' +
    'explain. Never said are MasterWithTooManySemiSyncReplicas, which a setting of orchestrator asks for, and ' +
    'BinlogServerFailingToConnectToMaster: there are no binlog servers',
  watched:
    'the codes are computed from looks at the servers; a source that lacks acknowledgements is locked once ' +
    'somebody waits for one. Members of a group are not known as such, so ' +
    'DeadReplicationGroupMemberWithReplicas is never said',
} as const

const asTree = 'true where it does already, or would after a switchover to the second: the tree is the record’s'

export const readingRoutes: readonly Route[] = [
  {
    path: 'clusters',
    does: 'the names of all clusters',
    answer: (call) => plain(call.fleet.map(({ clusterName }) => clusterName)),
  },
  { path: 'clusters-info', does: 'all clusters', answer: (call) => plain(call.fleet.map(clusterInfo)) },
  ...ofCluster('cluster', 'the servers of a cluster', ({ servers }) => documents(servers)),
  {
    path: 'cluster/instance/:host/:port',
    does: 'the servers of the cluster of a server',
    answer: (call) => plain(documents(call.cluster.servers)),
  },
  ...ofCluster('cluster-info', 'one cluster', clusterInfo),
  {
    path: 'cluster-osc-replicas/:clusterHint',
    does: 'replicas that a schema change may watch',
    differs: 'all that are well, where orchestrator picks a few: clusters have 16 instances at most',
    answer: (call) => plain(oscReplicas(call.cluster)),
  },
  {
    path: 'masters',
    does: 'the primary of each cluster, where that one takes writes',
    answer: (call) => plain(masters(call)),
  },
  {
    path: 'master/:clusterHint',
    does: 'the primary of a cluster',
    differs: 'the primary of the record, also while it is read-only or being replaced: never two, and never a replica',
    answer: (call) => plain(masterOf(call.cluster)),
  },
  { path: 'instance/:host/:port', does: 'one server', answer: (call) => plain(call.server.instance) },
  {
    path: 'instance-replicas/:host/:port',
    does: 'who replicates from a server',
    answer(call) {
      const { instance } = call.server
      return plain(documents(call.servers).filter(({ MasterKey }) => isSameKey(MasterKey, instance.Key)))
    },
  },
  { path: 'all-instances', does: 'all servers', answer: (call) => plain(documents(call.servers)) },
  {
    path: 'bulk-instances',
    does: 'the keys of all servers',
    answer: (call) => plain(documents(call.servers).map(({ Key }) => Key)),
  },
  {
    path: 'search',
    does: 'servers whose name, cluster or version holds a text (s=), or whose server_id that is',
    answer: (call) => plain(found(call)),
  },
  { path: 'search/:searchString', does: 'the same', answer: (call) => plain(found(call)) },
  { path: 'problems', does: 'servers with which something is wrong', answer: (call) => plain(inTrouble(call.servers)) },
  {
    path: 'problems/:clusterHint',
    does: 'the same of one cluster',
    answer: (call) => plain(inTrouble(call.cluster.servers)),
  },
  { path: 'downtimed', does: 'servers in downtime', answer: (call) => plain(inDowntime(call.servers)) },
  {
    path: 'downtimed/:clusterHint',
    does: 'the same of one cluster',
    answer: (call) => plain(inDowntime(call.cluster.servers)),
  },
  ...topology('topology', 'plain'),
  ...topology('topology-tabulated', 'tabulated'),
  ...topology('topology-tags', 'tags'),
  {
    path: 'replication-analysis',
    does: 'what is wrong, by orchestrator’s codes',
    ...ofAnalysis,
    answer: (call) => ok('Analysis', analysesOf(call.fleet)),
  },
  {
    path: 'replication-analysis/:clusterHint',
    does: 'the same of one cluster',
    ...ofAnalysis,
    answer: (call) => ok('Analysis', analysesOf([call.cluster])),
  },
  {
    path: 'replication-analysis/instance/:host/:port',
    does: 'the same of one server',
    ...ofAnalysis,
    answer: (call) =>
      ok(
        'Analysis',
        analysesOf([call.cluster]).filter((entry) => isSameKey(entry.AnalyzedInstanceKey, call.server.instance.Key)),
      ),
  },
  {
    path: 'replication-analysis-changelog',
    does: 'an empty list',
    differs: 'what was decided stands in the log of the manager and in the recoveries',
    answer: () => plain([]),
  },
  ...['audit', 'audit/:page', 'audit/instance/:host/:port', 'audit/instance/:host/:port/:page'].map((path): Route => ({
    path,
    does: 'an empty list',
    differs: 'who asked for what stands in the log of the manager',
    answer: () => plain([]),
  })),
  {
    path: 'can-replicate-from/:host/:port/:belowHost/:belowPort',
    does: 'whether the first may replicate from the second',
    differs: asTree,
    watched: 'orchestrator’s checks',
    answer: (call) => canReplicate(call, whyNotFrom),
  },
  {
    path: 'can-replicate-from-gtid/:host/:port/:belowHost/:belowPort',
    does: 'the same',
    differs: asTree,
    watched: 'orchestrator’s checks of GTIDs, too',
    answer: (call) => canReplicate(call, (one, other) => whyNotFrom(one, other) ?? whyNotByGtids(one, other)),
  },
  {
    path: 'last-pseudo-gtid/:host/:port',
    does: 'an empty text',
    differs: 'every server has GTIDs; there are no pseudo-GTIDs',
    answer: (call) => ok(`No pseudo-GTID on ${keyText(call.server.instance.Key)}`, ''),
  },
  {
    path: 'bulk-promotion-rules',
    does: 'the promotion rule of each server',
    answer: (call) =>
      plain(
        documents(call.servers).map(({ Key, PromotionRule }) => ({
          Hostname: Key.Hostname,
          Port: Key.Port,
          PromotionRule,
          LastSuggestedString: '',
        })),
      ),
  },
]

function canReplicate(call: Call, why: typeof whyNotFrom) {
  const [one, other] = [call.server, call.named(call.param('belowHost'), call.param('belowPort'))]
  const whyNot = one.cluster.isWatched ? why(one.instance, other.instance) : whyNotManaged(one, other)
  return whyNot === undefined ? ok('true', other.instance.Key) : refused(whyNot)
}

function whyNotManaged(one: Server, other: Server): string | undefined {
  const [key, from] = [keyText(one.instance.Key), keyText(other.instance.Key)]
  if (one.name === other.name && one.cluster === other.cluster) return `instance cannot replicate from itself: ${key}`
  if (one.cluster !== other.cluster) return `${from} is in another cluster: ${other.cluster.alias}`
  if (!other.instance.LogSlaveUpdatesEnabled) return `instance does not have log_slave_updates enabled: ${from}`
  return one.instance.GtidErrant === '' ? undefined : `${key} has errant GTID ${one.instance.GtidErrant}`
}
