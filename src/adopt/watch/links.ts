import { binlogNumberIn } from '#common/mysql/binlog-number.ts'
import { memberId } from '#topology/snapshot/member.ts'
import { observationVersion, type Channel, type Observation, type ServerState } from '#topology/snapshot/observation.ts'
import { buildReplicationTree, type ReplicationTree } from '#topology/snapshot/replication-tree.ts'
import type { InstanceView, Snapshot } from '#topology/snapshot/snapshot.ts'
import { unappliedOf } from '#topology/snapshot/holdings.ts'
import { isSameAddress, parseHostAddress, type HostAddress } from '../host-address.ts'
import type { SeenChannel, SeenServer } from '../servers/seen.ts'
import { answers, type Look } from './look.ts'

/** The channel by which a server follows one of the cluster, else its first; undefined where it follows nobody. */
export function channelOf(look: Look, looks: readonly Look[]): SeenChannel | undefined {
  const channels = look.server?.channels ?? []
  return channels.find((channel) => sourceOf(channel, looks) !== undefined) ?? channels[0]
}

/** The source within the cluster: by `server_uuid`, else by one of its addresses. */
export function sourceOf(channel: SeenChannel, looks: readonly Look[]): Look | undefined {
  const byUuid = looks.find((look) => channel.sourceUuid !== '' && look.server?.uuid === channel.sourceUuid)
  if (byUuid !== undefined) return byUuid
  const address = { host: channel.sourceHost, port: channel.sourcePort }
  return looks.find((look) => addressesOf(look).some((one) => isSameAddress(one, address)))
}

/** By which replicas may know a server. */
function addressesOf({ host, server }: Look): readonly HostAddress[] {
  const { port } = host
  const names = [host.host, ...(server === null ? [] : [server.reportHost, server.hostname])]
  const others = host.alsoKnownAs.map((text) => parseHostAddress(text))
  return [
    ...names.filter((name) => name !== '').map((name) => ({ host: name, port })),
    ...others.filter((one) => one !== undefined),
  ]
}

/** The tree of replication, by the one model that all clusters have. */
export function treeOf(cluster: string, looks: readonly Look[]): ReplicationTree {
  return buildReplicationTree(snapshotOf(cluster, looks))
}

export function snapshotOf(cluster: string, looks: readonly Look[]): Snapshot {
  return { instances: looks.map((look) => viewOf(cluster, look, looks)) }
}

function viewOf(cluster: string, look: Look, looks: readonly Look[]): InstanceView {
  const { host, port, instance } = look.host
  return {
    ...{ name: instance, host, port, agent: '' },
    observation: look.server === null ? null : observationOf(cluster, look, looks),
    heardAtMs: look.server === null ? null : look.answeredMs,
    reachable: answers(look),
  }
}

/** What agents alone know is as it is where there is nothing of the kind. */
function observationOf(cluster: string, look: Look, looks: readonly Look[]): Observation {
  const { instance } = look.host
  return {
    ...{ version: observationVersion, cluster, instance, member: memberId(instance, look.server?.uuid ?? '') },
    ...{ agentRun: '', sequence: 0, regentVersion: '' },
    ...{ process: 'running', processNote: '', mysqldPid: null, processSinceMs: 0, silentMs: 0 },
    server: look.server === null ? null : stateOf(look.server, channelOf(look, looks), looks),
    ...{ probe: 'unknown', probeDetail: '', freeBytes: null },
    stored: {
      ...{ promise: 0, revision: 0, assignment: null, unsettled: false, forgetful: false, seeding: false },
      ...{ filterSeen: false, fromThePast: false, incarnation: '' },
    },
    ...{ promiseReport: null, converged: { revision: 0, done: true, sentence: '' }, markedRevision: 0 },
    ...{ binlogSet: null, lease: null, seedingProgress: null, peers: [], notices: [] },
  }
}

function stateOf(server: SeenServer, channel: SeenChannel | undefined, looks: readonly Look[]): ServerState {
  const { uuid, version, readOnly, superReadOnly, offline, executed, binlog } = server
  return {
    ...{ uuid, version, readOnly, superReadOnly, executed, offlineMode: offline, owned: '', purged: '' },
    received: channel?.received ?? '',
    channel: channel === undefined ? null : modelOf(channel, executed, looks),
    dumpThreads: [],
    semiSyncSource: { enabled: server.semiSyncSource, intact: false, acks: 0, waiting: 0, unacknowledged: 0 },
    ...{ openGates: [], runningSessions: 0, foreignTables: [], persisted: [] },
    binlogNumber: binlogNumberIn(binlog?.file ?? ''),
  }
}

/** Its source has the address by which the cluster knows it, whatever name the replica has for it. */
function modelOf(channel: SeenChannel, executed: string, looks: readonly Look[]): Channel {
  const source = sourceOf(channel, looks)?.host
  const backlog = unappliedOf({ received: channel.received, executed }).count()
  return {
    sourceHost: source?.host ?? channel.sourceHost,
    sourcePort: source?.port ?? channel.sourcePort,
    sourceUser: channel.sourceUser,
    sourceUuid: channel.sourceUuid,
    ioRunning: channel.io,
    sqlRunning: channel.sql,
    ioError: channel.ioError,
    sqlError: channel.sqlError,
    backlogTransactions: backlog,
    lagSeconds: channel.lagSeconds,
    semiSync: false,
    filtered: channel.filtered,
    silentMs: null,
  }
}
