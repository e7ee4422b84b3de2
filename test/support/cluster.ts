import { spawn } from 'node:child_process'
import { access, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Connection } from 'mysql2/promise'
import { stringify } from 'yaml'
import type { Recovery } from '#failover/protocol/notes.ts'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import { ApiClient } from '#cli/connection/api-client.ts'
import { localTarget } from '#cli/connection/local-manager.ts'
import { localStatus, type InstanceStatus, type LocalStatus } from '#cli/local/show/status.ts'
import { supervisorStatus } from '#local/supervisor/background.ts'
import { findCluster, type FoundCluster } from '#local/clusters/cluster-index.ts'
import { askSupervisor } from '#local/supervisor/control.ts'
import { injectFault } from '#local/faults/fault.ts'
import type { Fault } from '#local/faults/fault-names.ts'
import { adminUser, clientUser, readSecret } from '#local/folder/secrets.ts'
import { layoutOf, type StateLayout } from '#local/folder/state-layout.ts'
import { managerProcess } from '#local/supervisor/supervisor.ts'
import type { OperationBody, OperationName } from '#api-contract/operations.ts'
import type { ExplainView } from '#api-contract/explain-view.ts'
import type { OperationResult } from '#api-contract/operation-result.ts'
import type { ClusterView, TopologyView } from '#api-contract/views.ts'
import { processesNaming } from './leftovers.ts'
import { monotonicMs } from './monotonic.ts'
import { patienceMs } from './patience.ts'
import { freePort } from './free-port.ts'
import { preparedMysqld } from './prepared-folders/paths.ts'
import { clusterSecret } from './prepared-folders/secrets.ts'
import { openSession, queryWithin } from './sql-session.ts'
import { ViewStream } from './view-stream.ts'
import { isWhole } from './whole.ts'
import type { WriterTarget } from './writer-wire.ts'
import type { WrittenCluster } from './written-cluster.ts'

const bin = join(import.meta.dirname, '..', '..', 'bin', 'regent')
const upDeadlineMs = patienceMs
/** So long a cluster must stay whole to count as such. */
export const lastingMs = 250
const temporaryPrefix = 'regent-'

type Deep<T> = T extends readonly unknown[] ? T : T extends object ? { readonly [Key in keyof T]?: Deep<T[Key]> } : T

export interface StartOptions {
  readonly name?: string
  readonly instances?: number
  /** The cluster's spec, for --config. Unless it says otherwise, a second failover may follow the first at once. */
  readonly spec?: Deep<ClusterSpec>
  /** Further options of `regent local up`. */
  readonly flags?: readonly string[]
  /** Called with each line that `regent local up` says while it works. */
  readonly progress?: (line: string) => void
  /** Where the cluster is kept; a temporary folder unless given. */
  readonly home?: string
}

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Starts a cluster of its own with the real command line, in a folder of its own; resolves when it takes writes. */
export async function startCluster(options: StartOptions = {}): Promise<TestCluster> {
  const temporary = await mkdtemp(join(tmpdir(), temporaryPrefix))
  const { name = 'shop', home = temporary } = options
  try {
    await bringUp({ ...options, name, home }, join(temporary, 'spec.yaml'))
    if (home !== temporary) await rm(temporary, { recursive: true })
    return await TestCluster.at(home, name)
  } catch (error) {
    await runRegent(home, ['local', 'down', name, '--purge'], { deadlineMs: 30_000 })
    await rm(temporary, { recursive: true, force: true })
    throw error
  }
}

async function bringUp(
  options: StartOptions & { readonly name: string; readonly home: string },
  config: string,
): Promise<void> {
  const { name, home, instances = 3, spec = {}, flags = [], progress } = options
  if (process.env['REGENT_MYSQLD'] === preparedMysqld && !flags.includes('--data'))
    await bringSecret(layoutOf(join(home, name)))
  await writeFile(config, stringify({ failover: { windowMs: 0 }, ...spec }))
  const words = [
    'local',
    'up',
    name,
    '--instances',
    String(instances),
    '--port',
    String(await freePort()),
    '--config',
    config,
    ...flags,
  ]
  const ran = await runRegent(home, words, { deadlineMs: upDeadlineMs, ...(progress && { progress }) })
  await rm(config)
  if (ran.code !== 0) throw new Error(`regent local up ended with ${ran.code}:\n${ran.stderr}`)
}

