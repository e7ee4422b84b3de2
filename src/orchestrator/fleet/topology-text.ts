import type { Cluster, Server } from './fleet.ts'
import type { Instance } from '../documents/instance.ts'
import { keyText } from '../documents/key.ts'
import { isReplicating, lagsTooMuch } from '../documents/problems.ts'

/** What a line of a topology says of a server. */
interface Line {
  readonly prefix: string
  readonly server: Server
}

type Layout = 'plain' | 'tabulated' | 'tags'

/** The tree of a cluster as text, a line for each server; tags by the name of the instance. */
export function topologyText(cluster: Cluster, layout: Layout): string {
  const lines = linesOf(cluster)
  if (layout === 'tabulated') return tabulated(lines)
  const heads = lines.map(headOf)
  const width = Math.max(...heads.map(({ length }) => length))
  return lines
    .map(({ server }, at) => {
      const text = `${(heads[at] ?? '').padEnd(width)} [${describe(server.instance).join(',')}]`
      return layout === 'tags' ? `${text} [${tagsOf(server).join(',')}]` : text
    })
    .join('\n')
}

export function tagsOf({ name, cluster }: Server): readonly string[] {
  const tags = cluster.known.notes.annotations?.tags?.[name] ?? {}
  return Object.entries(tags)
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([tag, value]) => (value === '' ? tag : `${tag}=${value}`))
}

/**
 * A server whose source is none of those that are shown stands at the top. Two that follow each other stand beside each
 * other, as replicas do; longer rings are entered once.
 */
function linesOf({ servers, clusterName }: Cluster): readonly Line[] {
  const byKey = new Map(servers.map((server) => [keyText(server.instance.Key), server] as const))
  const placed = new Set<Server>()
  const below = (parent: Server, depth: number): readonly Line[] => {
    if (placed.has(parent)) return []
    placed.add(parent)
    const others = servers.filter((other) => other !== parent && standsBelow(other, parent, clusterName))
    const replicas = others.filter(({ instance }) => !instance.IsCoMaster)
    const line = {
      server: parent,
      prefix: depth === 0 ? '' : `${' '.repeat(2 * (depth - 1))}${markOf(parent.instance)} `,
    }
    return [line, ...replicas.flatMap((other) => below(other, depth + 1))]
  }
  const head = byKey.get(clusterName)
  const tops = servers.filter(({ instance }) => !byKey.has(keyText(instance.MasterKey)))
  const pair = servers.filter(({ instance }) => instance.IsCoMaster)
  return [...(head ? [head] : []), ...tops, ...pair, ...servers].flatMap((server) =>
    below(server, server.instance.IsCoMaster ? 1 : 0),
  )
}

function standsBelow({ instance }: Server, { instance: parent }: Server, clusterName: string): boolean {
  if (keyText(instance.MasterKey) === keyText(parent.Key)) return true
  return instance.ReplicationGroupMemberRole === 'SECONDARY' && keyText(parent.Key) === clusterName
}

function markOf(one: Instance): string {
  if (one.ReplicationGroupMemberRole === 'SECONDARY') return '‡'
  return isReplicating(one) && one.IsLastCheckValid && one.IsRecentlyChecked ? '+' : '-'
}

function headOf({ prefix, server: { instance } }: Line): string {
  return `${prefix}${keyText(instance.Key)}`
}

function describe(one: Instance): readonly string[] {
  return [...columnsOf(one), ...extrasOf(one)].filter((word) => word !== '')
}

function columnsOf(one: Instance): readonly string[] {
  return [
    lagText(one),
    statusOf(one),
    one.Version,
    one.ReadOnly ? 'ro' : 'rw',
    one.LogBinEnabled ? one.Binlog_format : 'nobinlog',
  ]
}

function lagText(one: Instance): string {
  if (!one.IsLastCheckValid || !one.IsRecentlyChecked) return 'unknown'
  return one.ReplicationLagSeconds.Valid ? `${one.ReplicationLagSeconds.Int64}s` : 'null'
}

function statusOf(one: Instance): string {
  if (!one.IsLastCheckValid) return 'invalid'
  if (!one.IsRecentlyChecked) return 'unchecked'
  if (one.ReplicationIOThreadState >= 0 && !isReplicating(one)) return 'nonreplicating'
  return lagsTooMuch(one) ? 'lag' : 'ok'
}

function extrasOf(one: Instance): readonly string[] {
  return [
    one.LogBinEnabled && one.LogSlaveUpdatesEnabled ? '>>' : '',
    one.SupportsOracleGTID ? (one.GtidErrant === '' ? 'GTID' : 'GTID:errant') : '',
    one.SemiSyncMasterEnabled && one.SemiSyncMasterStatus ? 'semi:master' : '',
    one.SemiSyncReplicaStatus ? 'semi:replica' : '',
    one.IsDowntimed ? 'downtimed' : '',
  ]
}

function tabulated(lines: readonly Line[]): string {
  const rows = lines.map((line) => {
    const { instance } = line.server
    return [
      headOf(line),
      ...columnsOf(instance),
      extrasOf(instance)
        .filter((word) => word !== '')
        .join(','),
    ]
  })
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  const cell = (text: string, column: number) =>
    column === 1 ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0)
  return rows.map((row) => row.map(cell).join('|')).join('\n')
}
