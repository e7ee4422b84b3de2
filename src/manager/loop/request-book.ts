import type { Request, RequestFailure } from '#failover/judge/situation.ts'
import { fetchKey, type FetchOrder } from '#failover/protocol/order.ts'
import type { ClusterRecord, Intent } from '#failover/protocol/record.ts'
import { instanceOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import type { Timers } from '#common/ports/ports.ts'
import type { OrderOutcome } from './order-desk.ts'
import type { Done } from './record-keeper.ts'

/**
 * A source that could not give what a candidate lacked is left out for so long: longer than the primary takes to be
 * started again. Where one of the two was away and is back the reason may be gone.
 */
const fetchAgainMs = 30_000

interface Failed extends RequestFailure {
  readonly fetch?: readonly MemberId[]
}

interface RequestPorts {
  readonly timers: Timers
  memberAt(instance: InstanceName): MemberId | undefined
  /** What failed may be tried again. */
  wake(): void
}

/** What was asked for and is not done, and what failed of it, by id. */
export class RequestBook {
  readonly #ports: RequestPorts
  readonly #failed = new Map<string, Failed>()
  #open: readonly Request[] = []
  #givenUp: readonly MemberId[] = []
  /** Whose agents were lost and not heard since. */
  readonly #away = new Set<InstanceName>()

  constructor(ports: RequestPorts) {
    this.#ports = ports
  }

  get open(): readonly Request[] {
    return this.#open
  }

  /** The reason by request id, or by `fetchKey`. */
  get failed(): ReadonlyMap<string, RequestFailure> {
    return this.#failed
  }

  get givenUp(): readonly MemberId[] {
    return this.#givenUp
  }

  get asksForFailover(): boolean {
    return this.#open.some(({ kind }) => kind === 'failover')
  }

  add(request: Request): void {
    this.#open = [...this.#open, request]
  }

  drop(id: string): void {
    this.#open = this.#open.filter((request) => request.id !== id)
    this.#failed.delete(id)
  }

  /** The returned function takes that back. */
  giveUp(member: MemberId): () => void {
    this.#givenUp = [...this.#givenUp, member]
    this.#ports.wake()
    return () => {
      this.#givenUp = this.#givenUp.filter((one) => one !== member)
      this.#ports.wake()
    }
  }

  lost(instance: InstanceName): void {
    this.#away.add(instance)
    this.#ports.wake()
  }

  heard(instance: InstanceName): void {
    const member = this.#ports.memberAt(instance)
    if (!this.#away.delete(instance) || member === undefined) return
    for (const [key, { fetch }] of this.#failed) if (fetch?.includes(member) === true) this.#failed.delete(key)
  }

  /**
   * A switchover ends with its intent, a failover with another primary, or with what was asked for instead. A record
   * that is rebuilt may be what a failover begins with.
   */
  committed({ before, action: { next, isAnswer } }: Done): void {
    if (before?.intent?.kind === 'switchover' && next.intent === null) this.drop(before.intent.request)
    const hasMoved = before !== undefined && before.primary !== next.primary
    if (hasMoved || isAnswer === true) this.#open = this.#open.filter(({ kind }) => kind !== 'failover')
  }

  /** A step of a switchover was refused or timed out: the request that the step served ends. */
  orderFailed({ action, error: why, timedOut }: OrderOutcome, record: ClusterRecord | undefined): void {
    const intent = record?.intent
    if (intent?.kind === 'switchover' && serves(action, intent)) this.#failed.set(intent.request, { why, timedOut })
    if (intent?.kind === 'fetch' && action.kind === 'fetch') this.#failFetch(action.order, { why, timedOut })
  }

  /**
   * Another source is tried, or the primary started again, rather than the same fetch for ever. Where neither can be,
   * the fetch is tried again later.
   */
  #failFetch({ member, from }: FetchOrder, failure: RequestFailure): void {
    const source = this.#ports.memberAt(from.instance)
    if (source === undefined) return
    const key = fetchKey(member, source)
    this.#failed.set(key, { ...failure, fetch: [member, source] })
    this.#ports.timers.after(fetchAgainMs, () => {
      this.#failed.delete(key)
      this.#ports.wake()
    })
  }
}

function serves({ kind, to }: OrderOutcome['action'], { candidate }: Intent): boolean {
  return kind === 'demote' || kind === 'fetch' || (kind === 'promise' && to === instanceOf(candidate))
}