async function bringSecret({ dir, secrets, accountSecret }: StateLayout): Promise<void> {
  const isThere = await access(dir).then(
    () => true,
    () => false,
  )
  if (isThere) return
  await mkdir(secrets, { recursive: true, mode: 0o700 })
  await writeFile(accountSecret, `${clusterSecret}\n`, { mode: 0o600 })
}

/** Runs the command line as a person does, with its state in `home`. */
export async function runRegent(
  home: string,
  words: readonly string[],
  options: { readonly deadlineMs: number; readonly progress?: (line: string) => void },
): Promise<Ran> {
  // Taking a cluster down is not for a second Ctrl-C to break off.
  const detached = words.includes('down')
  const child = spawn(bin, words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, REGENT_HOME: home },
    timeout: options.deadlineMs,
    killSignal: 'SIGKILL',
    detached,
  })
  const text = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text.stdout += part))
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    text.stderr += part
    for (const line of part.split('\n').filter((one) => one.trim() !== '')) options.progress?.(line)
  })
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (status) => resolve(status ?? 1))
  })
  return { code, ...text }
}

/** A running cluster, and what a test can do to it and ask of it. */
export class TestCluster implements WrittenCluster {
  readonly name: string
  readonly home: string
  readonly layout: StateLayout
  readonly views: ViewStream
  readonly #found: FoundCluster
  readonly #client: ApiClient
  readonly #injectFault: typeof injectFault
  #adminSessions = new Map<string, Connection>()

  private constructor(home: string, found: FoundCluster, client: ApiClient, inject: typeof injectFault) {
    this.home = home
    this.#injectFault = inject
    this.name = found.cluster.name
    this.layout = layoutOf(found.dir)
    this.#found = found
    this.#client = client
    this.views = new ViewStream(localTarget(found.dir, found.cluster), this.name)
  }

  /** @param inject how faults come to servers that are not this machine's */
  static async at(home: string, name: string, inject = injectFault): Promise<TestCluster> {
    const found = await findCluster(name, home)
    return new TestCluster(home, found, await ApiClient.open(localTarget(found.dir, found.cluster)), inject)
  }

  /** `regent <words>` on this cluster's machine. */
  regent(...words: readonly string[]): Promise<Ran> {
    return runRegent(this.home, words, { deadlineMs: 60_000 })
  }

