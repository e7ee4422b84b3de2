import { isDeepStrictEqual } from 'node:util'
import { adoptedFolder, adoptedPath, keepAdoption, prepareFolder } from '#adopt/adopted-folder.ts'
import { hostsOf, readAdoption, type Adoption, type AdoptedHost } from '#adopt/adoption.ts'
import { whyNoHost } from '#agents/far/adopting/host.ts'
import { look, type FarAccess, type Taken } from '#agents/far/adopting/look.ts'
import { backTo, giveBack, takeOver, type Before } from '#agents/far/adopting/take-over.ts'
import { checkServers } from '#adopt/watch/check.ts'
import { loginOf } from '#adopt/watch/login.ts'
import type { Look } from '#adopt/watch/look.ts'
import { linesOf, needsFor } from '#adopt/watch/needs.ts'
import { whatHooksMean } from '#adopt/watch/what-hooks-mean.ts'
import { whatSemiSyncBecomes } from '#adopt/watch/semi-sync-off.ts'
import { whatNoSshMeans } from '#adopt/watch/without-ssh.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import { folderOf } from '#local/clusters/cluster-index.ts'
import { createCluster, type FarServer } from '#local/clusters/prepare.ts'
import { replaceJson } from '#local/files/durable-file.ts'
import { readJsonIfThere } from '#local/files/input-file.ts'
import { readClusterIfThere, type LocalCluster } from '#local/folder/cluster-file.ts'
import { readSecret } from '#local/folder/secrets.ts'
import { checkHookSecrets, composeSpec, readSpec } from '#local/folder/spec-file.ts'
import { layoutOf, type StateLayout } from '#local/folder/state-layout.ts'
import { purgeCluster, startSupervisor, stopCluster, underCommandLock } from '#local/supervisor/background.ts'
import { waitUntilWritable } from '../local/up/wait-until-writable.ts'
import type { Io } from '../terminal/io.ts'
import { refused } from './adopt.ts'
import { startWatchingAnew } from './background.ts'

export interface ManageOptions {
  readonly file?: string
  readonly port?: number
  readonly check?: true
}

/** Nothing here starts or initialises a server. */
const noPrograms = { mysqld: ['mysqld'], mysqlbinlog: [], mysql: [], pluginDir: '', shareDir: '' }

/** Checks, and then takes over. Throws `REGENT_REFUSED` where anything is missing, after that was printed. */
export async function manage(
  io: Io,
  name: string,
  options: ManageOptions,
  { check = checkServers, find = findAll } = {},
): Promise<void> {
  const adoption = await adoptionOf(name, options)
  await refuseWhereItIs(adoption.cluster, await folderOf(adoption.cluster))
  await checkHookSecrets('the adoption', adoption)
  const checked = await check(adoption)
  const missing = needsFor(adoption, checked.looks).flatMap(linesOf)
  for (const line of [...whatSemiSyncBecomes(adoption, checked.looks), ...whatNoSshMeans(adoption)]) io.out(line)
  refuseFor(io, name, missing)
  if (checked.refusals.length > 0) throw refused(adoption, checked, false)
  const { servers, unreached } = await find(checked.looks)
  refuseFor(io, name, unreached)
  for (const line of whatHooksMean(adoption)) io.out(line)
  if (options.check === true) return io.out(`nothing is missing: ${name} can be managed`)
  const primary = servers.find(({ host }) => host.instance === checked.judgement.primary)
  if (primary === undefined) throw new Error('a primary is needed, and was not')
  await underCommandLock(
    (words) => io.note(words),
    () => begin(io, { adoption, primary, servers }, options),
  )
  const dir = await folderOf(name)
  const cluster = await readClusterIfThere(dir)
  if (cluster !== undefined) await waitUntilWritable(io, { dir, cluster }, Date.now())
  io.out(`${name} is managed; ${primary.host.instance} is primary, and went on taking writes`)
  io.out(`  regent topology ${name}     how it is`)
  io.out(`  regent adopt watch ${name}  back to watching`)
}

