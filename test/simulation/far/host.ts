import type { Note } from '#agents/far/note.ts'
import type { Machine } from '../machine.ts'
import type { Mysqld } from '../mysqld/mysqld.ts'
import type { DataFolder } from '../mysqld/data-folder.ts'
import type { Network } from '../network.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { VirtualTime } from '../virtual-time.ts'
import { Road, type RoadKind } from './roads.ts'

/** By what a far server is reached. */
export type Reach = 'ssh' | 'sql'

interface Ports {
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly network: Network
}

/** The host of a server beside which nothing of Regent runs. */
export class FarHost {
  readonly reach: Reach
  readonly sql: Road
  readonly ssh: Road
  /** Its service manager starts a mysqld that died. Where only SQL reaches the host nobody else would. */
  readonly restarts: boolean
  /** The hosts file says how to start mysqld. */
  readonly hasStartCommand: boolean
  /** Copies of its logs, on the agent's side. */
  mirror: DataFolder | undefined
  isOff = false
  /** Another one leads, and this mysqld was not told: it tells clients OK until its agent closes it. */
  #deposed: Mysqld | null = null
  readonly #machine: Machine
  readonly #ports: Ports
  /** What its agent noted, on the agent's side. */
  readonly #notes = new Map<string, unknown>()

  constructor(machine: Machine, reach: Reach, ports: Ports) {
    const { random } = ports
    this.#machine = machine
    this.#ports = ports
    this.reach = reach
    this.restarts = reach === 'sql' || random.chance(0.5)
    this.hasStartCommand = reach === 'ssh' && (!this.restarts || random.chance(0.5))
    const farMs = random.pick([0, 1, 5, 25])
    const road = (kind: RoadKind): Road => new Road(kind, machine.name, { ...ports, isOff: () => this.isOff, farMs })
    this.sql = road('sql')
    this.ssh = road('ssh')
    machine.onMysqldChange(() => {
      if (machine.mysqld?.state === 'dead' && machine.ending === 'crashed') this.#serve()
    })
  }

  #serve(): void {
    const { time, random } = this.#ports
    if (this.restarts) time.after(random.between(100, 3_000), () => this.startMysqld())
  }

  /** By its service manager, by the start command, or by a person. Nobody starts a second one. */
  startMysqld(): void {
    if (!this.isOff) this.#machine.startMysqld()
  }

  /** For so long. The agent lives on, and so does what it knows. */
  losePower(ms: number): void {
    this.isOff = true
    this.#machine.losePower()
    this.#ports.time.after(ms, () => this.powerUp())
  }

  powerUp(): void {
    if (!this.isOff) return
    this.isOff = false
    this.#serve()
  }

  depose(): void {
    this.#deposed = this.#machine.mysqld
  }

  /** It leads again. */
  isBack(): void {
    this.#deposed = null
  }

  get isDeposed(): boolean {
    return this.#deposed !== null && this.#deposed === this.#machine.mysqld
  }

  /** Where nobody starts it, a person does once more. */
  heal(): void {
    const { mysqld } = this.#machine
    this.powerUp()
    if (mysqld?.state === 'dead' && !this.hasStartCommand) this.startMysqld()
  }

  /** Nobody notes anything of it any more. */
  forget(): void {
    this.#notes.clear()
    this.mirror = undefined
  }

  note<Kept>(name: string): Note<Kept> {
    const { time, random } = this.#ports
    const takes = (): Promise<void> => new Promise((resolve) => time.after(random.between(0.2, 6), resolve))
    return {
      read: async () => (await takes(), this.#notes.get(name) as Kept | undefined),
      write: async (kept) => (await takes(), void this.#notes.set(name, kept)),
    }
  }
}