  async status(): Promise<LocalStatus> {
    return localStatus(await this.#foundNow())
  }

  async instance(name: string): Promise<InstanceStatus> {
    const found = (await this.status()).instances.find((one) => one.name === name)
    if (found === undefined) throw new Error(`${this.name} has no instance ${name}`)
    return found
  }

  view(): Promise<ClusterView> {
    return this.get<ClusterView>('')
  }

  topology(): Promise<TopologyView> {
    return this.get<TopologyView>('/topology')
  }

  explain(): Promise<ExplainView> {
    return this.get<ExplainView>('/explain')
  }

  /** Changes of primary, the newest first. */
  async recoveries(): Promise<readonly Recovery[]> {
    return (await this.get<readonly Recovery[]>('/recoveries')).filter(({ kind }) => kind !== 'repair')
  }

  /** The change of primary that ended this epoch, once that is over: clients write again before that. */
  async recoveryOf(epoch: number): Promise<Recovery> {
    return this.until(`the recovery of epoch ${epoch} is over`, async () =>
      (await this.recoveries()).find(({ fromEpoch, outcome }) => fromEpoch === epoch && outcome !== 'running'),
    )
  }

  /** What was put right at one instance, the newest first. */
  async repairs(instance: string): Promise<readonly Recovery[]> {
    const all = await this.get<readonly Recovery[]>('/recoveries')
    return all.filter(({ kind, from }) => kind === 'repair' && from?.startsWith(`${instance}@`))
  }

  /** The instance that the record names; throws where there is none. */
  async primary(): Promise<string> {
    const { primary } = await this.view()
    if (primary === null) throw new Error(`${this.name} has no primary`)
    return primary
  }

  async replicas(): Promise<readonly string[]> {
    const view = await this.view()
    return view.instances.map((row) => row.name).filter((name) => name !== view.primary)
  }

  /** GETs a path below the cluster's own. */
  get<Answer>(path: string): Promise<Answer> {
    return this.#client.get<Answer>(`/clusters/${this.name}${path}`)
  }

  /** POSTs to a path below the cluster's own. Rejects with the `RegentError` that the manager refused with. */
  operate<N extends OperationName>(name: N, body: OperationBody<N>, deadlineMs = 60_000): Promise<OperationResult> {
    return this.#client.operate(`/clusters/${this.name}`, name, body, deadlineMs)
  }

  switchover(
    body: { readonly to?: string; readonly timeoutMs?: number; readonly dryRun?: boolean } = {},
  ): Promise<OperationResult> {
    return this.operate('switchover', body)
  }

  scale(instances: number): Promise<OperationResult> {
    return this.operate('scale', { instances }, 120_000)
  }

  /** What `regent local fault` does, in this process; resolves to the monotonic time just before. */
  async fault(instance: string, what: Fault): Promise<number> {
    const { cluster } = await this.#foundNow()
    const at = monotonicMs()
    await this.#injectFault(this.layout, cluster, instance, what)
    return at
  }

  /**
   * Waits until an instance runs another mysqld than the one with this pid; a killed or stopped one may still answer
   * for a while.
   */
  async otherMysqld(instance: string, pid: number | null, deadlineMs = patienceMs): Promise<void> {
    await this.until(
      `another mysqld at ${instance} than ${pid}`,
      async () => ![null, pid].includes((await this.instance(instance)).pid),
      deadlineMs,
    )
  }

  async signalManager(signal: NodeJS.Signals): Promise<void> {
    const { managerPid } = await this.status()
    if (managerPid === null) throw new Error(`the manager of ${this.name} does not run`)
    process.kill(managerPid, signal)
  }

  /** SIGKILLs the manager, and has another one started without the supervisor's growing pause. */
  async replaceManager(): Promise<void> {
    await this.signalManager('SIGKILL')
    await this.until('the supervisor sees the end of the manager', async () =>
      (await supervisorStatus(this.layout))?.some(({ name, state }) => name === managerProcess && state === 'waiting'),
    )
    await askSupervisor(this.layout.control, { command: 'start', process: managerProcess }, 10_000)
  }

  /** Waits for a state of the cluster, as the manager tells it. */
  waitFor(
    what: string,
    predicate: (view: ClusterView) => boolean | null,
    deadlineMs = patienceMs,
  ): Promise<ClusterView> {
    return this.views.waitFor(what, predicate, deadlineMs)
  }

  /**
   * Waits until every one of so many instances is up, counts and follows, and that lasts: a replica that was just let
   * in connects once more.
   */
  async whole(instances = 3, deadlineMs = patienceMs): Promise<ClusterView> {
    const until = monotonicMs() + deadlineMs
    for (;;) {
      await this.waitFor(
        `${this.name} is whole, ${instances} of ${instances}`,
        (view) => isWhole(view, instances),
        Math.max(1, until - monotonicMs()),
      )
      await new Promise((resolve) => setTimeout(resolve, lastingMs))
      const now = this.views.latest
      if (now !== undefined && isWhole(now, instances)) return now
    }
  }

  /** Waits for something that only asking again shows. */
  async until<Found>(
    what: string,
    look: () => Promise<Found | undefined | false>,
    deadlineMs = patienceMs,
  ): Promise<Found> {
    const until = monotonicMs() + deadlineMs
    for (;;) {
      const found = await look()
      if (found !== undefined && found !== false) return found
      if (monotonicMs() > until) throw new Error(`${what}: not within ${deadlineMs} ms`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  /** A session of its own; the caller ends it. */
  async session(instance: string, user: 'admin' | 'client' = 'admin', deadlineMs = 10_000): Promise<Connection> {
    const { address: host, port } = this.#instance(await this.#foundNow(), instance)
    return openSession({ host, port, ...(await this.login(user)) }, deadlineMs)
  }

  async login(user: 'admin' | 'client'): Promise<{ readonly user: string; readonly password: string }> {
    const admin = user === 'admin'
    return {
      user: admin ? adminUser : clientUser,
      password: await readSecret(admin ? this.layout.adminPassword : this.layout.clientPassword),
    }
  }

  /** Where a writer looks for the primary; `pinnedTo` names the only instance that it shall write to. */
  async writerTarget(pinnedTo?: string): Promise<WriterTarget> {
    const { instances } = await this.status()
    const pinned = instances.find((instance) => instance.name === pinnedTo)
    return {
      routes: this.layout.routes,
      instances: instances.map(({ host, port }) => ({ host, port })),
      pinned: pinned === undefined ? null : { host: pinned.host, port: pinned.port },
    }
  }

  /**
   * Runs one statement on one instance and gives its rows; as `admin` in a session that is kept, else in one of its
   * own.
   */
  async sql(
    instance: string,
    statement: string,
    options: { readonly user?: 'admin' | 'client'; readonly deadlineMs?: number } = {},
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { user = 'admin', deadlineMs = 60_000 } = options
    const kept = user === 'admin' ? this.#adminSessions.get(instance) : undefined
    const session = kept ?? (await this.session(instance, user))
    try {
      const rows = await queryWithin(session, statement, deadlineMs)
      if (user === 'admin') this.#adminSessions.set(instance, session)
      else session.destroy()
      return rows
    } catch (error) {
      session.destroy()
      this.#adminSessions.delete(instance)
      // The kept session may have been cut off by what happened since; a fresh one says what is so now.
      if (kept !== undefined && isLost(error)) return this.sql(instance, statement, options)
      throw error
    }
  }

  /** The only value of a query's only row, as text. */
  async value(instance: string, statement: string): Promise<string> {
    const [row] = await this.sql(instance, statement)
    return String(Object.values(row ?? {})[0])
  }

  /**
   * `regent local up` of a cluster that is down. A cluster of another test may have taken its number; then this waits
   * for the end of that.
   */
  async upAgain(): Promise<void> {
    await this.until(
      `${this.name} is up again`,
      async () => {
        const ran = await runRegent(this.home, ['local', 'up', this.name], { deadlineMs: upDeadlineMs })
        if (ran.code !== 0 && !ran.stderr.includes('REGENT_ADDRESS_IN_USE'))
          throw new Error(`regent local up ended with ${ran.code}:\n${ran.stderr}`)
        return ran.code === 0
      },
      upDeadlineMs,
    )
  }

  /** Ends what this process has open to the cluster, which goes on. */
  async letGo(): Promise<void> {
    await this.views.end()
    for (const session of this.#adminSessions.values()) session.destroy()
  }

  /** Takes the cluster down, removes it, and throws when a process or a file of it is left. */
  async down(): Promise<void> {
    await this.letGo()
    const ran = await this.regent('local', 'down', this.name, '--purge')
    if (ran.code !== 0) throw new Error(`regent local down ended with ${ran.code}: ${ran.stderr}`)
    const running = await processesNaming(this.layout.dir)
    const files = this.#isTemporary
      ? (await readdir(this.home)).filter((name) => !['lock', 'index.json'].includes(name))
      : []
    if (this.#isTemporary) await rm(this.home, { recursive: true, force: true })
    if (running.length > 0) throw new Error(`still running after "regent local down":\n${running.join('\n')}`)
    if (files.length > 0) throw new Error(`left behind by "regent local down --purge": ${files.join(', ')}`)
  }

  get #isTemporary(): boolean {
    return this.home.startsWith(join(tmpdir(), temporaryPrefix))
  }

  /** Again, for instances come and go. */
  #foundNow(): Promise<FoundCluster> {
    return findCluster(this.name, this.home)
  }

  #instance({ cluster }: FoundCluster, name: string): { readonly address: string; readonly port: number } {
    const found = cluster.instances.find((one) => one.name === name)
    if (found === undefined)
      throw new Error(
        `${this.name} has no instance ${name}; it has ${this.#found.cluster.instances.map((one) => one.name).join(', ')}`,
      )
    return found
  }
}

/** The session is gone, rather than the statement refused. */
function isLost(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return (
    ['PROTOCOL_CONNECTION_LOST', 'ECONNRESET', 'EPIPE', 'ER_CLIENT_INTERACTION_TIMEOUT', 'ER_SERVER_SHUTDOWN'].includes(
      code,
    ) ||
    (error instanceof Error && error.message.includes('closed state'))
  )
}
