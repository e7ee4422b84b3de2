import { constants } from 'node:fs'
import { access, mkdir, readdir, rm, stat, statfs } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import { RegentError } from '#common/errors/errors.ts'
import { counted, say, type Sayable } from '#common/sentence/sentence.ts'
import {
  claimFreeNumber,
  claimNumber,
  firstNumber,
  freeApiPort,
  requireFreeApi,
  requireFreeInstances,
  requireFreeRouter,
  type NumberClaim,
} from '../addresses/addresses.ts'
import { writeAgentConfigs } from '../folder/agent-config.ts'
import {
  instancesFor,
  writeCluster,
  type LocalCluster,
  type LocalHost,
  type LocalInstance,
  type LocalRouter,
  type MysqlPrograms,
} from '../folder/cluster-file.ts'
import { allClusters } from './cluster-index.ts'
import { processesOf } from '../processes/cluster-processes.ts'
import { isMissing } from '../files/input-file.ts'
import { agentIn, mysqldOf, readBook } from '../processes/process-book.ts'
import { isAlive } from '#common/process/process-stat.ts'
import { ensureSecrets } from '../folder/secrets.ts'
import { writeSpec } from '../folder/spec-file.ts'
import { replaceJson } from '../files/durable-file.ts'
import { agentConfigPath, layoutOf, ownEntries, stateHome, volumeOf, type StateLayout } from '../folder/state-layout.ts'

/** A Unix socket's path may have 107 bytes, and the server keeps one on every volume. */
const longestSocketPath = 107
const usualApiPort = 9500
const apiHost = '127.0.0.1'

export interface NewCluster {
  readonly name: string
  readonly dir: string
  readonly spec: ClusterSpec
  /** Empty for default addresses. */
  readonly hosts: LocalHost[]
  /** Undefined: the first free one from 9500 on that no other cluster here has. */
  readonly apiPort: number | undefined
  readonly orchestrator?: LocalCluster['orchestrator']
  readonly store: string
  readonly mysql: MysqlPrograms
  /** Undefined for none. */
  readonly router?: LocalRouter | undefined
  /** Servers that are there already, in the order of their ordinals. Absent where servers are made. */
  readonly far?: readonly FarServer[]
}

export interface FarServer {
  readonly host: string
  readonly port: number
  /** What its agent is to know of it (`FarConfig` of the agents' room), where the agent listens aside. */
  readonly config: object
}

/** A cluster that is ready to be started; its number is held until `claim` is released. */
export interface PreparedCluster {
  readonly cluster: LocalCluster
  readonly claim: NumberClaim
}

/**
 * Writes everything a new cluster needs into its folder, cluster.json last: until then there is no cluster. Everything
 * that can be refused is refused before the first byte is written.
 */
export async function createCluster(wanted: NewCluster): Promise<PreparedCluster> {
  const layout = layoutOf(wanted.dir)
  requireShortPath(wanted.dir, wanted.name)
  await requireNoStrays(wanted)
  await requireEmptyFolder(wanted.dir)
  const { port, claim } = await claimPlace(wanted)
  try {
    const meetsAtLoopback = wanted.spec.mode === 'group' && wanted.hosts.length === 0
    const named = {
      name: wanted.name,
      number: claim.number,
      hosts: wanted.hosts,
      ...(meetsAtLoopback ? { ownPorts: true as const } : {}),
    }
    const instances = instancesFor(wanted.dir, named, wanted.spec.instances).map((instance, ordinal) =>
      farInstance(instance, wanted.far?.[ordinal]),
    )
    await requireFreeInstances(instances)
    const cluster: LocalCluster = {
      version: 1,
      ...named,
      api: { host: apiHost, port },
      ...(wanted.orchestrator && { orchestrator: wanted.orchestrator }),
      instances,
      store: wanted.store,
      mysql: wanted.mysql,
      ...(wanted.router && { router: wanted.router }),
      ...(wanted.far ? { far: true as const } : {}),
    }
    await requireFreeRouter(cluster)
    await writeNewState(layout, cluster, wanted)
    return { cluster, claim }
  } catch (error) {
    await claim.release()
    throw error
  }
}

/**
 * Makes a cluster that was taken down ready again, with the API's port, spec, MySQL and login for its store given now.
 */
