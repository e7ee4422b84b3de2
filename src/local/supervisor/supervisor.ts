import type { Server } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { say } from '#common/sentence/sentence.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { Watches } from '#common/watch/watches.ts'
import { identityNow } from '#common/process/process-stat.ts'
import { claimNumber, type NumberClaim } from '../addresses/addresses.ts'
import { realChildren, type Children, type Command } from './child.ts'
import { readCluster, type LocalCluster, type LocalInstance } from '../folder/cluster-file.ts'
import { serveControl, type ControlRequest } from './control.ts'
import { rotateLogs } from '../logs/log-rotation.ts'
import {
  agentProcesses,
  mysqldOf,
  readBook,
  remoteAgentsProcess,
  stoppedProcesses,
  unmarkStopped,
  writeBook,
} from '../processes/process-book.ts'
import { killProcess } from '../processes/process-identity.ts'
import { agentConfigPath, layoutOf, logPath, type StateLayout } from '../folder/state-layout.ts'
import { SupervisedProcess, type SupervisedStatus } from './supervised-process.ts'

/** Names of manager and router among the supervised processes; others are agents, named as their instances. */
export const managerProcess = 'manager'
const routerProcess = 'router'

/** What runs of a cluster beside its supervisor: the names of its processes, and of their logs. */
export function processNames(cluster: LocalCluster): readonly string[] {
  return [...agentProcesses(cluster), managerProcess, ...(cluster.router === undefined ? [] : [routerProcess])]
}

/** Logs are looked at this often. */
const rotateEveryMs = 5_000
/** And this often whether cluster.json is another: who changed that file may have died before telling. */
const followEveryMs = 1_000
const graceMs = 5_000

export interface SupervisorOptions {
  readonly dir: string
  /** The commands that run `regent`, as the manager and as an agent: node and main.ts. */
  readonly manager: readonly string[]
  readonly agent: readonly string[]
  readonly log: (sentence: string) => void
  /** The claim of the cluster's number; claimed here unless given. */
  readonly claim?: NumberClaim | undefined
  readonly children?: Children
}

/**
 * Keeps the manager and the agents of one local cluster running. A mysqld is its agent's: the supervisor touches one
 * only when its instance was scaled away.
 */
export class Supervisor {
  #options: SupervisorOptions
  #layout: StateLayout
  #cluster: LocalCluster
  #processes = new Map<string, SupervisedProcess>()
  #claim: NumberClaim
  #server: Server | undefined
  #watches = new Watches(realWorld, (_, sentence) => this.#options.log(String(sentence)))
  #bookWrites: Promise<void> = Promise.resolve()
  #reloads: Promise<void> = Promise.resolve()
  #ended = Promise.withResolvers<void>()
  #shutdown: Promise<void> | undefined

  private constructor(options: SupervisorOptions, cluster: LocalCluster, claim: NumberClaim) {
    this.#options = options
    this.#layout = layoutOf(options.dir)
    this.#cluster = cluster
    this.#claim = claim
  }

  /**
   * Starts or takes over the cluster's processes. Throws `REGENT_ALREADY_RUNNING` when another supervisor has the
   * cluster: the kernel lets one process alone listen at the number's address.
   */
  static async start(options: SupervisorOptions): Promise<Supervisor> {
    const cluster = await readCluster(options.dir)
    const claim = options.claim ?? (await claimNumber(cluster.number))
    if (claim === undefined)
      throw new RegentError(
        'REGENT_ALREADY_RUNNING',
        say`cluster number ${cluster.number} of this machine is supervised already; ${options.dir} cannot be supervised twice`,
      )
    const supervisor = new Supervisor(options, cluster, claim)
    await supervisor.#begin()
    return supervisor
  }