/** Prints what is missing. Throws `REGENT_REFUSED` where anything is. */
function refuseFor(io: Io, name: string, missing: readonly string[]): void {
  for (const line of missing) io.out(line)
  if (missing.length === 0) return
  throw new RegentError('REGENT_REFUSED', say`${name} cannot be managed yet: the list above says what is missing`, {
    remedy: 'Do that on the servers, and try again; until then nothing is changed there.',
  })
}

async function refuseWhereItIs(name: string, dir: string): Promise<void> {
  if ((await readClusterIfThere(dir)) === undefined) return
  throw new RegentError('REGENT_REFUSED', say`there is a cluster ${name} in ${dir} already`, {
    remedy: `Is it the managed one, "regent local up ${name}" brings it back.`,
  })
}

/** A server that lacks nothing. */
interface Found extends Taken {
  readonly host: AdoptedHost
  readonly uuid: string
  readonly access: FarAccess
}

interface FoundAll {
  readonly adoption: Adoption
  readonly primary: Found
  readonly servers: readonly Found[]
}

async function begin(io: Io, { adoption, primary, servers }: FoundAll, options: ManageOptions): Promise<void> {
  const { cluster: name } = adoption
  const dir = await folderOf(name)
  await refuseWhereItIs(name, dir)
  const layout = layoutOf(dir)
  const { claim } = await createCluster({
    name,
    dir,
    spec: await specOf(adoption),
    hosts: [],
    apiPort: options.port,
    store: 'file',
    mysql: noPrograms,
    far: servers.map(farServer),
  })
  const before: Before = {
    persisted: Object.fromEntries(servers.map(({ host, persisted }) => [host.instance, persisted])),
    semiSync: Object.fromEntries(servers.map(({ host, semiSync }) => [host.instance, semiSync])),
  }
  await replaceJson(layout.persistedBefore, before.persisted)
  await replaceJson(layout.semiSyncBefore, before.semiSync)
  try {
    io.note('making accounts, and what each start of these servers is to find')
    const all = servers.map(({ access }) => access)
    await takeOver(name, { primary: primary.access, servers: all, secret: await readSecret(layout.accountSecret) })
  } catch (error) {
    await claim.release()
    const hosts = servers.map(({ host }) => host)
    await giveBackAll(io, hosts, before)
    await purgeCluster(layout, 'keep')
    throw error
  }
  // By that the way back to watching needs no file.
  await prepareFolder(adoptedFolder())
  await keepAdoption(adoptedFolder(), adoption)
  await startSupervisor(layout, claim)
}

/** Agents and manager end; what a start of these servers finds is as it was before, and they are watched. */
export async function watchAgain(io: Io, name: string, options: ManageOptions): Promise<void> {
  const adoption = await adoptionOf(name, options)
  const dir = await folderOf(name)
  const cluster = await readClusterIfThere(dir)
  if (cluster?.far !== true)
    throw new RegentError('REGENT_REFUSED', say`${name} is not managed here: there is nothing to go back from`, {
      remedy: `See what is watched: regent adopt list. Manage it: regent adopt manage ${name}`,
    })
  refuseLeftOut(cluster, adoption, options)
  if (options.file !== undefined) await keepAdoption(adoptedFolder(), adoption)
  const layout = layoutOf(dir)
  // A damaged spec is no reason to stay.
  const { hooks } = await readSpec(layout, name).catch(() => adoption)
  const kept = await underCommandLock(
    (words) => io.note(words),
    async () => {
      await stopCluster(layout)
      await giveBackAll(io, hostsOf(adoption), await readBefore(layout))
      return purgeCluster(layout, 'keep')
    },
  )
  const { host, port } = await startWatchingAnew(io, name)
  io.out(`${name} is watched again (API on ${host}:${port}), and its manager and agents ended`)
  if (!isDeepStrictEqual(hooks, adoption.hooks))
    io.out('  its hooks were others than those of the hosts file: write them there before it is managed again')
  io.out('  its servers go on as they are, with the accounts regent_r_… that replicas use')
  if (kept.length > 0) io.out(`  archives of its servers are kept, and no command removes them: ${kept.join(', ')}`)
  io.out(`  regent adopt remove ${name}  watch it no more`)
}

async function readBefore(layout: StateLayout): Promise<Before> {
  const read = async (file: string, what: Sentence) =>
    ((await readJsonIfThere(file, what)) ?? {}) as Before['persisted' | 'semiSync']
  return {
    persisted: await read(layout.persistedBefore, say`what was persisted before`),
    semiSync: await read(layout.semiSyncBefore, say`how semi-synchronous replication was set before`),
  }
}

