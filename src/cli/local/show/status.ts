import type { ProcessIdentity } from '#common/process/process-stat.ts'
import { supervisorStatus } from '#local/supervisor/background.ts'
import type { FoundCluster } from '#local/clusters/cluster-index.ts'
import { routerAddress, type LocalCluster, type LocalInstance } from '#local/folder/cluster-file.ts'
import { agentIn, mysqldOf, readBook } from '#local/processes/process-book.ts'
import { isAlive } from '#common/process/process-stat.ts'
import { readRoute } from '#local/platform/routes.ts'
import { clientUser, passwordOf } from '#local/folder/secrets.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import type { ClusterView } from '#api-contract/views.ts'
import type { ApiClient } from '#cli/connection/api-client.ts'
import { openLocal } from '#cli/connection/connect.ts'
import { localTarget } from '#cli/connection/local-manager.ts'
import type { Io } from '#cli/terminal/io.ts'
import { toJson } from '#cli/terminal/json-output.ts'
import { renderTable } from '#cli/terminal/table.ts'

/** What `local status -o json` prints; scripts rely on it. */
export interface LocalStatus {
  readonly name: string
  readonly api: string
  readonly tokenFile: string
  /** The password itself only where it is asked for. */
  readonly client: { readonly user: string; readonly passwordFile: string; readonly password?: string }
  readonly instances: readonly InstanceStatus[]
  readonly dir: string
  /** `up` · `down` · `unsupervised` when processes run but nothing restarts them. */
  readonly state: 'up' | 'down' | 'unsupervised'
  /** Where the primary is, as it was published last. */
  readonly primary: {
    readonly instance: string
    readonly host: string
    readonly port: number
    readonly epoch: number
  } | null
  /** Takes writes; null when the manager does not answer, or does not know. */
  readonly writable: boolean | null
  /** Why it does not know. Absent where it does, or does not answer. */
  readonly writableUnknown?: NonNullable<ClusterView['writableUnknown']>
  /** The address in front of all instances; absent for none. */
  readonly router?: {
    readonly host: string
    readonly writePort: number
    readonly readPort: number
    readonly pid: number | null
  }
  readonly supervisorPid: number | null
  readonly managerPid: number | null
}

type OpenManager = (dir: string, cluster: LocalCluster) => Promise<ApiClient>

export interface InstanceStatus {
  readonly name: string
  readonly host: string
  readonly port: number
  /** The process of mysqld; null when it does not run. */
  readonly pid: number | null
  readonly agentPid: number | null
  /** `unknown` when the manager does not answer. */
  readonly role: 'primary' | 'replica' | 'none' | 'unknown'
  readonly agentPort: number
  readonly volume: string
}

export async function localStatus(found: FoundCluster, openManager: OpenManager = openLocal): Promise<LocalStatus> {
  const { dir, cluster } = found
  const layout = layoutOf(dir)
  // A published address that a hand damaged is written again by the manager; until then there is none.
  const published = readRoute(layout.routes).catch(() => undefined)
  const [book, view, route, supervised] = await Promise.all([
    readBook(layout),
    viewOf(found, openManager),
    published,
    supervisorStatus(layout),
  ])
  const roleOf = (name: string): InstanceStatus['role'] =>
    view === undefined ? 'unknown' : (view.instances.find((row) => row.name === name)?.role ?? 'none')
  const instances = await Promise.all(
    cluster.instances.map(async (instance) => ({
      ...(await instanceStatus(instance, agentIn(book, cluster, instance.name))),
      role: roleOf(instance.name),
    })),
  )
  const managerPid = pidOf(book.processes['manager'])
  const anything =
    managerPid !== null || instances.some((instance) => instance.pid !== null || instance.agentPid !== null)
  const target = localTarget(dir, cluster)
  return {
    name: cluster.name,
    api: target.url,
    tokenFile: target.tokenFile,
    client: { user: clientUser, passwordFile: layout.clientPassword },
    instances,
    dir,
    state: supervised !== undefined ? 'up' : anything ? 'unsupervised' : 'down',
    primary:
      route === undefined ? null : { instance: route.instance, host: route.host, port: route.port, epoch: route.epoch },
    ...writableFields(view),
    ...(cluster.router && { router: { ...routerAddress(cluster), pid: pidOf(book.processes['router']) } }),
    supervisorPid: supervised === undefined ? null : pidOf(book.supervisor ?? undefined),
    managerPid,
  }
}

