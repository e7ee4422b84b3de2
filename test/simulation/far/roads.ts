import type { InstanceName } from '#topology/snapshot/member.ts'
import type { Network } from '../network.ts'
import type { VirtualTime } from '../virtual-time.ts'

/** Where agents of far servers run: on a machine of a manager, all of them. */
export const agentsPlace = 'agents'

export type RoadKind = 'sql' | 'ssh'

/** The end of a road, as the network knows it. */
export function roadTo(kind: RoadKind, instance: InstanceName): string {
  return `${kind} of ${instance}`
}

interface Ports {
  readonly network: Network
  readonly time: VirtualTime
  /** The power of its host is gone. */
  readonly isOff: () => boolean
  /** What each way takes besides. */
  readonly farMs: number
}

const againMs = 40

/** One way by which an agent reaches its far server, there and back. */
export class Road {
  readonly #kind: RoadKind
  readonly #instance: InstanceName
  readonly #ports: Ports

  constructor(kind: RoadKind, instance: InstanceName, ports: Ports) {
    this.#kind = kind
    this.#instance = instance
    this.#ports = ports
  }

  get isCut(): boolean {
    const { network, isOff } = this.#ports
    return isOff() || !network.reachesBothWays(agentsPlace, roadTo(this.#kind, this.#instance))
  }

  /** What is lost on the way is sent again. Resolves to whether it has arrived until then. */
  async pass(withinMs: number): Promise<boolean> {
    const { network, time, farMs } = this.#ports
    const untilMs = time.nowMs + withinMs
    await this.#sleep(farMs + network.delayMs(this.#instance))
    while (this.isCut) {
      if (time.nowMs >= untilMs) return false
      await this.#sleep(againMs)
    }
    return true
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#ports.time.after(ms, resolve))
  }
}
