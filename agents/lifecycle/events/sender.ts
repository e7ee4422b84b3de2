import { writePatiently } from '#common/events/event-writing.ts'
import type { World } from '#common/ports/ports.ts'
import { newEvent, repeatedEvent, type EventPod, type KubeEvent } from './event-object.ts'

/** Where Events are kept: three requests, each with a deadline. All reject with `REGENT_KUBE_…`. */
export interface EventStore {
  /** Undefined where there is none of that name. */
  get(namespace: string, name: string): Promise<KubeEvent | undefined>
  create(event: KubeEvent): Promise<void>
  update(event: KubeEvent): Promise<void>
}

/** The patience that KubeBlocks' agent has. */
const patience = { attempts: 3, pauseMs: 200 }

/** Writes Events about one pod. */
export class EventSender {
  readonly #pod: EventPod
  readonly #store: EventStore
  readonly #world: Pick<World, 'clock' | 'timers'>
  #lastMicros = 0

  constructor(pod: EventPod, store: EventStore, world: Pick<World, 'clock' | 'timers'>) {
    this.#pod = pod
    this.#store = store
    this.#world = world
  }

  /**
   * Stores an Event, or counts it once more where one of the same content is stored. Three attempts; rejects with the
   * last failure, or with the signal's reason.
   */
  async send(reason: string, text: string, signal: AbortSignal): Promise<void> {
    await writePatiently(() => this.#once(reason, text), patience, { timers: this.#world.timers, signal })
  }

  async #once(reason: string, text: string): Promise<void> {
    const micros = this.#micros()
    const event = newEvent(this.#pod, { reason, text }, micros)
    const { namespace, name } = event.metadata
    const stored = await this.#store.get(namespace, name)
    if (stored === undefined) await this.#store.create(event)
    else await this.#store.update(repeatedEvent(stored, micros))
  }

  /**
   * Later than any moment given before, also where the clock of the node went back: a manager ignores what is older
   * than what it knows.
   */
  #micros(): number {
    this.#lastMicros = Math.max(Math.floor(this.#world.clock.wallMs() * 1_000), this.#lastMicros + 1)
    return this.#lastMicros
  }
}
