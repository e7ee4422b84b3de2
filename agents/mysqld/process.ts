import { reported, say, type Sentence } from '#common/sentence/sentence.ts'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { RegentError } from '#common/errors/errors.ts'
import type { Clock, Timers } from '#common/ports/ports.ts'
import { identityNow, readProcessStat, type ProcessIdentity } from '#common/process/process-stat.ts'
import { realMachine } from '#common/ports/real-world.ts'
import { defaultTimings } from '#failover/protocol/timings.ts'
import type { Lack } from '#topology/snapshot/observation.ts'
import type { AgentConfig } from '../instance/config.ts'
import { markErrorLog } from '../volume/error-log.ts'
import { hasAccounts, lacksAccounts } from '../volume/restored-folder.ts'
import { accountsOption, checkProgram, defaultsArgument, runInitialise, startMysqld } from './command.ts'
import { Launcher } from './launcher.ts'
import { forgetGoodSettings } from './good-settings.ts'
import { StartBook } from './start-book.ts'
import { lacksAioSlots, machineLacks, writePidFileAgain, type MachineNeeds } from './machine-needs.ts'
import { findServerOn } from './other-server.ts'
import { removeCutOffKeys } from './own-keys.ts'
import { findByArgument, readPidFile, writePidFile } from './pid-file.ts'
import { isDown, type OtherServer, type ProcessPort } from '../ports/process.ts'
import { ShownProcess } from './shown-process.ts'
import { phaseOf, type ProcessPhase } from './process-phase.ts'
import { isByItself, sentenceOf } from './running-program.ts'
import { SettingsCheck } from './settings-check.ts'
import { ProcessWatch } from './process-watch.ts'
import { volumeLayout, type VolumeLayout } from '../instance/volume-layout.ts'
import { syncFolder } from '#common/files/sync-folder.ts'

/** How long a killed server may take until the kernel has let go of its memory and files. */
const goneMs = 30_000
const readyEveryMs = 500

interface Ports {
  readonly clock: Clock
  readonly timers: Timers
  /** `/proc`, but in tests of who has locked the data. */
  readonly proc?: string
}

/** The mysqld of one instance on this machine. */
export function createMysqldProcess(config: AgentConfig, ports: Ports): ProcessPort {
  return new MysqldProcess(config, ports)
}

class MysqldProcess extends ShownProcess implements ProcessPort {
  readonly #config: AgentConfig
  readonly #layout: VolumeLayout
  readonly #ports: Ports
  /** Null where the agent starts mysqld itself. */
  readonly #launcher: Launcher | null
  #watch: ProcessWatch | null = null
  #pid: number | null = null
  #lookEveryMs: number
  /**
   * The program that the launcher runs was found to be one that Regent runs, or not. Asked once: another image comes
   * with another agent.
   */
  #checked: Promise<string> | undefined
  readonly #settings: SettingsCheck
  readonly #starts: StartBook
  #makesAccounts = false
  /** Its interfaces are open: its own pid file is there. */
  #isUp = false

  constructor(config: AgentConfig, ports: Ports) {
    super(ports.clock, say`mysqld was never started here`)
    this.#config = config
    this.#layout = volumeLayout(config.volume)
    this.#ports = ports
    this.#launcher = config.launcherDir === '' ? null : new Launcher(config.launcherDir, ports)
    this.#settings = new SettingsCheck(config, this.#layout, this.#launcher)
    this.#starts = new StartBook(config, this.#layout)
    this.#lookEveryMs = config.timings.processWatchMs ?? defaultTimings.processWatchMs
  }

  get pid(): number | null {
    return this.#pid
  }

  get writesNoMore(): boolean {
    return this.state === 'exiting' && this.#watch?.writesNoMore === true
  }

  get settingsRefused(): string {
    return this.#settings.refused || this.#starts.refused
  }

  get settingsRolledBack(): boolean {
    return this.#settings.refused === '' && this.#starts.refused !== ''
  }

  get startFailed(): string {
    return this.#starts.failed
  }

  get startsFailed(): number {
    return this.#starts.failures
  }

