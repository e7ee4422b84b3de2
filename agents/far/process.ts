import type { ProcessIdentity } from '#common/process/process-stat.ts'
import { say, text } from '#common/sentence/sentence.ts'
import type { Clock, Timer, Timers } from '#common/ports/ports.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import type { Lack } from '#topology/snapshot/observation.ts'
import type { FarConfig } from '../instance/config.ts'
import { isDown, type ProcessPort } from '../ports/process.ts'
import type { Note } from './note.ts'
import type { OwnStart } from './own-start.ts'
import { killScript, startScript, watchScript } from './scripts.ts'
import { ShownFarProcess } from './shown-far-process.ts'
import type { FarShell, Running } from './ssh.ts'

type Life = ProcessIdentity

/** What a line of the watching script says of the host. */
interface Seen extends Life {
  readonly state: 'running' | 'stopped' | 'exiting'
}

export interface FarProcessPorts {
  readonly clock: Clock
  readonly timers: Timers
  readonly shell: FarShell
  /** The boot id of the host's kernel, as the agent noted it when it began. */
  readonly bootId: string
  /** The host was started anew: what was not synced there is lost, and nothing more is heard of it here. */
  readonly rebooted: () => void
  readonly ownStart: OwnStart
  /** Which process it takes for its mysqld. */
  readonly note: Note<Life>
  /** Called before a process is taken; what it cannot do keeps no server from being taken. */
  readonly taking: (life: Life) => Promise<void>
}

/** A server that was killed recovers its data before it is up, which nobody hastens by another start. */
const startMs = 15 * 60_000
/** A server that works there is soon in its pid file, and the host tells. */
const toldMs = 5_000
const goneMs = 30_000
/** Lines come every second. */
const silentMs = 3_000
const againMs = 500

/** What a line of the script says: null for an amount that is not known, and for no mysqld. */
type SaidOfHost = { readonly boot: string } | { readonly freeBytes: number | null } | { readonly seen: Seen | null }

const spoken =
  /^(?:boot (?<boot>\S+)|(?<dot>\.)(?: (?<free>\d+)| \S+)?|(?<none>none)|(?<pid>\d+) (?<startTicks>\d+) (?<state>[A-Z]))$/

/**
 * The mysqld of a far host, seen by a script that looks into `/proc` there. A service manager may start mysqld again as
 * soon as it ended; such a server comes up closed (`look.ts`). The server counts as dead until this agent starts it,
 * which then means to take the server as it is: what may be decided between an end and a start is decided here as
 * beside a near server.
 */
export class FarProcess extends ShownFarProcess implements ProcessPort {
  readonly #config: FarConfig
  readonly #ports: FarProcessPorts
  #life: Life | null = null
  /** Null where no mysqld is there; undefined before the host said anything. */
  #seen: Seen | null | undefined
  #heardAtMs = -Infinity
  #freeBytes = Number.MAX_SAFE_INTEGER
  #everyMs = 50
  #running: Running | null = null
  #following = false
  #isStarting = false
  #isRebooted = false
  #startFailed = ''
  #timer: Timer | null = null

  constructor(config: FarConfig, ports: FarProcessPorts) {
    super(ports.clock, '')
    this.#config = config
    this.#ports = ports
  }

  get pid(): number | null {
    return this.#life?.pid ?? null
  }

  /** The process that is taken for the agent's own, also after its end. */
  get life(): Life | null {
    return this.#life
  }

  get startFailed(): string {
    return this.#startFailed
  }

  get freeBytes(): number {
    return this.#freeBytes
  }

  /** The host tells what becomes of its mysqld. */
  get isSeen(): boolean {
    return this.#seen !== undefined && this.#ports.clock.monotonicMs() - this.#heardAtMs < silentMs
  }

