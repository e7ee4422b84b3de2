import type { Platform, PrimaryRoute } from '#common/ports/platform.ts'
import { NewestFirst } from './newest-first.ts'
import { oneAtATime } from './one-at-a-time.ts'

export interface RouteListener {
  /** Services lead to another instance from now on. */
  moved(route: PrimaryRoute): void
  /** What is published is known anew. */
  looked(): void
  failed(error: unknown): void
}

/** The route to the primary as the platform was seen to publish it. */
export class RouteKeeper {
  readonly #platform: Platform
  readonly #listener: RouteListener
  readonly #looks = new NewestFirst()
  #published: PrimaryRoute | undefined

  constructor(platform: Platform, listener: RouteListener) {
    this.#platform = platform
    this.#listener = listener
  }

  get published(): PrimaryRoute | undefined {
    return this.#published
  }

  async read(): Promise<void> {
    const isNewest = this.#looks.begin()
    const published = await this.#platform.publishedPrimary()
    if (isNewest()) this.#published = published
  }

  /** A route that is decided meanwhile is decided again once the present route is published. */
  readonly publish = oneAtATime(
    async (route: PrimaryRoute) => {
      const isNewest = this.#looks.begin()
      if (await this.#platform.publishPrimary(route)) {
        if (isNewest()) this.#published = route
        this.#listener.moved(route)
      } else this.#published = await this.#platform.publishedPrimary()
      this.#listener.looked()
    },
    (error) => this.#listener.failed(error),
  )
}
