import { say, type Said } from '#common/sentence/sentence.ts'
import { renderServerConfig } from '#agents/mysqld/my-cnf.ts'
import { anAgentConfig } from '#agents/testing.ts'
import type { ProcessPort } from '#agents/ports/process.ts'
import type { ProcessState } from '#topology/snapshot/observation.ts'
import { DataFolder } from './data-folder.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { Machine } from '../machine.ts'
import type { ProcessLife } from '../process-life.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { VirtualTime } from '../virtual-time.ts'

/** As the agent writes it at each start. */
const config = renderServerConfig(anAgentConfig())

interface Ports {
  readonly time: VirtualTime
  readonly random: SeededRandom
  /** Everybody's accounts are there from the start. */
  readonly everybody: readonly InstanceName[]
}

/** A machine's mysqld as one agent sees the process: a little later than what happens. */
export class SimulatedProcess implements ProcessPort {
  readonly #machine: Machine
  readonly #life: ProcessLife
  readonly #ports: Ports
  #state: ProcessState = 'absent'
  #pid: number | null = null
  #changedAtMs: number
  #writesNoMore = false
  #lookEveryMs = 10
  readonly #onChange: (() => void)[] = []

  constructor(machine: Machine, life: ProcessLife, ports: Ports) {
    this.#machine = machine
    this.#life = life
    this.#ports = ports
    this.#changedAtMs = life.world.clock.monotonicMs()
    machine.onMysqldChange(() => {
      if (life.isDead) return
      ports.time.after(ports.random.between(0, this.#lookEveryMs), () => life.enter(() => this.#look()))
    })
  }

  get state(): ProcessState {
    return this.#state
  }

  get pid(): number | null {
    return this.#pid
  }

  get writesNoMore(): boolean {
    return this.#writesNoMore
  }

  get note(): Said {
    return this.#state === 'dead' ? say`mysqld ${this.#pid} ended` : ''
  }

  get changedAtMs(): number {
    return this.#changedAtMs
  }

  async adopt(): Promise<void> {
    this.#look()
  }

  onChange(changed: () => void): void {
    this.#onChange.push(changed)
  }

  lookEvery(ms: number): void {
    this.#lookEveryMs = ms
  }

  async isEmpty(): Promise<boolean> {
    return this.#machine.folder === undefined
  }

  /** The agent moves what `mysqld --initialize` wrote into its place: one that died moves nothing. */
  async initialise(): Promise<void> {
    const { mounting } = this.#machine
    await this.#life.hear(this.#takes(200, 900))
    if (this.#machine.mounting !== mounting) throw new Error('the volume is gone')
    this.#machine.folders.set('data', new DataFolder('', new Set(this.#ports.everybody)))
  }

  async start(): Promise<void> {
    await this.#untilGone()
    await this.#takes(1, 20)
    this.#machine.startMysqld(!config.includes('\npersisted_globals_load=OFF\n'))
    this.#look()
  }

  accountsAtStart(): void {}

  async lacks(): Promise<readonly []> {
    return []
  }

  async supply(): Promise<void> {}

  async dropAccountsFile(): Promise<void> {}

  async kill(): Promise<void> {
    this.#machine.mysqld?.die()
    await this.#takes(1, 40)
    this.#look()
    await this.#untilGone()
  }

  #look(): void {
    const { mysqld } = this.#machine
    const state = mysqld === null ? 'absent' : mysqld.state === 'frozen' ? 'stopped' : mysqld.state
    const pid = mysqld?.pid ?? null
    if (pid === null || pid !== this.#pid || state !== 'dead') return this.#become(state, pid)
    if (this.#state === 'dead' || this.#state === 'exiting') return
    this.#become('exiting', pid)
    this.#tearDown(pid)
  }

  /** The kernel ends its threads first, and then gives its memory back: sooner or later, as its number has it. */
  #tearDown(pid: number): void {
    const { time } = this.#ports
    const afterwards = (ms: number, act: () => void): void =>
      void time.after(ms, () => this.#life.enter(() => pid === this.#pid && act()))
    afterwards((pid * 3) % 7, () => this.#become('exiting', pid, true))
    afterwards(7 + ((pid * 37) % 150), () => this.#become('dead', pid))
  }

  #become(state: ProcessState, pid: number | null, writesNoMore = false): void {
    if (state === this.#state && pid === this.#pid && writesNoMore === this.#writesNoMore) return
    if (state !== this.#state || pid !== this.#pid) this.#changedAtMs = this.#life.world.clock.monotonicMs()
    this.#state = state
    this.#pid = pid
    this.#writesNoMore = writesNoMore
    for (const changed of this.#onChange) changed()
  }

  async #untilGone(): Promise<void> {
    const { time } = this.#ports
    while (this.#state === 'exiting') await this.#life.hear(new Promise<void>((resolve) => time.after(2, resolve)))
  }

  #takes(leastMs: number, mostMs: number): Promise<void> {
    const { time, random } = this.#ports
    return new Promise((resolve) => time.after(random.between(leastMs, mostMs), resolve))
  }
}