  async adopt(): Promise<void> {
    const noted = await this.#ports.note.read()
    if (noted !== undefined) this.#life = { pid: noted.pid, startTicks: noted.startTicks }
    await this.#follow()
    await this.#until(() => this.#seen !== undefined, silentMs)
    const seen = this.#seen ?? null
    this.#timer = this.#ports.timers.every(againMs, () => void this.#follow().catch(() => undefined))
    if (noted === undefined) {
      if (this.#seen === undefined) throw new RegentError('REGENT_SSH_DOWN', say`the host does not say what runs there`)
      if (seen === null) return this.become('absent', say`no mysqld runs on the host`)
      return this.#take(seen)
    }
    this.#judge()
  }

  /** A look there costs a process each: not as often as into a folder of this machine. */
  lookEvery(ms: number): void {
    const everyMs = Math.max(50, ms * 4)
    if (everyMs === this.#everyMs) return
    this.#everyMs = everyMs
    this.#running?.stop()
  }

  async start(): Promise<void> {
    if (!isDown(this)) return
    const { start } = this.#config
    if (this.#isThere()) return this.#take(this.#seen as Seen)
    if (start === undefined)
      throw new RegentError(
        'REGENT_FAR_CANNOT',
        say`mysqld is down, and the hosts file has no start command for this host: start mysqld there, or give one`,
      )
    // The server is not shown as dead any more: a manager that hears of a death would fail over while the server comes
    // up.
    this.#isStarting = true
    this.#judge()
    try {
      await this.#startBy(start)
      this.#startFailed = ''
    } catch (error) {
      this.#startFailed = describeError(error)
      // A host that is not reached fails at once, and who hears of the end would start it again at once.
      await this.#ports.timers.sleep(againMs)
      throw error
    } finally {
      this.#isStarting = false
      this.#judge()
    }
  }

  /** The server goes on, and a failover would have neither its end nor its binlogs. */
  lacks(): Promise<readonly Lack[]> {
    if (this.isSeen) return Promise.resolve([])
    const { failure } = this.#ports.shell
    const why = failure === null ? say`nothing is heard by it` : text(failure.message)
    const cure = say`mend that: until then nobody can fail over without a loss that a person accepts`
    return Promise.resolve([
      { what: say`SSH to its host`, for: say`its end, and what only its binlogs have`, cure: say`${why}; ${cure}` },
    ])
  }

  async kill(): Promise<void> {
    const life = this.#life
    if (life === null || isDown(this)) return
    await this.#ports.shell.run(killScript, [String(life.pid), String(life.startTicks)])
    if (!(await this.#until(() => this.state === 'dead' || this.#life !== life, goneMs)))
      throw new RegentError('REGENT_TIMED_OUT', say`mysqld ${life.pid} was killed and is not gone`)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#running?.stop()
  }

  async #startBy(command: string): Promise<void> {
    const { dataDir, pidFile, errorLog } = this.#config.places
    const { pid = 0, startTicks = 0 } = this.#life ?? {}
    const args = [command, pidFile, dataDir, errorLog, String(pid), String(startTicks)]
    await this.#ports.shell.run(startScript, args, { deadlineMs: startMs })
    if (!(await this.#until(() => this.#isThere(), toldMs)))
      throw new RegentError('REGENT_TIMED_OUT', say`no mysqld runs on the host after the start command`)
    if (this.#seen) await this.#keep(this.#seen)
  }

  #isThere(): boolean {
    return this.#seen !== undefined && this.#seen !== null && this.#seen.state !== 'exiting'
  }

  async #take(seen: Seen): Promise<void> {
    await this.#keep(seen)
    this.#judge()
  }

  async #keep({ pid, startTicks }: Seen): Promise<void> {
    const life = { pid, startTicks }
    await this.#ports.taking(life)
    this.#life = life
    await this.#ports.note.write(life)
  }

  async #follow(): Promise<void> {
    if (this.#following) return
    this.#following = true
    const { pidFile, dataDir } = this.#config.places
    const seconds = this.#everyMs / 1_000
    const known = this.#life === null ? ['', ''] : [String(this.#life.pid), String(this.#life.startTicks)]
    try {
      this.#running = await this.#ports.shell.follow(
        watchScript,
        [pidFile, dataDir, String(seconds), String(Math.ceil(1 / seconds)), ...known],
        {
          line: (text) => this.#hear(text),
          ended: () => {
            this.#following = false
            this.#running = null
            if (this.#timer !== null) void this.#follow().catch(() => undefined)
          },
        },
      )
    } catch (error) {
      this.#following = false
      throw error
    }
  }

  /** A login may begin programs that say something, too: nothing follows from words that the script does not have. */
  #hear(line: string): void {
    const said = saidIn(line.trimEnd())
    if (said === null) return
    if ('boot' in said) return this.#hearBoot(said.boot)
    if (this.#isRebooted) return
    this.#heardAtMs = this.#ports.clock.monotonicMs()
    if ('freeBytes' in said) return void (this.#freeBytes = said.freeBytes ?? this.#freeBytes)
    this.#seen = said.seen
    if (this.#life !== null) this.#judge()
  }

  #hearBoot(bootId: string): void {
    if (bootId === this.#ports.bootId || this.#isRebooted) return
    this.#isRebooted = true
    this.#ports.rebooted()
  }

  #judge(): void {
    const [life, seen] = [this.#life, this.#seen]
    if (this.#isStarting) return this.become('starting', '')
    if (life === null || seen === undefined) return
    if (seen !== null && seen.pid === life.pid && seen.startTicks === life.startTicks) {
      this.#ports.ownStart.is(`${life.pid} ${life.startTicks}`)
      return this.become(seen.state, seen.state === 'running' ? '' : say`mysqld ${seen.pid} is ${seen.state}`)
    }
    this.#ports.ownStart.isOver()
    const next = seen === null ? '' : say`; mysqld ${seen.pid} came up closed since, and waits`
    this.become('dead', say`mysqld ${life.pid} ended${next}`)
  }

  async #until(isSo: () => boolean, waitMs: number): Promise<boolean> {
    const { clock, timers } = this.#ports
    const until = clock.monotonicMs() + waitMs
    while (!isSo()) {
      if (clock.monotonicMs() > until) return false
      await timers.sleep(5)
    }
    return true
  }
}

/** Null for words that are none of the script. */
function saidIn(line: string): SaidOfHost | null {
  const { boot, dot, free, none, pid, startTicks, state } = spoken.exec(line)?.groups ?? {}
  if (boot !== undefined) return { boot }
  if (dot !== undefined) return { freeBytes: free === undefined ? null : Number(free) * 1_024 }
  if (none !== undefined) return { seen: null }
  return state === undefined
    ? null
    : { seen: { pid: Number(pid), startTicks: Number(startTicks), state: stateOf(state) } }
}

function stateOf(letter: string): Seen['state'] {
  if (letter === 'T') return 'stopped'
  return letter === 'Z' ? 'exiting' : 'running'
}
