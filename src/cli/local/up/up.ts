import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { backupTaskOf, heartbeatMsOf } from '#failover/protocol/backup-task.ts'
import { whyTooExact } from '#failover/protocol/router-settings.ts'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import { startSupervisor, stopCluster, supervisorStatus, underCommandLock } from '#local/supervisor/background.ts'
import {
  readClusterIfThere,
  type LocalCluster,
  type LocalRouter,
  type MysqlPrograms,
} from '#local/folder/cluster-file.ts'
import { folderOf, rememberFolder, type FoundCluster } from '#local/clusters/cluster-index.ts'
import { readHosts } from '#local/addresses/hosts-file.ts'
import { findHaproxy } from '#local/packages/haproxy-binaries.ts'
import { readRouterSettings } from '#local/folder/router-file.ts'
import { findMysql } from '#local/packages/mysql-binaries.ts'
import { createCluster, reopenCluster, requireUsableFolder, type PreparedCluster } from '#local/clusters/prepare.ts'
import { composeSpec, readSpec, writeSpec } from '#local/folder/spec-file.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import type { Io } from '#cli/terminal/io.ts'
import { printStatus } from '../show/status.ts'
import { askedSpec, changedKeys } from './asked-spec.ts'
import { refuseUnknownSettings } from './refuse-settings.ts'
import { changeWhileUp, hasLogin, refuseChanges } from './up-changes.ts'
import type { UpOptions } from './up-options.ts'
import { waitUntilWhole } from './wait-until-whole.ts'
import { waitUntilWritable } from './wait-until-writable.ts'
import { counted } from '#common/text/words.ts'

/**
 * Brings a cluster up and waits until it takes writes. What was never up before and does not get there is stopped
 * again; a cluster with data is left running, for it may only need longer.
 */
export async function up(io: Io, name: string, options: UpOptions): Promise<void> {
  const dir = options.data === undefined ? await folderOf(name) : resolve(options.data)
  await requireUsableFolder(dir)
  const began = Date.now()
  const before = await existing(name, dir)
  const isUp = before !== undefined && (await supervisorStatus(layoutOf(dir))) !== undefined
  const was = isUp ? await change(io, { dir, cluster: before }, options) : await startInTurn(io, { name, dir, options })
  const cluster = await readClusterIfThere(dir)
  if (cluster === undefined)
    throw new RegentError(
      'REGENT_NOT_FOUND',
      say`${dir} holds no local cluster any more: somebody took it down meanwhile`,
    )
  await settle(io, { dir, cluster }, was === 'new', began)
  if (was === 'up') io.note(`${name} is up already`)
  await printStatus(io, { dir, cluster }, options)
}

/** How this command found the cluster: what another command made is not this one's to stop. */
type Was = 'new' | 'down' | 'up'

/** Changes a cluster that is up. */
async function change(io: Io, found: FoundCluster, options: UpOptions): Promise<Was> {
  await refuseChanges(found, options, true)
  const change = await changeWhileUp(found, options)
  if (change === undefined) return 'up'
  await writeSpec(layoutOf(found.dir), change.spec)
  for (const words of change.words) io.note(words)
  return 'up'
}

async function startInTurn(io: Io, wanted: Wanted): Promise<Was> {
  requireInterface(wanted.options, await readClusterIfThere(wanted.dir))
  return underCommandLock(
    (words) => io.note(words),
    () => start(io, wanted),
  )
}

interface Wanted {
  readonly name: string
  readonly dir: string
  readonly options: UpOptions
}

async function existing(name: string, dir: string): Promise<LocalCluster | undefined> {
  const cluster = await readClusterIfThere(dir)
  if (cluster !== undefined && cluster.name !== name)
    throw new RegentError(
      'REGENT_REFUSED',
      say`${dir} holds the cluster ${cluster.name}; choose another folder for ${name} with --data`,
    )
  const known = await folderOf(name)
  const isElsewhere = (await realpath(known).catch(() => known)) !== (await realpath(dir).catch(() => dir))
  if (isElsewhere && (await readClusterIfThere(known)) !== undefined) {
    throw new RegentError(
      'REGENT_REFUSED',
      say`the cluster ${name} lives in ${known}; leave --data out, or remove it first with "regent local down ${name} --purge"`,
      { remedy: '' },
    )
  }
  return cluster
}

/**
 * The start is under the commands' lock. Another command may have started the cluster while this command waited: then
 * what this command asks for is compared with what runs.
 */
async function start(io: Io, wanted: Wanted): Promise<Was> {
  const { name, dir, options } = wanted
  const layout = layoutOf(dir)
  const isUp = (await supervisorStatus(layout)) !== undefined
  const before = await existing(name, dir)
  if (isUp && before !== undefined) return change(io, { dir, cluster: before }, options)
  const prepared = before === undefined ? await create(io, wanted) : await reopen(io, wanted, before)
  if (options.data !== undefined) await rememberFolder(name, dir)
  io.note(
    `${before === undefined ? 'starting' : 'bringing back'} ${name} with ${counted(prepared.cluster.instances.length, 'instance')} in ${dir}`,
  )
  try {
    await startSupervisor(layout, prepared.claim)
  } catch (error) {
    await stopCluster(layout)
    throw error
  }
  return before === undefined ? 'new' : 'down'
}

