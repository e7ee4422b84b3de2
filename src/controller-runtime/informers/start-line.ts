import { aborted } from '#common/process/signals.ts'

interface Race {
  joined: number
  arrived: number
  readonly all: PromiseWithResolvers<void>
}

/**
 * Nobody goes on before all who joined have arrived: whoever saw some kinds of a namespace and not yet the others would
 * make those others anew.
 */
export class StartLine {
  readonly #races = new Map<string, Race>()

  join(name: string): void {
    this.#race(name).joined += 1
  }

  /** Resolves once all have arrived who joined, or the signal is aborted. */
  async arrive(name: string, signal: AbortSignal): Promise<void> {
    const race = this.#race(name)
    race.arrived += 1
    if (race.arrived >= race.joined) race.all.resolve()
    await Promise.race([race.all.promise, aborted(signal)])
  }

  #race(name: string): Race {
    const known = this.#races.get(name) ?? { joined: 0, arrived: 0, all: Promise.withResolvers() }
    this.#races.set(name, known)
    return known
  }
}
