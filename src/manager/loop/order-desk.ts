import type { ErrorCode } from '#common/errors/error-catalogue.ts'
import { codeOf, describeError } from '#common/errors/errors.ts'
import type { Transport, World } from '#common/ports/ports.ts'
import { orders, type OrderAnswer, type OrderName } from '#failover/protocol/order.ts'
import type { Timings } from '#failover/protocol/timings.ts'
import type { OrderAction } from '#failover/protocol/decision.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Refusal } from '#failover/judge/situation.ts'

/**
 * The same order is not sent again at once, whether it was obeyed or refused: what it leads to, or what refused it, has
 * to show first.
 */
const repeatPauseMs = 300

export interface OrderOutcome {
  readonly action: OrderAction
  readonly ms: number
  readonly answer: OrderAnswer | null
  /** '' when it was carried out. */
  readonly error: string
  /** Why the order was refused or could not be sent; null when it was carried out. */
  readonly code: ErrorCode | null
  readonly timedOut: boolean
}

/**
 * Sends orders and remembers which are on their way: the same order is never sent to an instance twice at once, and one
 * that was refused waits a moment. Everything else is decided anew.
 */
export class OrderDesk {
  readonly #world: World
  readonly #transport: Transport
  readonly #timings: Timings
  readonly #addressOf: (instance: string) => string | undefined
  readonly #answered: (outcome: OrderOutcome) => void
  readonly #flying = new Map<string, { readonly order: string; readonly sinceMs: number }>()
  readonly #runs = new Map<string, string>()
  readonly #answeredLast = new Map<string, { text: string; atMs: number }>()
  readonly #refused = new Map<string, Refusal & { readonly code: ErrorCode }>()

  constructor(
    ports: { world: World; transport: Transport; timings: Timings },
    addressOf: (instance: string) => string | undefined,
    answered: (outcome: OrderOutcome) => void,
  ) {
    this.#world = ports.world
    this.#transport = ports.transport
    this.#timings = ports.timings
    this.#addressOf = addressOf
    this.#answered = answered
  }

  /**
   * By instance, what was sent last and has not been answered; an order to be seeded before all others, since it
   * destroys.
   */
  get inFlight(): ReadonlyMap<string, { readonly order: string; readonly sinceMs: number }> {
    const byInstance = new Map<string, { order: string; sinceMs: number }>()
    for (const [key, flying] of this.#flying) {
      const instance = key.slice(0, key.indexOf('/'))
      if (byInstance.get(instance)?.order !== 'reseed') byInstance.set(instance, flying)
    }
    return byInstance
  }

  /** By instance, the order to be seeded that its agent refuses again and again, with the same code. */
  get refused(): ReadonlyMap<string, Refusal> {
    return this.#refused
  }

  /**
   * What was sent to an earlier run of an agent is on its way no more. Where a machine crashed nothing tells the
   * connection of that: a fetch would be waited for until its deadline, which is half an hour.
   */
  heard({ instance, agentRun }: Pick<Observation, 'instance' | 'agentRun'>): void {
    const before = this.#runs.get(instance)
    this.#runs.set(instance, agentRun)
    if (before === undefined || before === agentRun) return
    for (const key of this.#flying.keys()) if (key.startsWith(`${instance}/`)) this.#flying.delete(key)
  }

  /** Sends unless the same is under way or was just refused. False when it was held back. */
  send(action: OrderAction): boolean {
    const address = this.#addressOf(action.to)
    if (address === undefined || address === '') return false
    // An order on its way to where an instance was does not hold back the order to where the instance is.
    const key = `${action.to}/${action.kind}/${address}`
    if (this.#flying.has(key)) return false
    const text = JSON.stringify({ ...action.order, sourceHolds: '', destroys: '' })
    const last = this.#answeredLast.get(key)
    const nowMs = this.#world.clock.monotonicMs()
    if (last?.text === text && nowMs - last.atMs < repeatPauseMs) return false
    const flying = { order: action.kind, sinceMs: nowMs }
    this.#flying.set(key, flying)
    void this.#deliver(action, address, { key, text, flying })
    return true
  }

  async #deliver(
    action: OrderAction,
    address: string,
    { key, text, flying }: { key: string; text: string; flying: object },
  ): Promise<void> {
    const { clock } = this.#world
    const began = clock.monotonicMs()
    let answer: OrderAnswer | null = null
    let error = ''
    let code: ErrorCode | null = null
    try {
      answer = (await this.#transport.post(
        address,
        orders[action.kind].route,
        action.order,
        deadlineOf(action, this.#timings.orderDeadlineMs),
      )) as OrderAnswer
    } catch (thrown) {
      code = codeOf(thrown)
      error = `${code}: ${describeError(thrown)}`
    }
    if (this.#flying.get(key) !== flying) return
    this.#answeredLast.set(key, { text, atMs: clock.monotonicMs() })
    this.#flying.delete(key)
    this.#count(action, { error, code })
    const timedOut = code === 'REGENT_TIMED_OUT'
    this.#answered({ action, ms: clock.monotonicMs() - began, answer, error, code, timedOut })
  }

  #count({ kind, to }: OrderAction, { error, code }: Pick<OrderOutcome, 'error' | 'code'>): void {
    if (kind !== 'reseed') return
    const before = this.#refused.get(to)
    if (code === null) this.#refused.delete(to)
    else
      this.#refused.set(to, {
        error,
        code,
        times: before?.code === code ? before.times + 1 : 1,
        atMs: this.#world.clock.monotonicMs(),
      })
  }
}

function deadlineOf<N extends OrderName>({ kind, order }: OrderAction<N>, usualMs: number): number {
  return orders[kind].deadlineMs(order, usualMs)
}
