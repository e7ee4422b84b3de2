import { saidOfRouter } from '#failover/protocol/router-settings.ts'
import { mostInstances } from '#topology/snapshot/member.ts'
import { RegentError } from '#common/errors/errors.ts'
import { counted, say } from '#common/sentence/sentence.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import {
  anyText,
  exactly,
  integer,
  listOf,
  objectWith,
  oneOf,
  optional,
  text,
  type Shaped,
} from '#common/input/shapes.ts'
import { replaceJson } from '../files/durable-file.ts'
import { refuseNewer } from '../files/file-version.ts'
import { readJsonIfThere } from '../files/input-file.ts'
import { layoutOf, volumeOf } from './state-layout.ts'

const clusterFileVersion = 1

/** Ports of every instance, each on its own address; all lie below the kernel's ephemeral range. */
export const instancePorts = { port: 3306, adminPort: 3307, agentPort: 9400 } as const

/**
 * The port of the first cluster's first instance, where each mysqld has a port that no other mysqld of this machine
 * has.
 */
const firstOwnPort = 10_000

const word = text(1, 4096)
const words = listOf(word, 256)
const argv = { ...words, minItems: 1 }
const port = integer(1, 65_535)

const hostShape = objectWith({ address: word, wrapper: words })
export type LocalHost = Shaped<typeof hostShape>

const instanceShape = objectWith({
  name: word,
  address: word,
  port,
  adminPort: port,
  agentPort: port,
  volume: word,
  wrapper: words,
  /** Where its agent listens, which is here: its mysqld is somewhere else. Absent where both are in one place. */
  agentAddress: optional(word),
})
export type LocalInstance = Shaped<typeof instanceShape>

/** The programs of the MySQL that this cluster runs; kept, so that a scale-out starts the same one. */
const mysqlShape = objectWith({
  mysqld: argv,
  mysqlbinlog: words,
  mysql: words,
  pluginDir: anyText,
  shareDir: anyText,
})
export type MysqlPrograms = Shaped<typeof mysqlShape>

/** The address in front of all instances: `routerAddress`. */
const routerShape = objectWith({
  /** The HAProxy that runs there, as an argument vector. */
  haproxy: argv,
  settings: saidOfRouter,
})
export type LocalRouter = Shaped<typeof routerShape>

const clusterShape = objectWith({
  version: exactly(1),
  name: word,
  /** The third octet of the instances' default addresses. */
  number: integer(1, 199),
  api: objectWith({ host: word, port }),
  /** Where orchestrator's interface is served, and how that calls servers. Absent for nowhere. */
  orchestrator: optional(objectWith({ port, hosts: oneOf('address', 'name') })),
  instances: { ...listOf(instanceShape, mostInstances), minItems: 1 },
  /** What --hosts named, also for ordinals that do not exist yet; empty for default addresses. */
  hosts: listOf(hostShape, 256),
  /** Each mysqld listens on a port of its own, at 127.0.0.1 as well (`groupAddress`). Absent for no. */
  ownPorts: optional(exactly(true)),
  /** The servers were there before, and somewhere else: one process has all agents. Absent for no. */
  far: optional(exactly(true)),
  /** `file`, or the URL of a Redis. */
  store: word,
  mysql: mysqlShape,
  /** Absent for none. */
  router: optional(routerShape),
})

/** What a local cluster is made of: the content of `cluster.json`. */
export type LocalCluster = Shaped<typeof clusterShape>

/**
 * Undefined where the folder holds no cluster. Throws `REGENT_NEWER_VERSION` or `REGENT_BAD_FILE`. Volumes lie in this
 * folder, wherever the file says: a folder that was moved or copied has its own data, and starts no empty servers
 * elsewhere, nor those of the original.
 */
export async function readClusterIfThere(dir: string): Promise<LocalCluster | undefined> {
  const path = layoutOf(dir).cluster
  const value = await readJsonIfThere(path, say`the description of a local cluster`)
  if (value === undefined) return undefined
  refuseNewer(path, value, clusterFileVersion)
  const complaint = complaintAbout(clusterShape, value)
  if (complaint !== undefined) throw new RegentError('REGENT_BAD_FILE', say`${path}: ${complaint}`)
  const cluster = value as LocalCluster
  const here = (one: LocalInstance): LocalInstance => ({ ...one, volume: volumeOf(layoutOf(dir), one.name) })
  return { ...cluster, instances: cluster.instances.map(here) }
}

export async function readCluster(dir: string): Promise<LocalCluster> {
  const cluster = await readClusterIfThere(dir)
  if (cluster === undefined)
    throw new RegentError('REGENT_NOT_FOUND', say`${dir} holds no local cluster (there is no cluster.json)`)
  return cluster
}

export async function writeCluster(dir: string, cluster: LocalCluster): Promise<void> {
  await replaceJson(layoutOf(dir).cluster, cluster)
}

/** Where the agent of an instance listens. */
export function agentAddressOf({ address, agentAddress }: LocalInstance): string {
  return agentAddress ?? address
}

/** Where the router of a cluster listens: `127.24.<cluster>.100`, which no instance has. */
export function routerAddress({ number }: Pick<LocalCluster, 'number'>) {
  return { host: `127.24.${number}.100`, writePort: 3306, readPort: 3307 } as const
}

/** `127.24.<cluster>.<ordinal+1>`, unless --hosts names another address. */
function addressOf(cluster: Pick<LocalCluster, 'number' | 'hosts'>, ordinal: number): string {
  return cluster.hosts[ordinal]?.address ?? `127.24.${cluster.number}.${ordinal + 1}`
}

/**
 * The instances `<name>-0` … `<name>-(count-1)` of a cluster in `dir`. Throws `REGENT_REFUSED` when --hosts named
 * fewer.
 */
export function instancesFor(
  dir: string,
  cluster: Pick<LocalCluster, 'name' | 'number' | 'hosts' | 'ownPorts'>,
  count: number,
): LocalInstance[] {
  if (cluster.hosts.length > 0 && cluster.hosts.length < count) {
    throw new RegentError(
      'REGENT_REFUSED',
      say`cluster ${cluster.name} was made with --hosts naming ${counted(cluster.hosts.length, 'address')}, which is too few for ${counted(count, 'instance')}`,
    )
  }
  return Array.from({ length: count }, (_, ordinal) => {
    const name = `${cluster.name}-${ordinal}`
    return {
      name,
      address: addressOf(cluster, ordinal),
      ...instancePorts,
      ...(cluster.ownPorts === true ? { port: firstOwnPort + cluster.number * mostInstances + ordinal } : {}),
      volume: volumeOf(layoutOf(dir), name),
      wrapper: cluster.hosts[ordinal]?.wrapper ?? [],
    }
  })
}
