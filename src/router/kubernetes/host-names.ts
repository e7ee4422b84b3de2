import { setTimeout as sleep } from 'node:timers/promises'

/** The address of a host's name; '' where no name server knows the name. Must not reject. */
export type Resolve = (host: string) => Promise<string>

/**
 * Asks a name server with a deadline. A question that is late cannot be taken back, and keeps one of the process's few
 * threads. So no other question is asked meanwhile, and the late answer is for whoever asks next for the same host.
 */
export class HostNames {
  readonly #resolve: Resolve
  readonly #withinMs: number
  /** The number of the last question for each host. */
  readonly #asked = new Map<string, number>()
  readonly #late = new Map<string, string>()
  #questions = 0
  #isAsking = false

  constructor(resolve: Resolve, withinMs: number) {
    this.#resolve = resolve
    this.#withinMs = withinMs
  }

  /** The hosts, first those that were not asked for the longest time: a slow name server answers a few a minute. */
  inTurn(hosts: readonly string[]): readonly string[] {
    for (const known of [this.#asked, this.#late])
      for (const host of known.keys()) if (!hosts.includes(host)) known.delete(host)
    return hosts.toSorted((a, b) => (this.#asked.get(a) ?? 0) - (this.#asked.get(b) ?? 0))
  }

  /** The address; '' where none is known within the deadline. */
  async addressOf(host: string): Promise<string> {
    const late = this.#late.get(host)
    this.#late.delete(host)
    if (late !== undefined || this.#isAsking) return late ?? ''
    this.#asked.set(host, (this.#questions += 1))
    this.#isAsking = true
    const answer = this.#resolve(host).finally(() => (this.#isAsking = false))
    const inTime = new AbortController()
    const over = sleep(this.#withinMs, undefined, { signal: inTime.signal }).catch(() => undefined)
    const first = await Promise.race([answer, over])
    inTime.abort()
    if (first !== undefined) return first
    void answer.then((address) => this.#late.set(host, address))
    return ''
  }
}