function writableFields(view: ClusterView | undefined): Pick<LocalStatus, 'writable' | 'writableUnknown'> {
  if (view?.writableUnknown !== undefined) return { writable: null, writableUnknown: view.writableUnknown }
  return { writable: view?.writable ?? null }
}

/** Prints a cluster's status: for people where to connect and who is who, as JSON everything. */
export async function printStatus(
  io: Io,
  found: FoundCluster,
  options: { readonly output: 'text' | 'json'; readonly showPassword?: boolean },
): Promise<void> {
  const status = await localStatus(found)
  const { client } = status
  const shown =
    options.showPassword === true ? { ...client, password: await passwordOf(layoutOf(found.dir), clientUser) } : client
  if (options.output === 'json') return io.out(toJson({ ...status, client: shown }))
  for (const line of renderStatus({ ...status, client: shown })) io.out(line)
}

/** Passwords stay in their files unless asked for: what is on a screen is in a screenshot tomorrow. */
export function renderStatus(status: LocalStatus): readonly string[] {
  const shown = (pid: number | null) => (pid === null ? '–' : String(pid))
  const rows = status.instances.map((one) => [
    one.name,
    one.role,
    `${one.host}:${one.port}`,
    shown(one.pid),
    shown(one.agentPid),
  ])
  const primary =
    status.primary === null
      ? 'not published yet'
      : `${status.primary.host}:${status.primary.port}  (${status.primary.instance}, epoch ${status.primary.epoch})`
  return [
    `${status.name} is ${stateWords(status)}`,
    ...renderTable(['instance', 'role', 'mysql', 'mysqld pid', 'agent pid'], rows).map((line) => `  ${line}`),
    `primary   ${primary}`,
    ...routerLines(status),
    `client    user ${status.client.user}, database app, password ${status.client.password ?? `in ${status.client.passwordFile}`}`,
    `api       ${status.api}, token in ${status.tokenFile}`,
    `try       regent local sql ${status.name}   regent topology ${status.name}   regent switchover ${status.name}`,
  ]
}

function routerLines({ router }: LocalStatus): readonly string[] {
  if (router === undefined) return []
  const { host, writePort, readPort, pid } = router
  return [
    `router    ${host}:${writePort} for writes, ${host}:${readPort} for reads${pid === null ? '  (does not run)' : ''}`,
  ]
}

function stateWords(status: LocalStatus): string {
  if (status.state === 'down') return `down; "regent local up ${status.name}" brings it back`
  if (status.state === 'unsupervised') return `without its supervisor; "regent local up ${status.name}" starts it again`
  if (status.writableUnknown !== undefined) return `up; ${status.writableUnknown.sentence}`
  if (status.writable === null) return 'up, but its manager does not answer'
  return status.writable ? 'up and takes writes' : `up, but takes no writes: "regent explain ${status.name}" says why`
}

async function instanceStatus(instance: LocalInstance, agent: ProcessIdentity | undefined) {
  const { name, address, port, agentPort, volume } = instance
  return { name, host: address, port, pid: pidOf(await mysqldOf(volume)), agentPid: pidOf(agent), agentPort, volume }
}

function pidOf(identity: ProcessIdentity | undefined): number | null {
  return identity !== undefined && isAlive(identity) ? identity.pid : null
}

/** Undefined when the manager does not answer: the status is also for when it does not. */
async function viewOf({ dir, cluster }: FoundCluster, openManager: OpenManager): Promise<ClusterView | undefined> {
  try {
    const client = await openManager(dir, cluster)
    return await client.get<ClusterView>(`/clusters/${cluster.name}`, 2_000)
  } catch {
    return undefined
  }
}