  /** Resolves once everything this supervisor ran has ended and it has let go. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /** Ends the manager and the agents, in this order; every mysqld goes on. */
  shutdown(): Promise<void> {
    return (this.#shutdown ??= this.#end())
  }

  async #end(): Promise<void> {
    await this.#reloads.catch(() => undefined)
    await this.#processes.get(managerProcess)?.stop()
    await Promise.all([...this.#processes.values()].map((process) => process.stop()))
    this.#watches.stop()
    await this.#bookWrites
    await writeBook(this.#layout, { version: 1, supervisor: null, processes: {} })
    await this.#claim.release()
    this.#server?.close()
    this.#ended.resolve()
  }

  async #begin(): Promise<void> {
    const rotate = { code: 'LogsNotRotated', sentence: say`logs cannot be rotated` }
    const follow = { code: 'ClusterFileNotFollowed', sentence: say`cluster.json cannot be followed` }
    this.#watches.every(rotateEveryMs, [
      { name: 'logs that grow', failure: rotate, look: () => rotateLogs(this.#layout.logs) },
    ])
    this.#watches.every(followEveryMs, [
      { name: 'the instances in cluster.json', failure: follow, look: () => this.#followFile() },
    ])
    const book = await readBook(this.#layout)
    for (const name of this.#wanted()) await this.#add(name).begin(book.processes[name])
    this.#server = await serveControl(this.#layout.control, (request) => this.#answer(request))
    this.#note()
    await this.#bookWrites
  }

  #wanted(): readonly string[] {
    return processNames(this.#cluster)
  }

  #add(name: string): SupervisedProcess {
    const process = new SupervisedProcess({
      name,
      command: this.#commandOf(name),
      children: this.#options.children ?? realChildren,
      isMarkedStopped: async () => (await stoppedProcesses(this.#layout)).has(name),
      changed: (sentence) => {
        this.#options.log(sentence)
        this.#note()
      },
      graceMs,
    })
    this.#processes.set(name, process)
    return process
  }

  #commandOf(name: string): Command {
    const log = logPath(this.#layout, name)
    if (name === remoteAgentsProcess)
      return { argv: [...this.#options.agent, 'remote-agents', '--cluster-dir', this.#layout.dir], log }
    if (name === routerProcess)
      return { argv: [...this.#options.agent, 'router', '--cluster-dir', this.#layout.dir], log }
    const instance = this.#cluster.instances.find((candidate) => candidate.name === name)
    if (instance === undefined)
      return { argv: [...this.#options.manager, 'manager', '--cluster-dir', this.#layout.dir], log }
    return {
      argv: [...instance.wrapper, ...this.#options.agent, 'agent', '--config', agentConfigPath(this.#layout, name)],
      log,
    }
  }

  /** Answers once what was done is in the list of processes: who asked may look there next. */
  async #answer(request: ControlRequest): Promise<unknown> {
    const answer = await this.#handle(request)
    await this.#bookWrites
    return answer
  }

  async #handle(request: ControlRequest): Promise<unknown> {
    switch (request.command) {
      case 'status':
        return { processes: this.#statuses() }
      case 'reload':
        await this.#reloadInTurn()
        return {}
      case 'start':
        await this.#startOne(this.#named(request.process), request.process ?? '')
        return {}
      case 'stop':
        await this.#named(request.process).stop()
        return {}
      case 'shutdown':
        // Answered first: whoever asks waits for this process to be gone.
        setImmediate(() => void this.shutdown())
        return {}
    }
  }

  #statuses(): readonly SupervisedStatus[] {
    return [...this.#processes.values()].map((process) => process.status)
  }

  #named(name: string | undefined): SupervisedProcess {
    const process = this.#processes.get(name ?? '')
    if (process === undefined)
      throw new RegentError(
        'REGENT_NOT_FOUND',
        say`no process "${name ?? ''}" is supervised here; there are ${[...this.#processes.keys()].join(', ')}`,
      )
    return process
  }

  async #startOne(process: SupervisedProcess, name: string): Promise<void> {
    await unmarkStopped(this.#layout, name)
    await process.start()
  }

  async #followFile(): Promise<void> {
    const cluster = await readCluster(this.#layout.dir)
    if (this.#shutdown === undefined && !isDeepStrictEqual(cluster, this.#cluster)) await this.#reloadInTurn()
  }

  #reloadInTurn(): Promise<void> {
    this.#reloads = this.#reloads.catch(() => undefined).then(() => this.#reload())
    return this.#reloads
  }

  /**
   * Follows cluster.json: agents of new instances are started, those of leavers ended and their mysqld killed; volumes
   * stay.
   */
  async #reload(): Promise<void> {
    const before = this.#cluster
    this.#cluster = await readCluster(this.#layout.dir)
    const wanted = new Set(this.#wanted())
    const leavers = before.instances.filter((instance) => !wanted.has(instance.name))
    await Promise.all(leavers.map((instance) => this.#dismiss(instance)))
    for (const name of wanted) if (!this.#processes.has(name)) await this.#add(name).begin(undefined)
    this.#note()
  }

  async #dismiss(instance: LocalInstance): Promise<void> {
    await this.#processes.get(instance.name)?.stop()
    this.#processes.delete(instance.name)
    await unmarkStopped(this.#layout, instance.name)
    const mysqld = await mysqldOf(instance.volume)
    // Never SIGTERM: a clean shutdown acknowledges what waits; crash recovery is safe for data.
    if (mysqld !== undefined) await killProcess(mysqld)
    this.#options.log(`${instance.name} left the cluster; its volume ${instance.volume} is kept`)
  }

  /** Writes down what runs now, one write after the other, each of the newest state. */
  #note(): void {
    this.#bookWrites = this.#bookWrites
      .then(() => {
        const running = this.#statuses().flatMap((status) =>
          status.identity === null ? [] : [[status.name, status.identity] as const],
        )
        return writeBook(this.#layout, {
          version: 1,
          supervisor: identityNow(process.pid),
          processes: Object.fromEntries(running),
        })
      })
      .catch((error: unknown) => this.#options.log(`the list of processes cannot be written: ${describeError(error)}`))
  }
}