  lookEvery(ms: number): void {
    if (ms === this.#lookEveryMs) return
    this.#lookEveryMs = ms
    this.#watch?.lookEvery(ms)
  }

  async adopt(): Promise<void> {
    await this.#starts.recall()
    const noted = await readPidFile(this.#layout.pidFile)
    const bootId = await this.#bootId()
    const sameBoot = noted?.bootId === bootId
    const lives = sameBoot && readProcessStat(noted.pid)?.startTicks === noted.startTicks
    const found = lives ? noted : await findByArgument(defaultsArgument(this.#layout))
    if (found) {
      if (!lives) await writePidFile(this.#layout.pidFile, { pid: found.pid, startTicks: found.startTicks, bootId })
      this.#follow(found)
      this.#askForSettings()
    } else if (noted) {
      this.#pid = noted.pid
      this.become(
        'dead',
        sameBoot
          ? say`mysqld ${noted.pid} ended while no agent watched it`
          : say`mysqld ${noted.pid} ended with its machine`,
      )
    }
  }

  async isEmpty(): Promise<boolean> {
    return (await entriesOf(this.#layout.dataDir)).filter((name) => name !== 'lost+found').length === 0
  }

  async initialise(): Promise<void> {
    const { volume, dataDir } = this.#layout
    await this.#requireSettings(await this.#checkProgram())
    if (!(await this.isEmpty()))
      throw new RegentError('REGENT_REFUSED', say`${dataDir} is not empty: existing data is never initialised again`)
    await mkdir(volume, { recursive: true })
    for (const name of await entriesOf(volume)) {
      if (name.startsWith('data.new')) await rm(`${volume}/${name}`, { recursive: true, force: true })
    }
    const began = this.#ports.clock.monotonicMs()
    // A name of its own: a run of an agent that died may still be writing to its folder.
    const fresh = `${dataDir}.new-${process.pid}-${Math.round(began)}`
    const progress = this.#ports.timers.every(1_000, () =>
      this.become(
        this.state,
        say`initialising ${dataDir} for ${Math.round((this.#ports.clock.monotonicMs() - began) / 1_000)} s`,
      ),
    )
    this.become(this.state, say`initialising ${dataDir}`)
    try {
      await runInitialise(this.#config, this.#layout, { folder: fresh, launcher: this.#launcher })
      await rename(fresh, dataDir)
      await forgetGoodSettings(this.#layout)
      await syncFolder(volume)
    } finally {
      progress.cancel()
      await rm(fresh, { recursive: true, force: true })
    }
    this.become(this.state, say`${dataDir} is initialised; mysqld was not started since`)
  }

  async start(): Promise<void> {
    if (this.#isAlive()) return
    await this.#requireSettings(await this.#checkProgram())
    if (this.state === 'exiting') await this.#until(() => this.state === 'dead', this.#pid)
    const { pidFile, serverPidFile, socket, accountsFile } = this.#layout
    await mkdir(this.#layout.runDir, { recursive: true, mode: 0o700 })
    await mkdir(this.#layout.agentDir, { recursive: true, mode: 0o700 })
    for (const leftover of [serverPidFile, socket, `${socket}.lock`, accountsFile]) await rm(leftover, { force: true })
    await removeCutOffKeys(this.#layout.dataDir)
    await markErrorLog(this.#layout)
    const bootId = await this.#bootId()
    // A server that cannot run the statements would not start: only once, and then as always.
    const restored = await lacksAccounts(this.#layout.dataDir)
    const options = [
      ...(this.#makesAccounts || restored ? [await accountsOption(this.#config, this.#layout, restored)] : []),
      ...((await lacksAioSlots()) ? ['--innodb-use-native-aio=OFF'] : []),
    ]
    this.#makesAccounts = false
    const settings = await this.#starts.begin()
    const config = { ...this.#config, ...settings }
    const { pid, ended } = await startMysqld(config, this.#layout, { launcher: this.#launcher, options })
    const identity = identityNow(pid)
    // The kernel shows in any case that mysqld ended.
    ended.then(
      (ending) => this.#childEnded(pid, sentenceOf(ending), isByItself(ending)),
      () => undefined,
    )
    this.#isUp = false
    this.#follow(identity)
    await writePidFile(pidFile, { ...identity, bootId })
  }

  accountsAtStart(): void {
    this.#makesAccounts = true
  }

  async dropAccountsFile(): Promise<void> {
    await rm(this.#layout.accountsFile, { force: true })
    await hasAccounts(this.#layout.dataDir)
  }

  async lacks(): Promise<readonly Lack[]> {
    return this.state === 'running' && this.#pid !== null ? machineLacks(this.#machineNeeds(this.#pid)) : []
  }

  async supply(): Promise<void> {
    if (this.state === 'running' && this.#pid !== null) await writePidFileAgain(this.#machineNeeds(this.#pid))
  }

  #machineNeeds(pid: number): MachineNeeds {
    const { accountSecretFile, mysqld } = this.#config
    return { ...this.#layout, pid, accountSecretFile, program: this.#launcher === null ? mysqld : [] }
  }

  async findOther(): Promise<OtherServer | null> {
    const found = isDown(this) ? await findServerOn(this.#layout, this.#ports.proc) : undefined
    // A start may have begun meanwhile.
    if (found === undefined || !isDown(this)) return null
    const { pid, startTicks, startedClosed } = found
    return { pid, startedClosed, end: () => this.#endOther({ pid, startTicks }) }
  }

  async kill(): Promise<void> {
    // A caller that kills touches files next.
    if (isDown(this)) return (await this.findOther())?.end()
    const identity = this.#watch?.identity
    if (!identity) return
    this.#watch?.look()
    signal(identity)
    await this.#until(() => this.state === 'dead', identity.pid)
  }

  async #endOther(identity: ProcessIdentity): Promise<void> {
    signal(identity)
    await this.#until(() => phaseOf(readProcessStat(identity.pid), identity.startTicks) === 'dead', identity.pid)
  }

  /** Before a volume is touched: data that a newer server has written, an older one may spoil. */
  async #checkProgram(): Promise<string | undefined> {
    if (this.#launcher === null) return undefined
    this.#checked ??= checkProgram(this.#config, this.#launcher)
    try {
      return await this.#checked
    } catch (error) {
      if (error instanceof RegentError && error.code === 'REGENT_LAUNCHER_SILENT') this.#checked = undefined
      throw error
    }
  }

  async #requireSettings(version: string | undefined): Promise<void> {
    try {
      await this.#settings.require(version)
    } catch (error) {
      if (error instanceof RegentError && error.code === 'REGENT_SETTINGS_REFUSED')
        this.become(this.state, say`${reported(error.message)}`)
      throw error
    }
  }

  /** While mysqld runs on: whether it would start again is known before it has to, and nobody waits for the answer. */
  #askForSettings(): void {
    const ask = async (): Promise<void> => {
      await this.#settings.ask(await this.#checkProgram())
      if (this.#settings.refused !== '') this.tell()
    }
    // The start of mysqld asks again.
    ask().catch(() => undefined)
  }

  #isAlive(): boolean {
    return this.state === 'starting' || this.state === 'running' || this.state === 'stopped'
  }

  #bootId(): Promise<string> {
    return realMachine(this.#config.bootIdFile).bootId()
  }

  #follow(identity: ProcessIdentity): void {
    this.#watch?.stop()
    this.#pid = identity.pid
    this.#isUp = existsSync(this.#layout.serverPidFile)
    this.become(this.#isUp ? 'running' : 'starting', '')
    const watch = new ProcessWatch(identity, this.#lookEveryMs, this.#ports.timers, (phase) =>
      this.#phaseChanged(phase),
    )
    this.#watch = watch
    if (!this.#isUp) this.#awaitInterfaces(watch)
    watch.look()
  }

  /** mysqld writes its pid file once its interfaces are open; nothing else tells. */
  #awaitInterfaces(watch: ProcessWatch): void {
    const timer = this.#ports.timers.every(this.#lookEveryMs, () => {
      if (watch === this.#watch && watch.phase !== 'dead' && !existsSync(this.#layout.serverPidFile)) return
      timer.cancel()
      if (watch !== this.#watch || watch.phase === 'dead') return
      this.#isUp = true
      this.#awaitReady(watch)
      if (this.state === 'starting') this.become('running', '')
    })
  }

  /** mysqld may still end for its settings after it wrote its pid file (seen on 9.7: an unknown time zone). */
  #awaitReady(watch: ProcessWatch): void {
    const timer = this.#ports.timers.every(readyEveryMs, () => {
      if (watch !== this.#watch || watch.phase === 'dead') return timer.cancel()
      // What it came up with is noted at the next start where the disk takes nothing now.
      this.#starts.isReady().then(
        (ready) => ready && timer.cancel(),
        () => timer.cancel(),
      )
    })
  }

  #phaseChanged(phase: ProcessPhase): void {
    if (phase === 'dead') this.#ended(this.#wasUp, say`ended`)
    else if (phase === 'running') this.become(this.#isUp ? 'running' : 'starting', '')
    else
      this.become(
        phase,
        phase === 'exiting'
          ? say`mysqld ${this.#pid} is being torn down${this.#watch?.writesNoMore === true ? ', and writes no more' : ''}`
          : say`mysqld ${this.#pid} is stopped (SIGSTOP)`,
      )
  }

  /**
   * The kernel tells a parent how its child ended, and no other.
   * @param byItself it ended with a status, and nobody killed it
   */
  #childEnded(pid: number, how: Sentence, byItself: boolean): void {
    if (this.#watch?.identity.pid !== pid) return
    this.#watch?.stop()
    this.#ended(this.#wasUp, how, byItself)
  }

  get #wasUp(): boolean {
    return this.#isUp && !this.#starts.isUnderWay
  }

  #ended(wasUp: boolean, how: Sentence, byItself = false): void {
    this.become('dead', say`mysqld ${this.#pid} ${how}`)
    if (wasUp) return
    const [watch, what] = [this.#watch, say`mysqld ${this.#pid} ${how} before it was up`]
    this.#starts.ended(what, byItself).then(
      (said) => said !== '' && watch === this.#watch && this.become('dead', said),
      () => this.become('dead', say`${what}, and ${this.#layout.errorLog} cannot be read`),
    )
  }

  async #until(isGone: () => boolean, pid: number | null): Promise<void> {
    const until = this.#ports.clock.monotonicMs() + goneMs
    while (!isGone()) {
      if (this.#ports.clock.monotonicMs() > until)
        throw new RegentError(
          'REGENT_TIMED_OUT',
          say`mysqld ${pid} was killed and is not gone after ${goneMs / 1_000} s: the kernel holds it, perhaps for a disk that does not answer`,
        )
      await this.#ports.timers.sleep(2)
      this.#watch?.look()
    }
  }
}

function signal({ pid, startTicks }: ProcessIdentity): void {
  if (readProcessStat(pid)?.startTicks !== startTicks) return
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function entriesOf(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
