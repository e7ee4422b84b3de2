import type { ConfigMap } from '#controller-runtime/objects/config-map.ts'
import { defaultArchiveBytes } from '#failover/protocol/archive-default.ts'
import { defaultMode } from '#failover/protocol/mode-name.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import { namesOf } from '../names/names.ts'
import { ownedBy } from '../spec/owned.ts'
import { agentPort, mysqlPort } from './services.ts'

/** Where things lie in a pod; the same in both of its containers where both see them. */
export const podPaths = {
  volume: '/var/lib/regent',
  config: '/etc/regent',
  secrets: '/etc/regent-secrets',
  certificates: '/etc/regent-certificates',
  clientCertificate: '/etc/regent-client-certificate',
  /** Shared by the agent and the launcher, gone with the pod. */
  regent: '/regent',
  launcher: '/regent/launcher.sh',
  launcherDir: '/regent/shared',
} as const

/** Outside of the ports that outgoing connections take. */
const adminPort = 3307
/** Where the kubelet and Prometheus ask, who have neither certificate nor token. */
export const probePort = 9401
export const probePortName = 'probes'
/** Ports of a pod that nobody else may listen on. */
export const portsInUse: readonly number[] = [mysqlPort, adminPort, agentPort, probePort]

/** Where nothing is said of clients' TLS, neither pods nor their agents are any different. */
export function asksForTls({ tls }: MySQLCluster['spec']): boolean {
  return tls.secretName !== undefined || tls.required
}

/**
 * What the agents of all pods of a cluster share: `AgentConfig` of the agents' room but for the instance's name and
 * address, which each pod has in its environment. An agent reads it when it starts.
 */
export function agentConfigOf(cluster: MySQLCluster): ConfigMap {
  const { metadata, spec } = cluster
  const config = {
    version: 1,
    cluster: metadata.name,
    port: mysqlPort,
    adminPort,
    agentPort,
    probePort,
    tls: { certificateFolder: podPaths.certificates },
    ...(asksForTls(spec) && {
      clientTls: {
        ...(spec.tls.secretName !== undefined && { certificateFolder: podPaths.clientCertificate }),
        required: spec.tls.required,
      },
    }),
    mysqld: ['mysqld'],
    launcherDir: podPaths.launcherDir,
    mysqlbinlog: [],
    pluginDir: '',
    shareDir: '',
    volume: podPaths.volume,
    tokenFile: `${podPaths.secrets}/agent-token`,
    accountSecretFile: `${podPaths.secrets}/account-secret`,
    bootIdFile: '/proc/sys/kernel/random/boot_id',
    timings: {},
    lowSpaceBytes: spec.lowSpaceBytes,
    keepBinlogsSeconds: spec.keepBinlogsSeconds,
    heldBinlogsBytes: spec.heldBinlogsBytes,
    // Only where these differ: an agent of an older image, whose pod an upgrade leaves alone, would refuse a file with
    // a key that it does not know.
    ...(spec.mode !== defaultMode && { mode: spec.mode }),
    ...(spec.archiveBytes !== defaultArchiveBytes && { archiveBytes: spec.archiveBytes }),
    ...(spec.allowUnclassified.length > 0 && { allowUnclassified: spec.allowUnclassified }),
    serverSettings: spec.settings,
    logLevel: 'info',
  }
  return ownedBy(cluster, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: namesOf(metadata.name).agents },
    data: { 'agent.json': `${JSON.stringify(config, null, 2)}\n` },
  })
}
