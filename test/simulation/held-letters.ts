import type { InstanceName } from '#topology/snapshot/member.ts'

/** A request on its way from a manager, or from an agent, to an agent. */
export interface Letter {
  readonly from: string
  readonly to: InstanceName
  readonly path: string
  readonly body: unknown
}

interface Held {
  readonly letter: Letter
  readonly arrive: () => void
}

/** Requests that a scripted scenario keeps on their way, and lets arrive later or never. */
export class HeldLetters {
  #held: readonly Held[] = []
  /** Which requests are kept from now on. */
  wanted: (letter: Letter) => boolean = () => false
  /** Of which requests a copy is kept from now on, while they arrive themselves. */
  copied: (letter: Letter) => boolean = () => false

  /** True where the request is kept: whoever sent it calls `arrive` no more. */
  keep(letter: Letter, arrive: () => void): boolean {
    const isKept = this.wanted(letter)
    if (isKept || this.copied(letter)) this.#held = [...this.#held, { letter, arrive }]
    return isKept
  }

  get all(): readonly Letter[] {
    return this.#held.map(({ letter }) => letter)
  }

  /** Lets one request arrive, at whatever agent listens there by now. */
  deliver(letter: Letter): void {
    const held = this.#held.find((one) => one.letter === letter)
    this.#held = this.#held.filter((one) => one !== held)
    held?.arrive()
  }

  /** Nothing of all this arrives any more, and nothing is kept from now on. */
  lose(): void {
    this.wanted = this.copied = () => false
    this.#held = []
  }
}
