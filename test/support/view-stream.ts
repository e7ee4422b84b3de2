import { ApiClient } from '#cli/connection/api-client.ts'
import type { ApiTarget } from '#cli/connection/api-reader.ts'
import type { ClusterView } from '#api-contract/views.ts'
import { monotonicMs } from './monotonic.ts'

const reconnectMs = 20

type Listener = (view: ClusterView) => void

/**
 * The state of one cluster as the manager tells it by server-sent events, through any number of the manager's deaths.
 */
export class ViewStream {
  readonly #target: ApiTarget
  readonly #path: string
  readonly #stop = new AbortController()
  readonly #listeners = new Set<Listener>()
  readonly #ended: Promise<void>
  #latest: ClusterView | undefined

  constructor(target: ApiTarget, cluster: string) {
    this.#target = target
    this.#path = `/clusters/${cluster}`
    this.#ended = this.#follow()
  }

  /** What was told last; undefined while no manager tells anything. */
  get latest(): ClusterView | undefined {
    return this.#latest
  }

  /** Calls `listener` with the latest state now and with each change until the returned function is called. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener)
    if (this.#latest !== undefined) listener(this.#latest)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Resolves with the first state for which `predicate` holds. Rejects after `deadlineMs`, naming `what`; where the
   * manager, asked once more, then says that it does hold, the error says that the event never came.
   */
  async waitFor(
    what: string,
    predicate: (view: ClusterView) => boolean | null,
    deadlineMs: number,
  ): Promise<ClusterView> {
    const began = monotonicMs()
    const found = Promise.withResolvers<ClusterView | undefined>()
    const timer = setTimeout(() => found.resolve(undefined), deadlineMs)
    const unsubscribe = this.subscribe((view) => predicate(view) && found.resolve(view))
    try {
      const view = await found.promise
      if (view !== undefined) return view
    } finally {
      clearTimeout(timer)
      unsubscribe()
    }
    const now = await this.#ask()
    const missed =
      now !== undefined && predicate(now) ? '; the manager says so when it is asked, but sent no event' : ''
    throw new Error(
      `${what}: not within ${Math.round(monotonicMs() - began)} ms${missed}. The manager says: ${now?.sentence ?? 'nothing, it does not answer'}`,
    )
  }

  async end(): Promise<void> {
    this.#stop.abort()
    await this.#ended
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      // A manager that is dead or does not lead yet is tried again: tests kill managers.
      await this.#read(signal).catch(() => undefined)
      this.#latest = undefined
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, reconnectMs))
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const client = await ApiClient.open(this.#target)
    for await (const data of client.events(`${this.#path}/events`, signal)) {
      const view = JSON.parse(data) as ClusterView
      this.#latest = view
      for (const listener of this.#listeners) listener(view)
    }
  }

  async #ask(): Promise<ClusterView | undefined> {
    const client = await ApiClient.open(this.#target)
    return client.get<ClusterView>(this.#path, 2_000).catch(() => undefined)
  }
}
