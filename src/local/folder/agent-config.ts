import type { ModeName } from '#failover/protocol/mode-name.ts'
import type { LocalCluster, LocalInstance } from './cluster-file.ts'
import { replaceJson } from '../files/durable-file.ts'
import { readJsonIfThere } from '../files/input-file.ts'
import { agentConfigPath, type StateLayout } from './state-layout.ts'
import { say } from '#common/sentence/sentence.ts'

/** What of the agent's configuration follows from the cluster's spec. */
export interface AgentSettings {
  readonly mode: ModeName
  readonly lowSpaceBytes: number
  readonly keepBinlogsSeconds: number
  readonly heldBinlogsBytes: number
  readonly archiveBytes: number
}

/**
 * The configuration file of one agent (`AgentConfig` of the agents' room, which this room may not import; the command
 * line, which sees both, has a test that they agree).
 */
export function agentConfigFor(
  layout: StateLayout,
  cluster: LocalCluster,
  instance: LocalInstance,
  settings: AgentSettings,
) {
  return {
    version: 1,
    cluster: cluster.name,
    mode: settings.mode,
    instance: instance.name,
    host: instance.address,
    port: instance.port,
    adminPort: instance.adminPort,
    agentPort: instance.agentPort,
    probePort: 0,
    mysqld: cluster.mysql.mysqld,
    launcherDir: '',
    mysqlbinlog: cluster.mysql.mysqlbinlog,
    pluginDir: cluster.mysql.pluginDir,
    shareDir: cluster.mysql.shareDir,
    volume: instance.volume,
    tokenFile: layout.agentToken,
    accountSecretFile: layout.accountSecret,
    bootIdFile: '/proc/sys/kernel/random/boot_id',
    timings: {},
    lowSpaceBytes: settings.lowSpaceBytes,
    keepBinlogsSeconds: settings.keepBinlogsSeconds,
    heldBinlogsBytes: settings.heldBinlogsBytes,
    archiveBytes: settings.archiveBytes,
    serverSettings: {},
    logLevel: 'info',
  } as const
}

/** Settings of an agent that people may change in its file and that a new start keeps. */
const kept = ['bootIdFile', 'timings', 'serverSettings', 'allowUnclassified', 'logLevel', 'lifecycle', 'far'] as const

export async function writeAgentConfigs(
  layout: StateLayout,
  cluster: LocalCluster,
  settings: AgentSettings,
): Promise<void> {
  for (const instance of cluster.instances) {
    const path = agentConfigPath(layout, instance.name)
    await replaceJson(path, { ...agentConfigFor(layout, cluster, instance, settings), ...(await keptFrom(path)) })
  }
}

async function keptFrom(path: string): Promise<Readonly<Record<string, unknown>>> {
  const value = await readJsonIfThere(path, say`the configuration of an agent`)
  if (typeof value !== 'object' || value === null) return {}
  const entries = new Map(Object.entries(value))
  return Object.fromEntries(kept.filter((key) => entries.has(key)).map((key) => [key, entries.get(key)]))
}
