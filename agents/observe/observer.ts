import { unlessLate } from '#common/ports/unless-late.ts'
import { say } from '#common/sentence/sentence.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import type { Clock, Timer, Timers } from '#common/ports/ports.ts'
import type { Watches } from '#common/watch/watches.ts'
import type { Timings } from '#failover/protocol/timings.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import { AwakeTime } from './awake-time.ts'
import type { ObserverPort, Probe } from '../ports/observer.ts'
import type { ProcessPort } from '../ports/process.ts'
import type { ServerPort } from '../ports/server.ts'
import type { VolumePort } from '../ports/volume.ts'

/** The disk is tried with every third write probe: it costs files, the probe itself only a row. */
const diskEvery = 3
/**
 * mysqld that found its disk full waits a minute before it tries again (manual, "How MySQL Handles a Full Disk"),
 * whatever was freed meanwhile.
 */
const waitsForSpaceMs = 65_000

export interface ObserverPorts {
  readonly process: ProcessPort
  readonly server: ServerPort
  readonly volume: VolumePort
  readonly clock: Clock
  readonly timers: Timers
  readonly timings: Timings
}

type Disk = Awaited<ReturnType<VolumePort['probe']>>

interface Look {
  readonly generation: number
  readonly look: number
  readonly beganMs: number
}

/** Asks the server everything every `observeMs`, and tries a write every `writeProbeMs`. */
export class Observer implements ObserverPort {
  readonly #ports: ObserverPorts
  readonly #changed: () => void
  #server: ServerState | null = null
  #answeredAtMs: number
  readonly #awake: AwakeTime
  /** The same moment, in the time of this agent. */
  #answeredAwakeMs = 0
  #unanswered = false
  /** What was read last, to tell whether anything is new: an idle server is not reported again and again. */
  #seen = ''
  #reading: Promise<ServerState> | null = null
  /** Grows when the agent changes the server: what was read before counts no more. */
  #generation = 0
  #looksBegun = 0
  /** The look that `#server` shows. */
  #look = 0
  #lookBeganMs: number
  /** The generation of what `#server` shows. */
  #serverGeneration = 0
  #probe: Probe = { result: 'unknown', detail: '' }
  #freeBytes: number | null = null
  #disk: Disk | null = null
  /** The look at the disk that is under way. */
  #asking: Promise<Disk> | null = null
  #fullAtMs = Number.NEGATIVE_INFINITY
  #probes = 0
  #timer: Timer | null = null

  constructor(ports: ObserverPorts, changed: () => void) {
    this.#ports = ports
    this.#changed = changed
    this.#awake = new AwakeTime(ports.clock)
    this.#answeredAtMs = ports.clock.monotonicMs()
    this.#lookBeganMs = this.#answeredAtMs
  }