export async function reopenCluster(
  dir: string,
  before: LocalCluster,
  now: Pick<NewCluster, 'spec' | 'orchestrator' | 'store' | 'mysql' | 'router'> & { readonly apiPort: number },
): Promise<PreparedCluster> {
  const { router: _, ...rest } = before
  const cluster: LocalCluster = {
    ...rest,
    api: { ...before.api, port: now.apiPort },
    ...(now.orchestrator && { orchestrator: now.orchestrator }),
    store: now.store,
    mysql: now.mysql,
    ...(now.router && { router: now.router }),
  }
  const layout = layoutOf(dir)
  const claim = await claimNumber(before.number)
  if (claim === undefined) {
    const { name, number } = before
    const taken = say`127.24.${number}.250:9399 of cluster number ${number} is taken`
    throw new RegentError(
      'REGENT_ADDRESS_IN_USE',
      say`${taken}: another cluster has that number. Take it down first, or begin anew with --data or "regent local down ${name} --purge"`,
      { remedy: '' },
    )
  }
  try {
    await requireFreeApiOrOwn(layout, cluster)
    await requireFreeInstances(await thoseNotRunning(layout, cluster), 'again')
    if ((await processesOf(dir)).every(({ kind }) => kind !== 'haproxy')) await requireFreeRouter(cluster, 'again')
    await writeState(layout, cluster, now.spec)
    return { cluster, claim }
  } catch (error) {
    await claim.release()
    throw error
  }
}

/** Its agent listens where one beside its server would. */
function farInstance(instance: LocalInstance, far: FarServer | undefined): LocalInstance {
  return far === undefined
    ? instance
    : { ...instance, address: far.host, port: far.port, agentAddress: instance.address }
}

/** What is kept of a file of before (`writeAgentConfigs`) is all that the new file has. */
async function writeFarConfig(layout: StateLayout, instance: LocalInstance | undefined, far: object): Promise<void> {
  if (instance === undefined) return
  await mkdir(instance.volume, { recursive: true, mode: 0o700 })
  await replaceJson(agentConfigPath(layout, instance.name), { far: { ...far, agentHost: instance.agentAddress } })
}

/**
 * A folder that is half made (a full disk) would be refused as one that is not empty: what was written is removed, but
 * for the secret, which may be of an earlier cluster.
 */
async function writeNewState(
  layout: StateLayout,
  cluster: LocalCluster,
  { spec, far = [] }: NewCluster,
): Promise<void> {
  try {
    for (const [ordinal, { config }] of far.entries()) await writeFarConfig(layout, cluster.instances[ordinal], config)
    await writeState(layout, cluster, spec)
  } catch (error) {
    const { apiToken, agentToken, clientPassword, adminPassword } = layout
    const others = ownEntries(layout).filter((entry) => entry !== layout.secrets)
    for (const entry of [...others, apiToken, agentToken, clientPassword, adminPassword])
      await rm(entry, { recursive: true, force: true })
    throw error
  }
}

async function writeState(layout: StateLayout, cluster: LocalCluster, spec: ClusterSpec): Promise<void> {
  for (const folder of [layout.dir, layout.run, layout.logs, layout.records])
    await mkdir(folder, { recursive: true, mode: 0o700 })
  await ensureSecrets(layout)
  await writeSpec(layout, spec)
  await writeAgentConfigs(layout, cluster, spec)
  await writeCluster(layout.dir, cluster)
}

/**
 * The cluster's number, and the port of its API: nothing of another cluster here, also where that other cluster is
 * down.
 */
async function claimPlace(wanted: NewCluster): Promise<{ readonly port: number; readonly claim: NumberClaim }> {
  const { apiPort, orchestrator, hosts, spec } = wanted
  if (apiPort !== undefined) await requireFreeApi(apiHost, apiPort)
  if (orchestrator) await requireFreeApi(apiHost, orchestrator.port, '--orchestrator-port')
  const others = (await allClusters(() => undefined)).map(({ cluster }) => cluster)
  const port = apiPort ?? (await freeApiPort(apiHost, usualApiPort, new Set(others.map(({ api }) => api.port))))
  const numbers = new Set(others.map(({ number }) => number))
  const first = firstNumber(process.env['REGENT_HOME'] ? stateHome() : undefined)
  return { port, claim: await claimFreeNumber(numbers, hosts.length > 0 ? 0 : spec.instances, first) }
}

/** After a supervisor was killed its manager may still listen, and is taken over by the next one. */
async function requireFreeApiOrOwn(layout: StateLayout, { api, orchestrator }: LocalCluster): Promise<void> {
  const manager = (await readBook(layout)).processes['manager']
  if (manager !== undefined && isAlive(manager)) return
  await requireFreeApi(api.host, api.port)
  if (orchestrator) await requireFreeApi(apiHost, orchestrator.port, '--orchestrator-port')
}

