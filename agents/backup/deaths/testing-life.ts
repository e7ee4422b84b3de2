import type { ObjectStore } from '#object-store/object-store.ts'

export type End = 'died' | 'ended'

/** Counts the steps of an agent into its ports. The agent dies at one of these steps: nothing goes on behind that. */
export class Life {
  steps = 0
  #isDead = false
  readonly #died = Promise.withResolvers<'died'>()
  readonly #diesAt: number
  readonly #isDone: boolean

  /** @param isDone the last step of the agent is done by its death */
  constructor(diesAt = Infinity, isDone = false) {
    this.#diesAt = diesAt
    this.#isDone = isDone
  }

  /** Lets the agent work until its work is done, or until its death. */
  lives(work: () => Promise<unknown>): Promise<End> {
    return Promise.race([this.#died.promise, work().then(() => 'ended' as const)])
  }

  /** Looks again and again until that is so; a dead agent looks no more. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      if (this.#isDead) await forever()
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  /** A port, each step of which may be the agent's last. */
  living<Port extends object>(port: Port, names: readonly (keyof Port)[]): Port {
    return new Proxy(port, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key)
        if (typeof value !== 'function') return value
        const step = (value as (...args: unknown[]) => unknown).bind(target)
        return names.includes(key as keyof Port) ? (...args: unknown[]) => this.step(() => step(...args)) : step
      },
    })
  }

  /** A store. Each write may be the agent's last step, and so may each deletion of one object. */
  storing(store: ObjectStore): ObjectStore {
    return {
      address: store.address,
      put: (key, content, options) => this.step(() => store.put(key, this.#untilDeath(content), options)),
      putIfAbsent: (...what) => this.step(() => store.putIfAbsent(...what)),
      get: (...what) => store.get(...what),
      list: (...what) => store.list(...what),
      delete: async (keys) => {
        const stays: string[] = []
        for (const key of keys) stays.push(...(await this.step(() => store.delete([key]))))
        return stays
      },
      dropUnfinished: (...what) => this.step(() => store.dropUnfinished(...what)),
      close: () => store.close(),
    }
  }

  /** The content as read. Each chunk may be the agent's last step. */
  async *reading(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) yield await this.step(() => chunk)
  }

  /** The content as sent. The end never comes if the sender dies meanwhile. */
  async *#untilDeath(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      if (this.#isDead) await forever()
      yield chunk
    }
    if (this.#isDead) await forever()
  }

  async step<T>(step: () => T | Promise<T>): Promise<T> {
    this.steps += 1
    const isLast = this.steps === this.#diesAt
    if (this.steps < this.#diesAt) return step()
    if (isLast && this.#isDone) await step()
    this.#isDead = true
    this.#died.resolve('died')
    return forever()
  }
}

function forever(): Promise<never> {
  return new Promise<never>(() => undefined)
}

/**
 * Plays a story with a death at each step in turn, until no step is left at which to die. @returns the number of deaths
 */
export async function atEachStep(isDone: boolean, story: (life: Life, at: number) => Promise<End>): Promise<number> {
  for (let at = 1; ; at += 1) if ((await story(new Life(at, isDone), at)) === 'ended') return at - 1
}

export const moments = [
  ['before it', false],
  ['behind it', true],
] as const