/** A server that does not answer keeps nobody from going back: what is to be done there is printed. */
async function giveBackAll(io: Io, hosts: readonly AdoptedHost[], before: Before): Promise<void> {
  const servers: FarAccess[] = []
  const unread = new Map<string, unknown>()
  for (const host of hosts)
    await accessOf(host).then(
      (access) => servers.push(access),
      (error: unknown) => unread.set(host.instance, error),
    )
  for (const [instance, error] of [...unread, ...(await giveBack(servers, before))]) {
    io.out(`${instance} was not given back: ${describeError(error)}`)
    io.out('  each of its starts stays closed until that is run there:')
    for (const statement of backTo(before, instance, false)) io.out(`    ${statement};`)
  }
}

async function adoptionOf(name: string, { file }: ManageOptions): Promise<Adoption> {
  const adoption = await readAdoption(file ?? (await adoptedPath(adoptedFolder(), name)))
  if (adoption.cluster === name) return adoption
  throw new RegentError(
    'REGENT_BAD_REQUEST',
    say`${file ?? 'the adoption'} is of the cluster ${adoption.cluster}, and ${name} was asked for: nothing was done`,
  )
}

/** Nobody would tell how a server is given back that the file does not name, and nobody would open it any more. */
function refuseLeftOut(
  { instances }: LocalCluster,
  adoption: Adoption,
  { file = 'the adoption' }: ManageOptions,
): void {
  const named = new Set(hostsOf(adoption).map(({ instance }) => instance))
  const left = instances.filter(({ name }) => !named.has(name)).map(({ name }) => name)
  if (left.length === 0) return
  throw new RegentError(
    'REGENT_REFUSED',
    say`${file} does not name ${left.join(', ')}, which is managed: each start of that server would stay closed`,
    { remedy: 'Name the servers that are managed, in their order, and leave some out later: adopt that file then.' },
  )
}

async function accessOf(adopted: AdoptedHost): Promise<FarAccess> {
  const { instance, host, port } = adopted
  const { user, password, ca } = await loginOf(adopted)
  return { instance, host, port, user, password, authority: ca }
}

/** All that managing keeps of servers that lack nothing, and the hosts where an agent could not work, each with why. */
async function findAll(
  looks: readonly Look[],
): Promise<{ readonly servers: readonly Found[]; readonly unreached: readonly string[] }> {
  const servers = await Promise.all(looks.map(foundAt))
  const tried = await Promise.all(
    servers.map(async ({ host: { instance, host, ssh }, places }) => {
      const why = ssh === undefined ? null : await whyNoHost(host, ssh, places)
      return why === null ? [] : [`${instance}: SSH to ${host} will not do: ${why}`]
    }),
  )
  return { servers, unreached: tried.flat() }
}

async function foundAt({ host, server }: Look): Promise<Found> {
  const access = await accessOf(host)
  return { host, uuid: server?.uuid ?? '', access, ...(await look(access, host.dataDir)) }
}

function farServer({ host: { host, port, mysql, ssh, start }, uuid, places }: Found): FarServer {
  return {
    host,
    port,
    config: {
      user: mysql.user,
      passwordFile: mysql.passwordFile,
      ...(mysql.caFile !== undefined && { caFile: mysql.caFile }),
      serverUuid: uuid,
      ...(ssh && { ssh }),
      ...(start !== undefined && { start }),
      places,
    },
  }
}

function specOf({ cluster, mode, hosts, failover, maxLagSeconds, reseed, hooks }: Adoption) {
  const policies = hosts.flatMap(({ promotion }, ordinal) =>
    promotion === 'neutral' ? [] : [[`${cluster}-${ordinal}`, { promotion, priority: 0 }] as const],
  )
  return composeSpec(cluster, undefined, {
    mode,
    instances: hosts.length,
    failover,
    maxLagSeconds,
    reseed,
    hooks,
    policies: Object.fromEntries(policies),
    // Its own settings say how long a server keeps its binlogs.
    keepBinlogsSeconds: 31_536_000,
  })
}
