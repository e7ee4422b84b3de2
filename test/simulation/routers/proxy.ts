import { gate, nowhere, primarySlot, readSlot, readSlots, type Slot } from '#router/haproxy-state.ts'
import type { Proxy } from '#router/commands.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { VirtualTime } from '../virtual-time.ts'

const closed: Slot = { ...nowhere, state: 'maint', weight: 100 }

/** HAProxy behind its runtime socket: where sessions are led goes on without the router. */
export class SimulatedProxy implements Proxy {
  readonly #time: VirtualTime
  readonly #random: SeededRandom
  readonly #slots = new Map<string, Slot>()
  /** Sessions that write are of this number, or were ended. */
  generation = 0
  /** Its socket answers nothing. */
  isSocketBroken = false
  /** It refuses some commands, and says so; the gate closes all the same. */
  isRefusing = false
  /** Where sessions that write are led has changed. */
  led: (host: string | null) => void = () => undefined

  constructor(time: VirtualTime, random: SeededRandom) {
    this.#time = time
    this.#random = random
    this.start()
  }

  /** As its configuration has it: nobody is let through before it is led. */
  start(): void {
    this.#slots.clear()
    this.#slots.set(gate, closed)
    this.#slots.set(primarySlot, { ...closed, state: 'ready' })
    for (let at = 0; at < readSlots; at += 1) this.#slots.set(readSlot(at), closed)
    this.generation += 1
  }

  /** Nobody can lead it as wanted. */
  get isTroubled(): boolean {
    return this.isSocketBroken || this.isRefusing
  }

  /** Where a new session goes that writes; null while such sessions wait. */
  get target(): string | null {
    return this.#slots.get(gate)?.state === 'ready' ? (this.#slots.get(primarySlot)?.host ?? null) : null
  }

  async tell(commands: readonly string[]): Promise<string> {
    await new Promise<void>((resolve) => this.#time.after(this.#random.between(0.1, 3), resolve))
    if (this.isSocketBroken) throw new Error('the socket of HAProxy does not answer')
    const before = this.target
    const said = commands
      .map((command) => (this.#refuses(command) ? 'No such server.\n\n' : this.#do(command)))
      .join('')
    if (this.target !== before) this.led(this.target)
    return said
  }

  async restart(): Promise<void> {
    this.start()
  }

  #refuses(command: string): boolean {
    if (!this.isRefusing || !command.startsWith('set server') || command.endsWith(' state maint')) return false
    return this.#random.chance(0.4)
  }

  #do(command: string): string {
    if (command === 'show servers state')
      return `${[...this.#slots].map(([name, slot]) => shown(name, slot)).join('\n')}\n\n`
    if (command === `shutdown sessions server ${primarySlot}`) this.generation += 1
    else if (!command.startsWith('shutdown')) return `${this.#change(command)}\n`
    return '\n'
  }

  /** What HAProxy says to that. */
  #change(command: string): string {
    const [, , name = '', what, value = '', , port] = command.split(' ')
    if (what === 'addr') this.#set(name, { host: value, port: Number(port) })
    else if (what === 'weight') this.#set(name, { weight: Number(value) })
    else this.#set(name, { state: value as Slot['state'] })
    return what === 'addr' ? `port changed from '0' to '${port}' by 'stats socket command'\n` : ''
  }

  #set(name: string, change: Partial<Slot>): void {
    const slot = this.#slots.get(name)
    if (slot === undefined) throw new Error(`HAProxy has no server ${name}`)
    this.#slots.set(name, { ...slot, ...change })
  }
}

const admin: Readonly<Record<Slot['state'], string>> = { ready: '0', drain: '8', maint: '1' }

function shown(name: string, { host, port, state, weight }: Slot): string {
  const [backend = '', server = ''] = name.split('/')
  const row = Array.from({ length: 19 }, () => '0')
  row.splice(0, 8, '1', backend, '1', server, host, '2', admin[state], String(weight))
  row[18] = String(port)
  return row.join(' ')
}
