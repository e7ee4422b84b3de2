import type { Platform, PrimaryRoute } from '#common/ports/platform.ts'
import { NewestFirst } from './newest-first.ts'

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
  #publishing = false

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

  /** One at a time: a route that is decided meanwhile is decided again once this one is published. */
  async publish(route: PrimaryRoute): Promise<void> {
    if (this.#publishing) return
    this.#publishing = true
    try {
      const isNewest = this.#looks.begin()
      if (await this.#platform.publishPrimary(route)) {
        if (isNewest()) this.#published = route
        this.#listener.moved(route)
      } else this.#published = await this.#platform.publishedPrimary()
      this.#listener.looked()
    } catch (error) {
      this.#listener.failed(error)
    } finally {
      this.#publishing = false
    }
  }
}