async function create(io: Io, { name, dir, options }: Wanted): Promise<PreparedCluster> {
  const spec = await composeSpec(name, options.config, options)
  const hosts = options.hosts === undefined ? [] : await readHosts(options.hosts, spec.instances)
  const mysql = await programs(io)
  return createCluster({
    name,
    dir,
    spec,
    hosts,
    apiPort: options.port,
    ...orchestratorOf(options),
    store: options.store ?? 'file',
    mysql,
    router: await routerFor(io, options, { spec }),
  })
}

async function reopen(io: Io, { name, dir, options }: Wanted, before: LocalCluster): Promise<PreparedCluster> {
  const found = { dir, cluster: before }
  await refuseChanges(found, options, false)
  const spec = await askedSpec(found, options)
  const changed = changedKeys(await readSpec(layoutOf(dir), name), spec)
  if (options.config !== undefined && changed.length > 0) io.note(`the file of --config changes ${changed.join(', ')}`)
  const store = options.store !== undefined && hasLogin(options.store) ? options.store : before.store
  const mysql = await programsAgain(io, dir, before)
  const router = await routerFor(io, options, { spec, before: before.router })
  return reopenCluster(dir, before, {
    spec,
    store,
    apiPort: options.port ?? before.api.port,
    ...orchestratorOf(options, before.orchestrator),
    mysql,
    router,
  })
}

/** What is not said stays as it was. */
function orchestratorOf(
  { orchestratorPort, orchestratorHosts }: UpOptions,
  before?: LocalCluster['orchestrator'],
): Pick<LocalCluster, 'orchestrator'> {
  const port = orchestratorPort ?? before?.port
  return port === undefined ? {} : { orchestrator: { port, hosts: orchestratorHosts ?? before?.hosts ?? 'address' } }
}

/** The option that says how servers are called does nothing without the interface: the caller is told. */
function requireInterface({ orchestratorPort, orchestratorHosts }: UpOptions, before: LocalCluster | undefined): void {
  if (orchestratorHosts === undefined || (orchestratorPort ?? before?.orchestrator) !== undefined) return
  throw new RegentError('REGENT_BAD_REQUEST', say`say where orchestrator’s interface is served: --orchestrator-port`)
}

/** What is not said stays as it was. */
async function routerFor(
  io: Io,
  { router, routerConfig }: UpOptions,
  { spec, before }: { readonly spec: ClusterSpec; readonly before?: LocalRouter | undefined },
): Promise<LocalRouter | undefined> {
  if (router === false && routerConfig !== undefined)
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`--no-router and --router-config contradict each other; give only one`,
    )
  if (!(router ?? (routerConfig !== undefined || before !== undefined))) return undefined
  const settings = routerConfig === undefined ? (before?.settings ?? {}) : await readRouterSettings(routerConfig)
  const why = whyTooExact(settings, heartbeatMsOf(backupTaskOf(spec.backup)))
  if (why !== '') throw new RegentError('REGENT_BAD_REQUEST', why)
  return { haproxy: [...(await findHaproxy((line) => io.note(line)))], settings }
}

async function programs(io: Io): Promise<MysqlPrograms> {
  const { mysqld, mysql, mysqlbinlog, pluginDir, shareDir } = await findMysql((line) => io.note(line))
  return { mysqld: [...mysqld], mysql: [...mysql], mysqlbinlog: [...mysqlbinlog], pluginDir, shareDir }
}

/**
 * Programs of a cluster that was made before. Servers that are somewhere else have their programs there, and none here.
 */
async function programsAgain(io: Io, dir: string, before: LocalCluster): Promise<MysqlPrograms> {
  if (before.far === true) return before.mysql
  const mysql = await programs(io)
  await refuseUnknownSettings(layoutOf(dir), before, mysql)
  return mysql
}

/** Longer than CLONE of an empty server and a restart take for each of nine members on two cores. */
const wholeGroupMs = 180_000

/**
 * A group of one takes writes, and survives nothing: who has it back tries a switchover next, which MySQL refuses while
 * somebody joins. What is missing after a while is said, and the group goes on.
 */
async function settleGroup(io: Io, found: FoundCluster): Promise<void> {
  const { mode } = await readSpec(layoutOf(found.dir), found.cluster.name)
  if (mode !== 'group') return
  const { instances } = found.cluster
  try {
    await waitUntilWhole(io, found, { instances: instances.length, deadlineMs: wholeGroupMs })
  } catch (error) {
    if (!(error instanceof RegentError) || error.code !== 'REGENT_TIMED_OUT') throw error
    io.note(`${found.cluster.name} takes writes; ${error.message}`)
  }
}

async function settle(io: Io, found: FoundCluster, isNew: boolean, began: number): Promise<void> {
  try {
    await waitUntilWritable(io, found, began)
    await settleGroup(io, found)
  } catch (error) {
    const { name } = found.cluster
    if (!isNew) {
      io.note(`${name} goes on in the background; "regent topology ${name}" and "regent explain ${name}" say how it is`)
      throw error
    }
    io.note(
      `stopping ${name} again; its logs stay in ${layoutOf(found.dir).logs}, and "regent local down ${name} --purge" removes everything`,
    )
    await stopCluster(layoutOf(found.dir))
    throw error
  }
}
