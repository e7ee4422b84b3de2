import { orderNames, orders, type Order, type OrderName, type Step } from '#failover/protocol/order.ts'
import { wordNames, words, type Answers, type Word, type WordName } from '#failover/protocol/word.ts'
import { learn } from '../instance/learn.ts'
import { holdsText } from '../observe/observation.ts'
import type { OrderState } from './checks.ts'
import { hearing, type Ears } from './hearing.ts'
import { checkOrder, obedience, type Hands } from './obedience.ts'
import { readOrder, readWord } from './wire.ts'

/** Carries out orders, one at a time: checked, written to disk, then done. Words are heard at once. */
export class OrderDesk {
  readonly #hands: Hands
  readonly #ears: Ears

  constructor(hands: Hands, ears: Ears) {
    this.#hands = hands
    this.#ears = ears
  }

  /** By route, what takes a parsed body. `answered` makes the answer to an order from its steps. */
  routes(answered: (steps: readonly Step[]) => unknown): ReadonlyMap<string, (body: unknown) => Promise<unknown>> {
    return new Map([
      ...orderNames.map((name) => [orders[name].route, this.#taking(name, answered)] as const),
      ...wordNames.map((name) => [words[name].route, this.#hearing(name)] as const),
    ])
  }

  #taking<N extends OrderName>(name: N, answered: (steps: readonly Step[]) => unknown) {
    return async (body: unknown): Promise<unknown> => answered(await this.obey(name, readOrder(name, body)))
  }

  #hearing<N extends WordName>(name: N) {
    return async (body: unknown): Promise<unknown> => this.hear(name, readWord(name, body))
  }

  hear<N extends WordName>(name: N, said: Word<N>): Answers[N] | Promise<Answers[N]> {
    return hearing[name](this.#ears, said)
  }

  async obey<N extends OrderName>(name: N, order: Order<N>): Promise<readonly Step[]> {
    const { converger, parts } = this.#hands
    const { clock } = parts.world
    const arrived = clock.monotonicMs()
    const steps = await converger.alone(async () => {
      const began = clock.monotonicMs()
      checkOrder(name, order, this.#state())
      learn(parts, { fact: 'ordered', order: name, atMs: began })
      await obedience[name].obey(this.#hands, order)
      return [
        { name: `${name}: waited`, ms: began - arrived },
        { name, ms: clock.monotonicMs() - began },
      ]
    })
    obedience[name].goOn?.(this.#hands, order)
    return steps
  }

  #state(): OrderState {
    const { parts, converger } = this.#hands
    const { config, file, process, course, run } = parts
    return {
      cluster: config.cluster,
      instance: config.instance,
      run,
      stored: file.current,
      process: process.state,
      promiseReport: course.promiseReport,
      holds: holdsText(parts),
      whyNotSeeded: converger.mode.whyNotSeeded(),
    }
  }
}
