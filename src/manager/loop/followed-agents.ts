import type { PlatformInstance } from '#common/ports/platform.ts'
import type { AgentFeed, FeedListener } from './agent-feed.ts'
import { NewestFirst } from './newest-first.ts'

/** The agents that are listened to: one for each instance that has an address, by that address. */
export class FollowedAgents {
  readonly #feed: AgentFeed
  readonly #cluster: string
  readonly #listenerOf: (instance: string) => FeedListener
  readonly #unfollow = new Map<string, () => void>()
  readonly #looks = new NewestFirst()
  #newest: readonly PlatformInstance[] = []
  #isStopped = false

  constructor(feed: AgentFeed, cluster: string, listenerOf: (instance: string) => FeedListener) {
    this.#feed = feed
    this.#cluster = cluster
    this.#listenerOf = listenerOf
  }

  /** What a look gives, or what a later look gave that has ended before. */
  async newest(look: Promise<readonly PlatformInstance[]>): Promise<readonly PlatformInstance[]> {
    const isNewest = this.#looks.begin()
    const seen = await look
    if (isNewest()) this.#newest = seen
    return this.#newest
  }

  /** Follows these agents and no others. */
  follow(instances: readonly PlatformInstance[]): void {
    // A look may end after the loop that began it.
    if (this.#isStopped) return
    const reachable = new Map(instances.filter(({ agent }) => agent !== '').map(({ agent, name }) => [agent, name]))
    for (const address of this.#unfollow.keys()) if (!reachable.has(address)) this.#leave(address)
    for (const [address, name] of reachable)
      if (!this.#unfollow.has(address))
        this.#unfollow.set(
          address,
          this.#feed.follow(address, { cluster: this.#cluster, instance: name }, this.#listenerOf(name)),
        )
  }

  stop(): void {
    this.#isStopped = true
    for (const address of this.#unfollow.keys()) this.#leave(address)
  }

  #leave(address: string): void {
    this.#unfollow.get(address)?.()
    this.#unfollow.delete(address)
  }
}