/** Agents that survived their supervisor are taken over by the next one, and listen meanwhile. */
async function thoseNotRunning(layout: StateLayout, cluster: LocalCluster): Promise<readonly LocalInstance[]> {
  const book = await readBook(layout)
  const idle: LocalInstance[] = []
  for (const instance of cluster.instances) {
    const [agent, mysqld] = [agentIn(book, cluster, instance.name), await mysqldOf(instance.volume)]
    const runs = (agent !== undefined && isAlive(agent)) || (mysqld !== undefined && isAlive(mysqld))
    if (!runs) idle.push(instance)
  }
  return idle
}

function requireShortPath(dir: string, name: string): void {
  const socket = `${volumeOf(layoutOf(dir), `${name}-15`)}/run/mysqld.sock`
  const length = Buffer.byteLength(socket)
  if (length > longestSocketPath) {
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`the folder ${dir} is too deep: the server's socket ${socket} would have ${length} bytes, allowed are ${longestSocketPath}; choose a shorter one with --data`,
    )
  }
}

/** statfs(2): what looks like files there is the kernel's own. */
const kernelFileSystems: Readonly<Record<number, string>> = {
  0x9fa0: 'proc',
  0x62656572: 'sysfs',
  0x63677270: 'cgroup2',
  0x27e0eb: 'cgroup',
  0x1cd1: 'devpts',
  0x64626720: 'debugfs',
  0x74726163: 'tracefs',
  0x73636673: 'securityfs',
}

/** Asked of the nearest folder above that exists already: what is wrong there is said before anything is made. */
export async function requireUsableFolder(dir: string): Promise<void> {
  const above = await nearestExisting(dir)
  const refuse = (why: Sayable) =>
    new RegentError(
      'REGENT_BAD_REQUEST',
      say`the folder ${dir} cannot hold a cluster: ${why}; choose another with --data`,
    )
  if (!(await stat(above)).isDirectory()) throw refuse(say`${above} is no folder`)
  const kernels = kernelFileSystems[(await statfs(above)).type]
  if (kernels !== undefined)
    throw refuse(say`${above} belongs to the kernel (${kernels}), and no file can be made there`)
  if (
    !(await access(above, constants.W_OK | constants.X_OK).then(
      () => true,
      () => false,
    ))
  )
    throw refuse(say`${above} cannot be written by this user, or is read-only`)
}

/** On the volume of a folder, which need not be there yet. */
export async function freeBytesAt(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(await nearestExisting(dir))
  return bavail * bsize
}

async function nearestExisting(path: string): Promise<string> {
  try {
    await stat(path)
    return path
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if ((code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'ELOOP' && code !== 'EACCES') || dirname(path) === path)
      throw error
    return nearestExisting(dirname(path))
  }
}

async function requireNoStrays({ dir, name }: NewCluster): Promise<void> {
  const strays = await processesOf(dir)
  if (strays.length > 0) {
    const run = strays.length === 1 ? say`runs` : say`run`
    const pids = strays.map(({ identity }) => identity.pid).join(', ')
    const left = say`${counted(strays.length, 'process')} of an earlier cluster ${run} on in ${dir}`
    throw new RegentError(
      'REGENT_ALREADY_RUNNING',
      say`${left}, which was removed meanwhile (pid ${pids}); "regent local down ${name}" ends what is left`,
      { remedy: '' },
    )
  }
}

/**
 * The secret that another cluster had may lie here already: passwords that applications know stay as they are. So may
 * archives that were kept.
 */
async function requireEmptyFolder(dir: string): Promise<void> {
  try {
    const { archives } = layoutOf(dir)
    const entries = (await readdir(dir)).filter((entry) => entry !== basename(archives))
    if (entries.length === 0 || (await holdsOnlyTheSecret(layoutOf(dir), entries))) return
    throw new RegentError(
      'REGENT_REFUSED',
      say`the folder ${dir} is not empty and holds no cluster (${entries.slice(0, 3).join(', ')} …); choose another with --data, or empty it`,
    )
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

async function holdsOnlyTheSecret(layout: StateLayout, entries: readonly string[]): Promise<boolean> {
  if (entries.length !== 1 || entries[0] !== basename(layout.secrets)) return false
  return (await readdir(layout.secrets)).every((name) => name === basename(layout.accountSecret))
}
