import type { Timer, World } from '../ports/ports.ts'
import type { TellOfWatch, Watch, WatchView } from './watch.ts'
import { Watcher } from './watcher.ts'

/** All watches of a program: begun, listed, and stopped together. */
export class Watches {
  readonly #world: Pick<World, 'clock' | 'timers'>
  readonly #tell: TellOfWatch
  readonly #watchers: { readonly watcher: Watcher; readonly everyMs: number }[] = []
  readonly #timers: Timer[] = []
  #isStopped = false

  constructor(world: Pick<World, 'clock' | 'timers'>, tell: TellOfWatch) {
    this.#world = world
    this.#tell = tell
  }

  /** Looks at these from now on, in this order at each turn: all looks begin in one moment, and go on side by side. */
  every(everyMs: number, watches: readonly Watch[]): void {
    if (this.#isStopped) return
    const watchers = watches.map((watch) => new Watcher(watch, this.#world.clock, this.#tell))
    this.#watchers.push(...watchers.map((watcher) => ({ watcher, everyMs })))
    this.#timers.push(
      this.#world.timers.every(everyMs, () => {
        for (const watcher of watchers) void watcher.look()
      }),
    )
  }

  /** Something happened that this watch is about: looks at once, unless a look is under way. */
  lookNow(watch: Watch): void {
    for (const { watcher } of this.#watchers) if (watcher.watch === watch) void watcher.look()
  }

  /** No look begins any more. Waits for none that is under way. */
  stop(): void {
    this.#isStopped = true
    for (const timer of this.#timers) timer.cancel()
    for (const { watcher } of this.#watchers) watcher.stop()
  }

  list(): readonly WatchView[] {
    return this.#watchers.map(({ watcher, everyMs }) => watcher.view(everyMs))
  }
}