  /** The regular read is no watch: after `outdate` another one begins beside a read that hangs. */
  start(watches: Watches): void {
    const { timers, timings } = this.#ports
    this.#awake.start(timers)
    this.#timer = timers.every(timings.observeMs, () => this.#lookNow())
    watches.every(timings.writeProbeMs, [{ name: 'whether a write goes through', look: () => this.#tryWrite() }])
    this.#lookNow()
  }

  stop(): void {
    this.#timer?.cancel()
    this.#awake.stop()
  }

  get server(): ServerState | null {
    return this.#server
  }

  get looksBegun(): number {
    return this.#looksBegun
  }

  get look(): number {
    return this.#look
  }

  /** Milliseconds since the look began that `server` shows: what was committed before is in there. */
  get lookAgeMs(): number {
    return this.#ports.clock.monotonicMs() - this.#lookBeganMs
  }

  get isFresh(): boolean {
    return this.#server !== null && !this.#unanswered && this.#serverGeneration === this.#generation
  }

  get probe(): Probe {
    return this.#probe
  }

  get freeBytes(): number | null {
    return this.#freeBytes
  }

  async freeBytesNow(): Promise<number> {
    const { freeBytes } = await this.#askDisk()
    if (freeBytes !== null) return freeBytes
    throw new RegentError(
      'REGENT_FAR_CANNOT',
      say`nobody can tell how much space is free on a host that only SQL reaches`,
    )
  }

  get silentMs(): number {
    return this.#unanswered ? this.#awake.nowMs - this.#answeredAwakeMs : 0
  }

  async refresh(): Promise<ServerState> {
    const generation = this.#generation
    const state = await (this.#reading ?? this.#beginToRead())
    // What follows from a look that ceased to count would be shown beside what was so before.
    return generation === this.#generation ? state : this.recent(Infinity)
  }

  #beginToRead(): Promise<ServerState> {
    const reading = this.#read().finally(() => {
      if (this.#reading === reading) this.#reading = null
    })
    this.#reading = reading
    return reading
  }

  async recent(maxAgeMs: number): Promise<ServerState> {
    const fresh = this.isFresh && this.#ports.clock.monotonicMs() - this.#answeredAtMs <= maxAgeMs
    return fresh && this.#server ? this.#server : this.refresh()
  }

  outdate(): void {
    this.#generation += 1
    this.#reading = null
  }

  knownToHold(holds: GtidText): void {
    this.outdate()
    if (this.#server)
      this.#server = {
        ...this.#server,
        received: parseGtidSet(this.#server.received).union(parseGtidSet(holds)).toString(),
      }
  }

  forget(): void {
    this.#server = null
    this.#look = 0
    this.#seen = ''
    this.#unanswered = false
    this.#probe = { result: 'unknown', detail: '' }
    this.#fullAtMs = Number.NEGATIVE_INFINITY
    this.#hasAnswered()
  }

  async #read(): Promise<ServerState> {
    const { server, clock, process } = this.#ports
    const { pid } = process
    const generation = this.#generation
    const look = (this.#looksBegun += 1)
    const beganMs = clock.monotonicMs()
    try {
      const state = await server.readState()
      if (process.pid !== pid) throw new RegentError('REGENT_SERVER_DOWN', say`mysqld was replaced while it was read`)
      const isNews = this.#learn(state, { generation, look, beganMs })
      this.#hasAnswered()
      const same = !isNews && !this.#unanswered
      this.#unanswered = false
      if (!same) this.#changed()
      return state
    } catch (error) {
      this.#unanswered = this.#server !== null && process.state === 'running'
      this.#changed()
      throw error
    }
  }

  #hasAnswered(): void {
    this.#answeredAtMs = this.#ports.clock.monotonicMs()
    this.#answeredAwakeMs = this.#awake.nowMs
  }

  /** What does not count is not seen either: else the same, read again, would be nothing new. */
  #learn(state: ServerState, { generation, look, beganMs }: Look): boolean {
    if (generation !== this.#generation && this.#server !== null) return false
    const wasFresh = this.isFresh
    this.#server = state
    this.#serverGeneration = generation
    this.#look = look
    this.#lookBeganMs = beganMs
    const before = this.#seen
    this.#seen = withoutBeat(state)
    // Until a look that counts an agent says that its server may just be joining its group.
    return this.#seen !== before || (state.group !== undefined && !wasFresh)
  }

  #lookNow(): void {
    if (this.#isAlive()) this.refresh().catch(() => undefined)
  }

  #isAlive(): boolean {
    return (
      this.#ports.process.state === 'running' ||
      this.#ports.process.state === 'stopped' ||
      this.#ports.process.state === 'starting'
    )
  }

  async #tryWrite(): Promise<void> {
    const { process } = this.#ports
    const [before, pid] = [this.#probe, process.pid]
    const probe = await this.#probeNow().catch((error: unknown): Probe => ({
      result: 'unknown',
      detail: describeError(error),
    }))
    if (process.pid !== pid) return
    this.#probe = probe
    if (probe.result !== before.result) this.#changed()
  }

  async #probeNow(): Promise<Probe> {
    const { server, timings, clock } = this.#ports
    this.#probes += 1
    const disk = this.#probes % diskEvery === 0 || this.#disk === null ? await this.#lookAtDisk() : this.#disk
    if (disk.failure) return { result: disk.failure, detail: disk.detail }
    if (!this.#isAlive() || !this.#server) return this.#probe
    const probe = await server.probeWrite(timings.queryDeadlineMs)
    if (!this.#isSilent(probe)) return probe
    // A disk that became full since it was tried last makes a server look frozen, which would be a reason to fail over.
    const now = await this.#lookAtDisk()
    if (now.failure) return { result: now.failure, detail: now.detail }
    const sinceFullMs = clock.monotonicMs() - this.#fullAtMs
    if (sinceFullMs >= waitsForSpaceMs) return probe
    return {
      result: 'diskFull',
      detail: say`the disk was full ${Math.round(sinceFullMs / 1_000)} s ago, and mysqld tries again only after a minute`,
    }
  }

  /**
   * A server that waits for space to write its binlog answers what needs no binlog, such as the probe, and nothing
   * about its binlog.
   */
  #isSilent({ result }: Probe): boolean {
    return result === 'stuck' || result === 'unknown' || (result === 'ok' && this.#unanswered)
  }

  /** A disk that answers nothing tells nothing, and must not hide a server that answers nothing either. */
  async #lookAtDisk(): Promise<Disk> {
    const { timers, timings } = this.#ports
    this.#asking ??= this.#askDisk().finally(() => (this.#asking = null))
    const disk = await unlessLate(timers, timings.queryDeadlineMs, this.#asking)
    return disk ?? (this.#disk = { freeBytes: this.#freeBytes, failure: null, detail: '' })
  }

  async #askDisk(): Promise<Disk> {
    const { volume, clock } = this.#ports
    const disk = await volume.probe()
    this.#disk = disk
    this.#freeBytes = disk.freeBytes
    if (disk.failure === 'diskFull') this.#fullAtMs = clock.monotonicMs()
    return disk
  }
}

/** A source that beats twice a second is silent for up to half a second all the time: that is nothing new. */
function withoutBeat(state: ServerState): string {
  const { channel } = state
  const beating = channel !== null && channel.silentMs !== null && channel.silentMs < 700
  return JSON.stringify(beating ? { ...state, channel: { ...channel, silentMs: 0 } } : state)
}
